package scripts

import "context"

// Probe writes something, which a read-only, full or silent Redis refuses.
func (s *Set) Probe(ctx context.Context) error {
	_, err := s.run(ctx, "probe", nil)
	return err
}
