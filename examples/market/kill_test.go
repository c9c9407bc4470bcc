package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/promoter"
)

// childEnv has the test binary be a busy market on the Redis at that address.
const childEnv = "MARKET_TEST_REDIS"

func TestMain(m *testing.M) {
	if addr := os.Getenv(childEnv); addr != "" {
		if err := trade(addr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var goods = []string{"hat", "cup", "bow"}

func tradesKey(item string) string { return prefix + "trades:" + item }

// trade has ana and bob sell things to each other until SIGTERM. It finds out from
// Redis how far an earlier process got.
func trade(addr string) error {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	m := NewMarket(rdb)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	ended := make(chan error, 2)
	go func() { ended <- promoter.New(rdb, promoter.Config{}).Run(ctx) }()
	go func() { ended <- dispatcher.New(rdb, m.Handlers(), dispatcher.Config{Lease: time.Second}).Run(ctx) }()
	for {
		select {
		case err := <-ended:
			return err
		default:
		}
		for _, item := range goods {
			n, err := rdb.Get(ctx, tradesKey(item)).Int64()
			if err != nil && !errors.Is(err, redis.Nil) {
				return err
			}
			owner, other := "ana", "bob"
			if n%2 == 1 {
				owner, other = other, owner
			}
			sale := Sale{ID: fmt.Sprint(item, "-", n), Seller: owner, Item: item, Price: 1}
			now, err := rdb.Time(ctx).Result()
			if err != nil {
				return err
			}
			if err := m.SellLater(ctx, sale, now.Add(5*time.Millisecond)); err != nil {
				return fmt.Errorf("sell %s: %w", sale.ID, err)
			}
			switch err := m.Buy(ctx, other, sale.ID); {
			case err == nil:
				if err := rdb.Set(ctx, tradesKey(item), n+1, 0).Err(); err != nil {
					return err
				}
			case !errors.Is(err, ErrNotOffered):
				return fmt.Errorf("buy %s: %w", sale.ID, err)
			}
		}
	}
}

// A busy process, with players, promoter and worker in it, is killed again and again.
func TestAKilledMarket(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	w := world{t, s, NewMarket(s.Client())}
	for _, player := range people {
		w.must(w.Pay(w.ctx(), player, 1000))
	}
	for _, item := range goods {
		w.must(w.Give(w.ctx(), "ana", item))
	}
	end := w.watch(goods...)
	trades := func() (sum int64) {
		for _, item := range goods {
			n, _ := strconv.ParseInt(w.rdb.Get(w.ctx(), tradesKey(item)).Val(), 10, 64)
			sum += n
		}
		return sum
	}
	for range 5 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childEnv+"="+s.Addr)
		child.Stderr = os.Stderr
		child.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		w.must(child.Start())
		from := trades()
		w.eventually("it trades", func() bool { return trades() > from+5 })
		time.Sleep(rand.N(20 * time.Millisecond)) // at any step
		w.must(child.Process.Kill())
		if err := child.Wait(); child.ProcessState.Exited() {
			t.Fatalf("the child ended by itself: %v", err)
		}
		for _, item := range goods {
			if places := w.places(item); len(places) != 1 {
				t.Errorf("%s is %q, want it in one place", item, places)
			}
		}
		w.noneIsLost()
	}
	// What the dead have left is done by the living.
	stop := w.roles()
	set := s.Scripts()
	w.eventually("all jobs have ended", func() bool {
		sum, err := set.Audit(w.ctx())
		w.must(err)
		return sum.Completed == sum.Created
	})
	stop()
	end()
	for _, item := range goods {
		if place := w.places(item); len(place) != 1 || place[0] == "planned for sale" {
			t.Errorf("%s is %q, want it on the market or with somebody", item, place)
		}
	}
	t.Logf("%d trades", trades())
	w.noneIsLost()
}
