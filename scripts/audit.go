package scripts

import "context"

// Sum counts every job that was ever created by where it stands or how it ended.
type Sum struct {
	Created, Delayed, Waiting, Active, Completed, Dead, Cancelled, Expired, Skipped int64
}

// Gap is what is missing from the sum; anything but 0 means that a job was lost or
// doubled.
func (s Sum) Gap() int64 {
	return s.Created - s.Delayed - s.Waiting - s.Active - s.Completed - s.Dead - s.Cancelled - s.Expired - s.Skipped
}

// Audit reads the sum at one instant.
func (s *Set) Audit(ctx context.Context) (Sum, error) {
	reply, err := s.run(ctx, "audit", nil)
	if err != nil {
		return Sum{}, err
	}
	return decodeSum(reply), nil
}

func decodeSum(reply any) Sum {
	list := toList(reply)
	n := func(i int) int64 { return toInt(item(list, i)) }
	return Sum{n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8)}
}
