package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/dispatcher"
	"github.com/bide-go/bide/internal/redistest"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/promoter"
)

// world is a market in which ana, bob and eve have 1,000 coins each.
type world struct {
	*testing.T
	*redistest.Server
	*Market
}

func eachWorld(t *testing.T, test func(w world)) {
	t.Parallel()
	redistest.Each(t, func(t *testing.T, s *redistest.Server) {
		w := world{t, s, NewMarket(s.Client())}
		for _, player := range people {
			w.must(w.Pay(w.ctx(), player, 1000))
		}
		test(w)
		w.noneIsLost()
	})
}

var people = []string{"ana", "bob", "eve"}

func (w world) ctx() context.Context { return context.Background() }

func (w world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w world) now() time.Time {
	now, err := w.rdb.Time(w.ctx()).Result()
	w.must(err)
	return now
}

// is fails the test unless item is in one place, which begins with place.
func (w world) is(item, place string) {
	w.Helper()
	if places := w.places(item); len(places) != 1 || !strings.HasPrefix(places[0], place) {
		w.Errorf("%s is %q, want it %q and nowhere else", item, places, place)
	}
}

func (w world) places(item string) []string {
	w.Helper()
	places, err := w.Places(w.ctx(), item)
	w.must(err)
	return places
}

// noneIsLost fails the test if coins have come or gone.
func (w world) noneIsLost() {
	w.Helper()
	sum := int64(0)
	for _, player := range people {
		coins, err := w.Coins(w.ctx(), player)
		w.must(err)
		sum += coins
	}
	if sum != int64(len(people))*1000 {
		w.Errorf("there are %d coins, want %d", sum, len(people)*1000)
	}
}

// watch checks over and over that each item is in one place, until the end of the
// returned function.
func (w world) watch(items ...string) (end func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for looks := 0; ; looks++ {
			for _, item := range items {
				if places, err := w.Places(w.ctx(), item); err != nil || len(places) != 1 {
					w.Errorf("look %d: %s is %q, %v; want it in one place", looks, item, places, err)
					return
				}
			}
			select {
			case <-done:
				return
			default:
			}
		}
	})
	return func() { close(done); wg.Wait() }
}

// roles runs a promoter and a dispatcher until the end of the returned function.
func (w world) roles() (end func()) {
	ctx, stop := context.WithCancel(w.ctx())
	done := make(chan error, 2)
	go func() { done <- promoter.New(w.Server.Client(), promoter.Config{}).Run(ctx) }()
	go func() { done <- dispatcher.New(w.Server.Client(), w.Handlers(), dispatcher.Config{}).Run(ctx) }()
	return func() { stop(); w.must(<-done); w.must(<-done) }
}

// eventually polls Redis, which tells nobody.
func (w world) eventually(what string, ok func() bool) {
	w.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			w.Fatalf("not within 30s: %s", what)
		}
	}
}

// settled waits until all jobs have ended and checks how many there were.
func (w world) settled(jobs int) {
	w.Helper()
	set := w.Scripts()
	w.eventually("all jobs have ended", func() bool {
		sum, err := set.Audit(w.ctx())
		w.must(err)
		return sum.Delayed+sum.Waiting+sum.Active == 0
	})
	if sum, err := set.Audit(w.ctx()); err != nil || sum.Created != int64(jobs) || sum.Completed != int64(jobs) || sum.Gap() != 0 {
		w.Errorf("jobs: %+v, %v; want %d, all completed", sum, err, jobs)
	}
}

func TestStory(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, url string) {
		var out bytes.Buffer
		if err := run(context.Background(), url, &out); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		text := out.String()
		for _, want := range []string{
			"is planned for sale\n", "bob tries to buy it: this is not on the market\n", "is on the market for 30 coins\n",
			"is in the inventory of bob\n", "eve wants it, too: this is not on the market\n", "e-mail: Dear ana, bob has bought your sword", "price list: sword",
		} {
			before, after, found := strings.Cut(text, want)
			if !found {
				t.Fatalf("the story lacks %q at its place:\n%s", want, out.String())
			}
			if want == "is on the market for 30 coins\n" && strings.Contains(before, "1.9s") {
				t.Errorf("on the market too early:\n%s", out.String())
			}
			text = after
		}
	}
	t.Run("embedded", func(t *testing.T) { t.Parallel(); check(t, "") })
	t.Run("redis, told twice", func(t *testing.T) {
		t.Parallel()
		s := redistest.NewReal(t)
		check(t, s.URL())
		check(t, s.URL())
		if sum, err := s.Scripts().Audit(context.Background()); err != nil || sum.Created != 6 || sum.Completed != 6 {
			t.Errorf("jobs: %+v, %v; want 6, all completed", sum, err)
		}
	})
	t.Run("no address", func(t *testing.T) {
		t.Parallel()
		err := run(context.Background(), "http://u:secret@x", new(bytes.Buffer))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want an error without the password", err)
		}
	})
}

