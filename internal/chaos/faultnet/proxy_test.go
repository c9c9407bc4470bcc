package faultnet

import (
	"bufio"
	"net"
	"strings"
	"testing"
	"time"
)

// echo is a server that answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				in := bufio.NewReader(c)
				for {
					line, err := in.ReadString('\n')
					if err != nil {
						return
					}
					if _, err := c.Write([]byte(line)); err != nil {
						return
					}
				}
			}()
		}
	}()
	return l.Addr().String()
}

type caller struct {
	t *testing.T
	net.Conn
	in *bufio.Reader
}

func dial(t *testing.T, p *Proxy, name string) *caller {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	x := &caller{t, c, bufio.NewReader(c)}
	if got := x.say(name, 5*time.Second); got != name+"\n" {
		t.Fatalf("%q answered, want %q", got, name)
	}
	return x
}

// say sends a line and returns what comes back within d.
func (c *caller) say(line string, d time.Duration) string {
	c.t.Helper()
	_ = c.SetDeadline(time.Now().Add(d))
	if _, err := c.Write([]byte(line + "\n")); err != nil {
		return ""
	}
	got, _ := c.in.ReadString('\n')
	return got
}

func start(t *testing.T) (p *Proxy, mine, other *caller) {
	t.Helper()
	p, err := New("127.0.0.1:0", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, dial(t, p, "faultnet-mine"), dial(t, p, "faultnet-other")
}

const (
	soon = 50 * time.Millisecond
	late = 10 * time.Second
)

func (c *caller) works() {
	c.t.Helper()
	if got := c.say("hello", late); got != "hello\n" {
		c.t.Errorf("%q answered, want hello", got)
	}
}

func TestDelay(t *testing.T) {
	p, mine, other := start(t)
	p.Delay("faultnet-mine", 100*time.Millisecond)
	begun := time.Now()
	mine.works()
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("it took %v, want 100 ms each way", took)
	}
	other.works()
	p.Delay("faultnet-mine", 0)
	mine.works()
}

func TestHold(t *testing.T) {
	p, mine, other := start(t)
	p.Hold("faultnet-mine")
	if got := mine.say("late", soon); got != "" {
		t.Errorf("%q passed", got)
	}
	other.works()
	p.Pass("faultnet-mine")
	_ = mine.SetDeadline(time.Now().Add(late))
	if got, _ := mine.in.ReadString('\n'); got != "late\n" {
		t.Errorf("%q came late, want what was held back", got)
	}
	mine.works()
}

func TestStrand(t *testing.T) {
	p, mine, other := start(t)
	p.Strand("faultnet-mine")
	if got := mine.say("hello", soon); got != "" {
		t.Errorf("%q passed", got)
	}
	other.works()
	dial(t, p, "faultnet-mine").works()
}

func TestCutReplies(t *testing.T) {
	p, mine, other := start(t)
	p.CutReplies("faultnet-mine", 1, func(request []byte) bool { return strings.Contains(string(request), "pick") })
	mine.works()
	other.works()
	if got := mine.say("pick", late); got != "pi" {
		t.Errorf("%q answered, want half of it", got)
	}
	dial(t, p, "faultnet-mine").works()
	if got := dial(t, p, "faultnet-mine").say("pick", late); got != "pick\n" {
		t.Errorf("%q answered, want one cut only", got)
	}
}

func TestCut(t *testing.T) {
	p, mine, other := start(t)
	p.Cut("faultnet-mine")
	if got := mine.say("hello", late); got != "" {
		t.Errorf("%q passed", got)
	}
	other.works()
}

func TestDownAndUp(t *testing.T) {
	p, mine, _ := start(t)
	p.Down()
	if c, err := net.Dial("tcp", p.Addr()); err == nil {
		c.Close()
		t.Error("it can be reached while it is down")
	}
	mine.works() // what there is stays
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	dial(t, p, "faultnet-mine").works()
}
