package scripts

import "context"

// AdoptEntries bounds one call of inbox and adopt.
const AdoptEntries = 200

// InboxEntry is one entry of the inbox: a member, and its score as Redis prints it.
type InboxEntry struct{ Member, Score string }

// Inbox reads entries to adopt.
func (s *Set) Inbox(ctx context.Context) ([]InboxEntry, error) {
	reply, err := s.run(ctx, "inbox", []any{AdoptEntries})
	if err != nil {
		return nil, err
	}
	list := toList(reply)
	entries := make([]InboxEntry, 0, len(list)/2)
	for i := 0; i+1 < len(list); i += 2 {
		entries = append(entries, InboxEntry{toText(list[i]), toText(list[i+1])})
	}
	return entries, nil
}

// Adoption is what is to become of one inbox entry: a job, or a rejection.
type Adoption struct {
	Entry  InboxEntry
	Job    NewJob
	Reason string // not empty rejects the entry
}

// Adopt carries adoptions out in one step, or on an error none.
func (s *Set) Adopt(ctx context.Context, adoptions []Adoption) (created, rejected int, err error) {
	args := make([]any, 0, 7*len(adoptions))
	for i := range adoptions {
		a := &adoptions[i]
		if a.Reason != "" {
			args = append(args, a.Entry.Member, a.Entry.Score, "", a.Reason, "", "", "")
			continue
		}
		args = append(args, a.Entry.Member, a.Entry.Score, a.Job.ID, a.Job.Queue, a.Job.when(), a.Job.kind(), a.Job.tail())
	}
	reply, err := s.run(ctx, "adopt", args)
	if err != nil {
		return 0, 0, err
	}
	list := toList(reply)
	return int(toInt(item(list, 0))), int(toInt(item(list, 1))), nil
}
