package dispatcher

import (
	"context"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/internal/trouble"
	"github.com/bide-go/bide/scripts"
)

// beatEvery is how often a process says that it is alive.
const beatEvery = 5 * time.Second

// beat keeps this process on the list of live workers until work ends.
func (d *Dispatcher) beat(work context.Context) {
	watch := trouble.New(d.cfg.Log, "heartbeat")
	p := scripts.Presence{ID: d.id, Names: d.names, Queues: d.cfg.Queues, Fields: map[string]string{}}
	maps.Copy(p.Fields, d.cfg.Presence)
	host, _ := os.Hostname() // shown to people; unknown is fine
	p.Fields["host"], p.Fields["pid"] = host, strconv.Itoa(os.Getpid())
	p.Fields["names"] = strings.Join(d.names, " ")
	p.Fields["queues"] = strings.Join(d.cfg.Queues, " ")
	p.Fields["concurrency"] = strconv.Itoa(d.cfg.Concurrency)
	p.Fields["started"] = strconv.FormatInt(clock.Now().UnixMilli(), 10)
	for work.Err() == nil {
		d.mu.Lock()
		p.Fields["active"] = strconv.Itoa(d.running())
		p.Fields["draining"] = strconv.FormatBool(!d.intake)
		stopped := d.stopped
		d.mu.Unlock()
		if stopped {
			return
		}
		if d.cfg.Notes != nil {
			maps.Copy(p.Fields, d.cfg.Notes())
		}
		ctx, cancel := context.WithTimeout(work, d.callTimeout())
		err := d.set.Beat(ctx, p)
		cancel()
		if err != nil {
			if work.Err() == nil {
				clock.Sleep(work, watch.Failed(err))
			}
			continue
		}
		watch.OK()
		clock.Sleep(work, beatEvery)
	}
}
