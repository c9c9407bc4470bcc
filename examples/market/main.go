// Command market tells the story of a delayed sale in a game. A player puts a sword
// up for sale in two seconds; it leaves her inventory at once, is on the market at
// that instant, and when somebody buys it she gets an e-mail.
//
//	go run ./examples/market                                     # on an embedded Redis
//	REDIS_URL=redis://127.0.0.1:6379/0 go run ./examples/market  # on a real one
//
// market.go has what players can do, handlers.go what happens later.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/promoter"
)

func main() {
	if err := run(context.Background(), os.Getenv("REDIS_URL"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "market:", err)
		os.Exit(1)
	}
}

// run tells the story on the Redis at url, or on an embedded one if it is empty.
func run(ctx context.Context, url string, out io.Writer) (err error) {
	ctx, cancel := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if url == "" {
		mini, err := miniredis.Run()
		if err != nil {
			return err
		}
		defer mini.Close()
		url = "redis://" + mini.Addr()
		fmt.Fprintln(out, "on an embedded Redis, of which nothing is kept")
	}
	opts, err := redis.ParseURL(url)
	if err != nil {
		return errors.New("REDIS_URL is no redis:// address") // the error would show its password
	}
	rdb := redis.NewClient(opts)
	defer rdb.Close()
	market := NewMarket(rdb)

	// The roles that make later happen. In a real game they run in processes of
	// their own, as many of each as there is work for.
	roles, stop := context.WithCancel(ctx)
	ended := make(chan error, 2)
	go func() { ended <- promoter.New(rdb, promoter.Config{}).Run(roles) }()
	go func() { ended <- dispatcher.New(rdb, market.Handlers(), dispatcher.Config{Concurrency: 5}).Run(roles) }()
	defer func() {
		stop()
		err = errors.Join(err, <-ended, <-ended)
	}()

	ctx, end := context.WithTimeout(ctx, time.Minute)
	defer end()
	s := &story{Market: market, out: out, from: time.Now()}
	return s.tell(ctx)
}

type story struct {
	*Market
	out  io.Writer
	from time.Time
}

func (s *story) say(format string, args ...any) {
	fmt.Fprintf(s.out, "%5.1fs  %s\n", time.Since(s.from).Seconds(), fmt.Sprintf(format, args...))
}

func (s *story) tell(ctx context.Context) error {
	// Every item exists once in the world, so another telling needs another sword.
	now, err := s.rdb.Time(ctx).Result()
	if err != nil {
		return fmt.Errorf("ask Redis for the time: %w", err)
	}
	run := fmt.Sprintf("%x", now.UnixMilli())
	sword, sale := "sword-"+run, Sale{ID: run, Seller: "ana", Price: 30}
	sale.Item = sword
	if err := s.Give(ctx, "ana", sword); err != nil {
		return err
	}
	if err := s.Pay(ctx, "bob", 100); err != nil {
		return err
	}

	s.say("ana has %s and wants 30 coins for it, in two seconds", sword)
	if err := s.SellLater(ctx, sale, now.Add(2*time.Second)); err != nil {
		return err
	}
	if err := s.where(ctx, sword); err != nil {
		return err
	}
	err = s.Buy(ctx, "bob", sale.ID)
	s.say("bob tries to buy it: %v", err)

	if err := s.until(ctx, func() bool { return s.state(ctx, sale.ID) == Offered }); err != nil {
		return fmt.Errorf("the offer: %w", err)
	}
	s.say("the instant has come")
	if err := s.where(ctx, sword); err != nil {
		return err
	}
	if err := s.Buy(ctx, "bob", sale.ID); err != nil {
		return err
	}
	s.say("bob buys it")
	if err := s.where(ctx, sword); err != nil {
		return err
	}
	err = s.Buy(ctx, "eve", sale.ID)
	s.say("eve wants it, too: %v", err)

	var mail string
	if err := s.until(ctx, func() bool { mail, err = s.MailAbout(ctx, sale.ID); return err == nil && mail != "" }); err != nil {
		return fmt.Errorf("the e-mail: %w", err)
	}
	s.say("e-mail: %s", mail)
	var price int64
	if err := s.until(ctx, func() bool { price, err = s.PriceOf(ctx, sale.ID); return err == nil && price > 0 }); err != nil {
		return fmt.Errorf("the price list: %w", err)
	}
	s.say("price list: %s, %d coins", sword, price)
	return nil
}

func (s *story) where(ctx context.Context, item string) error {
	places, err := s.Places(ctx, item)
	if err != nil {
		return err
	}
	s.say("%s is %s", item, strings.Join(places, " and "))
	return nil
}

func (s *story) state(ctx context.Context, sale string) State {
	found, err := s.Sale(ctx, sale)
	if err != nil {
		return ""
	}
	return found.State
}

// until waits for something that happens in Redis.
func (s *story) until(ctx context.Context, ok func() bool) error {
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}
