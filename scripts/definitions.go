package scripts

import (
	"context"
	"fmt"
	"sort"
)

// Definitions reads the applied definitions, sorted by name. Unlike Poll it leaves
// no heartbeat, so that whoever only looks is not taken for a scheduler. Of each
// schedule only name and definition are filled in.
func (s *Set) Definitions(ctx context.Context) ([]Applied, error) {
	all, err := s.rdb.HGetAll(ctx, s.keys.name("schedules")).Result()
	if err != nil {
		return nil, fmt.Errorf("definitions: %w", classify(err))
	}
	list := make([]Applied, 0, len(all))
	for name, definition := range all {
		list = append(list, Applied{Name: name, Definition: definition})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, nil
}
