package scripts

import "context"

// Presence is what a live process says of itself.
type Presence struct {
	ID     string
	Names  []string // handled job names
	Queues []string // served queues
	// Fields describe it to people: host, pid, version, roles, …
	Fields map[string]string
}

// Beat notes that a process is alive.
func (s *Set) Beat(ctx context.Context, p Presence) error {
	args := []any{p.ID, "", len(p.Names)}
	for _, name := range p.Names {
		args = append(args, name)
	}
	args = append(args, len(p.Queues))
	for _, queue := range p.Queues {
		args = append(args, queue)
	}
	args = append(args, "id", p.ID)
	for field, value := range p.Fields {
		args = append(args, field, value)
	}
	_, err := s.run(ctx, "beat", args)
	return err
}

// Leave takes a process off the list of live ones.
func (s *Set) Leave(ctx context.Context, id string) error {
	_, err := s.run(ctx, "beat", []any{id, "1"})
	return err
}
