package dispatcher_test

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/scripts"
)

// leaseFor has a worker that is no process lease all that waits in medium.
func (r *rig) leaseFor(worker string, lease time.Duration) []scripts.Leased {
	r.t.Helper()
	res, err := r.set.Reserve(r.ctx(), scripts.ReserveArgs{
		Token: fmt.Sprintf("%s:%d", worker, time.Now().UnixNano()), Lease: lease, Limit: 500,
		Offers: []scripts.Offer{{Queue: "medium", Slots: 500}}, Names: []string{"hold", "any"},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return res.Jobs
}

// proxy stands between a client and Redis. It can hold back everything, as a
// network does that drops packets, or cut connections in the middle of a reply.
type proxy struct {
	t        testing.TB
	to       string
	listener net.Listener
	wg       sync.WaitGroup

	mu       sync.Mutex
	gate     chan struct{}             // closed while data may pass
	cut      func(request []byte) bool // says which request's reply is cut, nil for none
	conns    []net.Conn
	closing  bool
	opened   int
	stranded int // the connections up to this number are
}

func newProxy(t testing.TB, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, to: to, listener: l, gate: make(chan struct{})}
	close(p.gate)
	p.wg.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

func (p *proxy) client() *redis.Client {
	c := redis.NewClient(&redis.Options{Addr: p.listener.Addr().String()})
	p.t.Cleanup(func() { _ = c.Close() })
	return c
}

// hold lets nothing pass, and says so to nobody.
func (p *proxy) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gate = make(chan struct{})
}

// strand lets nothing more pass on the connections that there are, for good and
// without a word, as a firewall does that has forgotten them. New ones work.
func (p *proxy) strand() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stranded = p.opened
}

// pass undoes hold: what was held back arrives late.
func (p *proxy) pass() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gate:
	default:
		close(p.gate)
	}
}

// cutReplies has the replies to the requests that which picks end in their middle,
// and their connections with them.
func (p *proxy) cutReplies(which func(request []byte) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = which
}

// wait lets the data of one connection pass when it may; false if it never may.
func (p *proxy) wait(number int) bool {
	p.mu.Lock()
	gate := p.gate
	p.mu.Unlock()
	<-gate
	p.mu.Lock()
	defer p.mu.Unlock()
	return number > p.stranded
}

func (p *proxy) cuts(request []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut != nil && p.cut(request)
}

func (p *proxy) close() {
	p.pass()
	_ = p.listener.Close()
	p.mu.Lock()
	p.closing = true
	for _, c := range p.conns {
		_ = c.Close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

// keep remembers a connection, to close it in the end, and numbers it.
func (p *proxy) keep(c net.Conn) (number int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closing {
		_ = c.Close()
		return 0, false
	}
	p.conns = append(p.conns, c)
	p.opened++
	return p.opened, true
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		number, ok := p.keep(client)
		if !ok {
			return
		}
		p.wg.Go(func() { p.serve(client, number) })
	}
}

func (p *proxy) serve(client net.Conn, number int) {
	defer client.Close()
	p.wait(number)
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	if _, ok := p.keep(server); !ok {
		return
	}
	defer server.Close()
	var mu sync.Mutex
	cutting := false
	var back sync.WaitGroup
	back.Go(func() { // replies
		defer client.Close()
		buf := make([]byte, 64<<10)
		for {
			n, err := server.Read(buf)
			if err != nil {
				return
			}
			if !p.wait(number) {
				continue
			}
			mu.Lock()
			now := cutting
			mu.Unlock()
			if now {
				n /= 2
			}
			if _, err := client.Write(buf[:n]); err != nil || now {
				return
			}
		}
	})
	buf := make([]byte, 64<<10)
	for {
		n, err := client.Read(buf)
		if err != nil {
			break
		}
		if !p.wait(number) {
			continue
		}
		if p.cuts(buf[:n]) {
			mu.Lock()
			cutting = true
			mu.Unlock()
		}
		if _, err := server.Write(buf[:n]); err != nil {
			break
		}
	}
	_ = server.Close()
	back.Wait()
}