// On the market at the instant and not before, in one place all the time.
func TestASaleKeepsItsInstant(t *testing.T) {
	eachWorld(t, func(w world) {
		items := []string{"hat", "cup", "bow", "egg"}
		for _, item := range items {
			w.must(w.Give(w.ctx(), "ana", item))
		}
		defer w.watch(items...)()
		defer w.roles()()
		at := map[string]time.Time{}
		for i, item := range items {
			at[item] = w.now().Add(time.Duration(300+i*50) * time.Millisecond)
			w.must(w.SellLater(w.ctx(), Sale{ID: item + "-1", Seller: "ana", Item: item, Price: 10}, at[item]))
			w.is(item, "planned")
		}
		for len(at) > 0 {
			for item, instant := range at {
				sale, err := w.Sale(w.ctx(), item+"-1")
				w.must(err)
				if now := w.now(); sale.State == Offered {
					if now.Before(instant) {
						w.Errorf("%s is on the market %v early", item, instant.Sub(now))
					}
					w.is(item, "on the market for 10 coins")
					delete(at, item)
				}
			}
		}
		for _, item := range items {
			w.must(w.Buy(w.ctx(), "bob", item+"-1"))
			w.is(item, "in the inventory of bob")
		}
		w.settled(3 * len(items))
		for _, item := range items {
			if mail, err := w.MailAbout(w.ctx(), item+"-1"); err != nil || mail != "Dear ana, bob has bought your "+item+" for 10 coins." {
				w.Errorf("mail about %s: %q, %v", item, mail, err)
			}
			if price, err := w.PriceOf(w.ctx(), item+"-1"); err != nil || price != 10 {
				w.Errorf("price of %s: %d, %v", item, price, err)
			}
		}
	})
}

func TestManyWantOneItem(t *testing.T) {
	eachWorld(t, func(w world) {
		w.must(w.Give(w.ctx(), "ana", "hat"))
		w.must(w.SellLater(w.ctx(), Sale{ID: "s", Seller: "ana", Item: "hat", Price: 700}, w.now()))
		defer w.watch("hat")()
		defer w.roles()()
		w.eventually("offered", func() bool { sale, err := w.Sale(w.ctx(), "s"); return err == nil && sale.State == Offered })
		bought := make(chan string, 20)
		var wg sync.WaitGroup
		for i := range 10 {
			buyer := people[1+i%2]
			wg.Go(func() {
				switch err := w.Buy(w.ctx(), buyer, "s"); {
				case err == nil:
					bought <- buyer
				case !errors.Is(err, ErrNotOffered):
					w.Error(err)
				}
			})
		}
		wg.Wait()
		close(bought)
		var buyers []string
		for buyer := range bought {
			buyers = append(buyers, buyer)
		}
		if slices.Sort(buyers); len(slices.Compact(buyers)) != 1 {
			w.Errorf("bought by %v, want one", buyers)
		}
		if coins, err := w.Coins(w.ctx(), "ana"); err != nil || coins != 1700 {
			w.Errorf("ana has %d coins, %v; want 1700", coins, err)
		}
		w.settled(3)
	})
}

func TestWhatPlayersCannotDo(t *testing.T) {
	eachWorld(t, func(w world) {
		w.must(w.Give(w.ctx(), "ana", "hat"))
		w.must(w.Give(w.ctx(), "bob", "cup"))
		want := func(what string, err, want error) {
			w.Helper()
			if !errors.Is(err, want) {
				w.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		later := w.now().Add(time.Hour)
		want("sell what is not hers", w.SellLater(w.ctx(), Sale{ID: "s", Seller: "ana", Item: "cup", Price: 1}, later), ErrNotYours)
		want("buy what is not for sale", w.Buy(w.ctx(), "bob", "s"), ErrNoSale)
		w.must(w.SellLater(w.ctx(), Sale{ID: "s", Seller: "ana", Item: "hat", Price: 2000}, later))
		want("sell twice", w.SellLater(w.ctx(), Sale{ID: "t", Seller: "ana", Item: "hat", Price: 1}, later), ErrNotYours)
		want("buy before the instant", w.Buy(w.ctx(), "bob", "s"), ErrNotOffered)
		if err := w.SellLater(w.ctx(), Sale{ID: "s", Seller: "bob", Item: "cup", Price: 1}, later); err == nil {
			w.Error("an id is used twice")
		}
		w.must(w.handle(w.Market, offerItem, "offer-s", saleRef{"s"}))
		want("buy without coins", w.Buy(w.ctx(), "bob", "s"), ErrTooPoor)
		w.is("hat", "on the market")
		w.is("cup", "in the inventory of bob")
		if err := w.handle(w.Market, offerItem, "offer-x", saleRef{"x"}); !job.IsPermanent(err) {
			w.Errorf("offer of an unknown sale: %v, want it to fail for good", err)
		}
	})
}

// handle runs a handler as a dispatcher does.
func (w world) handle(m *Market, name, id string, args any) error {
	raw, err := json.Marshal(args)
	w.must(err)
	return m.Handlers().Run(w.ctx(), &job.Job{ID: id, Name: name, Args: raw})
}

var errDied = errors.New("the process is dead")

// dying is a process that dies at its nth call of Redis: before the call is sent, or
// before its answer arrives.
type dying struct {
	left *int
	late bool
}

func (d dying) DialHook(next redis.DialHook) redis.DialHook { return next }

func (d dying) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		// The end of a WATCH is no step: a dead process' connection ends with it.
		if cmd.Name() == "unwatch" {
			return next(ctx, cmd)
		}
		err := d.step(func() error { return next(ctx, cmd) })
		if errors.Is(err, errDied) {
			cmd.SetErr(err)
		}
		return err
	}
}

