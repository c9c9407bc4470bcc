package app

import (
	"context"
	"crypto/rand"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/scripts"
)

// notes is what a process says of itself that changes.
func (s *service) notes() map[string]string {
	if s.files == nil {
		return nil
	}
	return map[string]string{"files": s.files.trouble()}
}

// presence puts a process that runs no handlers on the list of live ones; one that
// does is put there by its dispatcher.
func (s *service) presence(ctx context.Context) error {
	set, err := scripts.New(s.opts.Redis, s.opts.Namespace)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // shown to people; unknown is fine
	p := scripts.Presence{ID: "p-" + strings.ToLower(rand.Text()[:16]), Fields: map[string]string{
		"host": host, "pid": strconv.Itoa(os.Getpid()), "version": s.opts.Version, "roles": strings.Join(s.opts.Roles, " "),
		"names": "", "queues": "", "concurrency": "0", "active": "0", "draining": "false",
		"started": strconv.FormatInt(clock.Now().UnixMilli(), 10),
	}}
	watch := trouble.New(s.opts.Log, "heartbeat")
	for ctx.Err() == nil {
		wait := 5 * time.Second
		maps.Copy(p.Fields, s.notes())
		if err := set.Beat(ctx, p); err == nil {
			watch.OK()
		} else if ctx.Err() == nil {
			wait = watch.Failed(err)
		}
		clock.Sleep(ctx, wait)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = set.Leave(last, p.ID) // else it is forgotten by itself
	return nil
}
