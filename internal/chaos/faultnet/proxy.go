// Package faultnet is a network that fails: a proxy between clients and one Redis
// server that can delay, hold back, forget or cut what passes, for one client alone.
//
// A client is known by the name it gives Redis, CLIENT SETNAME: its connections are
// those whose first bytes carry it. Connections of nobody's name, such as those of
// replicas and sentinels, pass untouched.
package faultnet

import (
	"bytes"
	"net"
	"regexp"
	"sync"
	"time"
)

// Name is what the name of a client looks like that a proxy knows.
var Name = regexp.MustCompile(`faultnet-[a-z0-9-]+`)

// Proxy stands before one server.
type Proxy struct {
	to, addr string

	mu       sync.Mutex
	listener net.Listener // nil while down
	lines    map[*line]bool
	clients  map[string]*client
	wg       sync.WaitGroup
}

// client is what happens to the connections of one name. The proxy's mutex guards it.
type client struct {
	delay    time.Duration
	gate     chan struct{} // nil, or closed when data may pass again
	cut      func(request []byte) bool
	cuts     int
	stranded map[*line]bool
}

// line is one connection and its continuation to the server.
type line struct {
	proxy          *Proxy
	client, server net.Conn

	mu      sync.Mutex
	name    string
	cutting bool
}

// New listens on addr (a free port of this host if its port is 0) for clients of the
// server at to.
func New(addr, to string) (*Proxy, error) {
	p := &Proxy{to: to, addr: addr, lines: map[*line]bool{}, clients: map[string]*client{}}
	if err := p.Up(); err != nil {
		return nil, err
	}
	p.addr = p.listener.Addr().String()
	return p, nil
}

// Addr is where the proxy listens.
func (p *Proxy) Addr() string { return p.addr }

// Up listens again after Down.
func (p *Proxy) Up() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		return nil
	}
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		return err
	}
	p.listener = l
	p.wg.Go(func() { p.accept(l) })
	return nil
}

// Down refuses new connections, as the host of a server does that has died.
func (p *Proxy) Down() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener != nil {
		_ = p.listener.Close()
		p.listener = nil
	}
}

// Close ends the proxy and every connection.
func (p *Proxy) Close() {
	p.Down()
	p.mu.Lock()
	for _, c := range p.clients {
		c.open()
	}
	for l := range p.lines {
		l.close()
	}
	p.mu.Unlock()
	p.wg.Wait()
}

func (p *Proxy) of(name string) *client {
	c := p.clients[name]
	if c == nil {
		c = &client{stranded: map[*line]bool{}}
		p.clients[name] = c
	}
	return c
}

func (p *Proxy) change(name string, f func(c *client)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f(p.of(name))
}

// Delay makes all that passes for name late by d, in either direction; 0 ends it.
func (p *Proxy) Delay(name string, d time.Duration) {
	p.change(name, func(c *client) { c.delay = d })
}

// Hold lets nothing pass for name, and says so to nobody, until Pass.
func (p *Proxy) Hold(name string) {
	p.change(name, func(c *client) {
		if c.gate == nil {
			c.gate = make(chan struct{})
		}
	})
}

// Pass undoes Hold: what was held back arrives late.
func (p *Proxy) Pass(name string) { p.change(name, (*client).open) }

func (c *client) open() {
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}

// Strand lets nothing more pass on the connections that name has, for good and
// without a word, as a firewall does that has forgotten them. New ones work.
func (p *Proxy) Strand(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		if l.is() == name {
			p.of(name).stranded[l] = true
		}
	}
}

// CutReplies has the replies to the next n requests of name that which picks end in
// their middle, and their connections with them. A nil which picks all.
func (p *Proxy) CutReplies(name string, n int, which func(request []byte) bool) {
	p.change(name, func(c *client) { c.cut, c.cuts = which, n })
}

// Cut ends every connection of name at once.
func (p *Proxy) Cut(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.lines {
		if l.is() == name {
			l.close()
		}
	}
}

func (p *Proxy) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		p.wg.Go(func() { p.serve(conn) })
	}
}

func (p *Proxy) serve(conn net.Conn) {
	server, err := net.DialTimeout("tcp", p.to, 5*time.Second)
	if err != nil {
		_ = conn.Close()
		return
	}
	l := &line{proxy: p, client: conn, server: server}
	p.mu.Lock()
	p.lines[l] = true
	p.mu.Unlock()
	defer func() {
		l.close()
		p.mu.Lock()
		delete(p.lines, l)
		for _, c := range p.clients {
			delete(c.stranded, l)
		}
		p.mu.Unlock()
	}()
	var back sync.WaitGroup
	back.Go(func() { l.replies(); l.close() })
	l.requests()
	l.close()
	back.Wait()
}

func (l *line) is() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.name
}

func (l *line) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// may waits until data of the line may pass; false if it never may.
func (l *line) may() bool {
	name := l.is()
	if name == "" {
		return true
	}
	p := l.proxy
	p.mu.Lock()
	c := p.of(name)
	delay, gate := c.delay, c.gate
	p.mu.Unlock()
	if delay > 0 {
		time.Sleep(delay)
	}
	if gate != nil {
		<-gate
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !c.stranded[l]
}

// cuts reports whether the reply to request is to be cut.
func (l *line) cuts(request []byte) bool {
	name := l.is()
	if name == "" {
		return false
	}
	l.proxy.mu.Lock()
	defer l.proxy.mu.Unlock()
	c := l.proxy.of(name)
	if c.cuts == 0 || c.cut != nil && !c.cut(request) {
		return false
	}
	c.cuts--
	return true
}

func (l *line) requests() {
	buf := make([]byte, 64<<10)
	first := true
	for {
		n, err := l.client.Read(buf)
		if err != nil {
			return
		}
		if first {
			first = false
			if name := Name.Find(buf[:n]); name != nil {
				l.mu.Lock()
				l.name = string(name)
				l.mu.Unlock()
			}
		}
		if !l.may() {
			continue
		}
		if l.cuts(buf[:n]) {
			l.mu.Lock()
			l.cutting = true
			l.mu.Unlock()
		}
		if _, err := l.server.Write(buf[:n]); err != nil {
			return
		}
	}
}

func (l *line) replies() {
	buf := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buf)
		if err != nil {
			return
		}
		if !l.may() {
			continue
		}
		l.mu.Lock()
		cutting := l.cutting
		l.mu.Unlock()
		if cutting {
			n /= 2
		}
		if _, err := l.client.Write(buf[:n]); err != nil || cutting {
			return
		}
	}
}

// Scripts picks the requests that run a script.
func Scripts(request []byte) bool { return bytes.Contains(request, []byte("\r\neval")) }
