package scheduler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// With no memory left EXEC is refused whole: a script alone would be refused inside
// it while the caller's data is committed.
func TestATransactionInAFullRedis(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	ctx := context.Background()
	s.rdb.ConfigSet(ctx, "maxmemory", "1")
	err := s.order(s.rdb, "bread", "a", 0)
	if !redis.HasErrorPrefix(err, "EXECABORT") {
		t.Errorf("order: %v, want EXECABORT", err)
	}
	// Even if the caller only removes, which Redis takes without memory.
	s.rdb.ConfigSet(ctx, "maxmemory", "0")
	s.rdb.SAdd(ctx, "{bide}:inventory", "hat")
	s.rdb.ConfigSet(ctx, "maxmemory", "1")
	_, err = s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.SRem(ctx, "{bide}:inventory", "hat")
		_, err := s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0, WithID("b"))
		return err
	})
	if !redis.HasErrorPrefix(err, "EXECABORT") || !s.rdb.SIsMember(ctx, "{bide}:inventory", "hat").Val() {
		t.Errorf("a removal: %v, want EXECABORT and the hat still there", err)
	}
	s.rdb.ConfigSet(ctx, "maxmemory", "0")
	s.committed(0, "", 0)

	// It can be repeated as it was.
	if err := s.order(s.rdb, "bread", "a", 0); err != nil {
		t.Error(err)
	}
	s.committed(1, "bread", 1)
}

// Memory is judged before EXEC runs: data of the caller's that fills it leaves no
// job behind.
func TestATransactionThatFillsTheMemoryItself(t *testing.T) {
	t.Parallel()
	s := realShop(t)
	ctx := context.Background()
	if err := s.order(s.rdb, "warm", "warm", 0); err != nil {
		t.Fatal(err)
	}
	var used int64
	for line := range strings.Lines(s.rdb.Info(ctx, "memory").Val()) {
		_, _ = fmt.Sscanf(line, "used_memory:%d", &used)
	}
	s.rdb.ConfigSet(ctx, "maxmemory", fmt.Sprint(used+4<<20))
	grow := func(id string) error {
		_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SetRange(ctx, "{bide}:big", 16<<20, "x")
			_, err := s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, time.Hour, WithID(id))
			return err
		})
		return err
	}
	if err := grow("a"); err != nil {
		t.Errorf("the transaction: %v", err)
	}
	if err := grow("b"); !redis.HasErrorPrefix(err, "EXECABORT") {
		t.Errorf("the next one: %v, want EXECABORT", err)
	}
	if n, jobs := s.rdb.StrLen(ctx, "{bide}:big").Val(), s.created(); n != 16<<20+1 || jobs != 2 {
		t.Errorf("%d bytes and %d jobs, want both of the first transaction and none of the next", n, jobs)
	}
	s.rdb.ConfigSet(ctx, "maxmemory", "0")
}

// A transaction that Redis or the caller gives up leaves nothing.
func TestATransactionThatIsGivenUp(t *testing.T) {
	t.Parallel()
	t.Run("a command that Redis refuses", func(t *testing.T) {
		t.Parallel()
		s := realShop(t) // miniredis carries the others out
		ctx := context.Background()
		_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "{bide}:stock", "1", 0)
			if _, err := s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0); err != nil {
				return err
			}
			pipe.Do(ctx, "NOSUCHCOMMAND")
			return nil
		})
		if !redis.HasErrorPrefix(err, "EXECABORT") {
			t.Errorf("%v, want EXECABORT", err)
		}
		s.committed(0, "", 0)
	})
	t.Run("an error of the caller's", func(t *testing.T) {
		t.Parallel()
		eachShop(t, func(t *testing.T, s shop) {
			ctx, mine := context.Background(), errors.New("mine")
			if _, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "{bide}:stock", "1", 0)
				if _, err := s.ExecuteLaterTx(ctx, pipe, "high", "tick", nil, 0); err != nil {
					return err
				}
				return mine
			}); !errors.Is(err, mine) {
				t.Errorf("%v, want the caller's error", err)
			}
			s.committed(0, "", 0)
		})
	})
}

// line is a connection that fails at one EXEC: before it is sent, or by losing its
// answer.
type line struct {
	net.Conn
	left *atomic.Int64 // EXECs to come until the one that fails
	lose bool
	deaf bool
}

func (l *line) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("\r\nexec\r\n")) && l.left.Add(-1) == 0 {
		if !l.lose {
			_ = l.Close()
			return 0, net.ErrClosed
		}
		l.deaf = true
	}
	return l.Conn.Write(p)
}

func (l *line) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p) // so it has been carried out
	if l.deaf {
		_ = l.Close()
		return 0, io.EOF
	}
	return n, err
}

// flaky returns a client, with the driver's own repetitions on, whose first EXEC fails.
func (s shop) flaky(lose bool) *redis.Client {
	left := new(atomic.Int64)
	left.Store(1)
	rdb := redis.NewClient(&redis.Options{Addr: s.Addr, MaxRetries: 5, Dialer: func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		return &line{Conn: c, left: left, lose: lose}, err
	}})
	s.t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// After a lost answer the caller cannot know. The driver must not repeat EXEC by
// itself; the caller may, with the same id, and there is one job.
func TestATransactionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		rdb := s.flaky(true)
		if err := s.order(rdb, "bread", "a", time.Hour); !errors.Is(err, io.EOF) {
			t.Errorf("order: %v, want the loss of the answer", err)
		}
		s.committed(1, "bread", 1)
		due := s.get("a").Due
		if s.Mini != nil {
			s.after(time.Minute)
		}
		if err := s.order(rdb, "bread again", "a", time.Hour); err != nil {
			t.Error(err)
		}
		s.committed(2, "bread again", 1)
		if again := s.get("a").Due; !again.Equal(due) {
			t.Errorf("due %v after the repetition, want it unchanged: %v", again, due)
		}
	})
}

func TestATransactionThatIsNotSent(t *testing.T) {
	t.Parallel()
	eachShop(t, func(t *testing.T, s shop) {
		rdb := s.flaky(false)
		if err := s.order(rdb, "bread", "a", time.Hour); err == nil {
			t.Error("no error")
		}
		s.committed(0, "", 0)
		if err := s.order(rdb, "bread", "a", time.Hour); err != nil {
			t.Error(err)
		}
		s.committed(1, "bread", 1)
	})
}