func (d dying) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return d.step(func() error { return next(ctx, cmds) })
	}
}

func (d dying) step(call func() error) error {
	*d.left--
	if *d.left > 0 {
		return call()
	}
	if *d.left == 0 && d.late {
		_ = call()
	}
	return errDied
}

// Whatever step a process dies at, the item is in one place, and the repetition, of
// which there may be two, brings things to the same end.
func TestDyingAtEveryStep(t *testing.T) {
	eachWorld(t, func(w world) {
		acts := []struct {
			name string
			do   func(m *Market, sale Sale) error
			// where the item is before and after
			before, after string
		}{
			{"sell", func(m *Market, sale Sale) error { return m.SellLater(w.ctx(), sale, w.now()) }, "in the inventory of ana", "planned"},
			{"offer", func(m *Market, sale Sale) error { return w.handle(m, offerItem, "offer-"+sale.ID, saleRef{sale.ID}) }, "planned", "on the market"},
			{"buy", func(m *Market, sale Sale) error { return m.Buy(w.ctx(), "bob", sale.ID) }, "on the market", "in the inventory of bob"},
			{"mail", func(m *Market, sale Sale) error {
				return w.handle(m, sendSoldEmail, "mail-"+sale.ID, soldEmail{Seller: "ana", Item: sale.Item, Price: sale.Price, Buyer: "bob"})
			}, "in the inventory of bob", "in the inventory of bob"},
			{"price", func(m *Market, sale Sale) error { return w.handle(m, recordPrice, "price-"+sale.ID, saleRef{sale.ID}) }, "in the inventory of bob", "in the inventory of bob"},
		}
		sold, steps := 0, 0
		for at := range acts {
			for _, late := range []bool{false, true} {
				for n := 1; ; n++ {
					sale := Sale{ID: fmt.Sprintf("%s-%d-%v", acts[at].name, n, late), Seller: "ana", Price: 1}
					sale.Item = "item-" + sale.ID
					w.must(w.Give(w.ctx(), "ana", sale.Item))
					for _, earlier := range acts[:at] {
						w.must(earlier.do(w.Market, sale))
					}
					w.is(sale.Item, acts[at].before)

					rdb, left := w.Server.Client(), n
					rdb.AddHook(dying{&left, late})
					err := acts[at].do(NewMarket(rdb), sale)
					if places := w.places(sale.Item); len(places) != 1 ||
						!strings.HasPrefix(places[0], acts[at].before) && !strings.HasPrefix(places[0], acts[at].after) {
						w.Errorf("%s died at step %d (late: %v), %v: %s is %q", acts[at].name, n, late, err, sale.Item, places)
					}
					for range 2 {
						w.must(acts[at].do(w.Market, sale))
						w.is(sale.Item, acts[at].after)
					}
					for _, further := range acts[at+1:] {
						w.must(further.do(w.Market, sale))
					}
					w.noneIsLost()
					w.is(sale.Item, "in the inventory of bob")
					sold++
					if left > 0 { // it came to its end
						w.must(err)
						break
					}
					if err == nil {
						w.Errorf("%s: step %d failed and nobody was told", acts[at].name, n)
					}
					steps++
				}
			}
		}
		w.Logf("%d steps to die at", steps)
		if steps < 20 {
			w.Errorf("only %d steps to die at were found", steps)
		}
		// The jobs are still to run, and change nothing any more.
		end := w.roles()
		w.settled(3 * sold)
		end()
		if coins, err := w.Coins(w.ctx(), "bob"); err != nil || coins != 1000-int64(sold) {
			w.Errorf("bob has %d coins, %v; want one less for each of %d items", coins, err, sold)
		}
		if n := w.rdb.HLen(w.ctx(), mails).Val(); n != int64(sold) {
			w.Errorf("%d mails for %d sales", n, sold)
		}
	})
}
