package app

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/scheduler"
)

// What operators allow reaches the handlers.
func TestHandlersAsAllowed(t *testing.T) {
	t.Parallel()
	for _, allowed := range []bool{false, true} {
		r := mini(t)
		r.opts.AllowExec = allowed
		r.opts.HTTPDeny = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		a := r.serve()
		ctx := context.Background()
		eventually(t, 10*time.Second, "the worker is on the list", func() bool {
			list, err := r.Scripts().Workers(ctx)
			return err == nil && len(list) == 1 && slices.Contains(list[0].List("names"), "exec") == allowed && slices.Contains(list[0].List("names"), "http")
		})
		c := scheduler.NewClient(r.rdb)
		if _, err := c.Execute(ctx, "high", "http", map[string]string{"url": "http://127.0.0.1:1/"}, scheduler.WithID("call")); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "the denied call is dead", func() bool {
			j, err := c.Get(ctx, "call")
			return err == nil && j.State == job.Dead && j.Reason == job.ReasonPermanent
		})
		a.end()
	}
}
