package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/scheduler"
)

// Why a player cannot do something.
var (
	ErrNotYours   = errors.New("the item is not in the seller's inventory")
	ErrNotOffered = errors.New("this is not on the market")
	ErrTooPoor    = errors.New("the buyer has too few coins")
	ErrNoSale     = errors.New("there is no such sale")
)

// Market is where players sell things to each other. An item exists once and is
// always in exactly one place: in an inventory, planned for sale, or on the market.
type Market struct {
	rdb    redis.UniversalClient
	client *scheduler.Client
}

// NewMarket returns the market on rdb.
func NewMarket(rdb redis.UniversalClient) *Market {
	return &Market{rdb: rdb, client: scheduler.NewClient(rdb)}
}

// State says how far a sale is.
type State string

// The states of a sale.
const (
	Planned State = "planned" // its item waits for the instant
	Offered State = "offered" // its item is on the market
	Sold    State = "sold"
)

// Sale is the sale of one item.
type Sale struct {
	// ID is chosen by the caller and never used twice: whoever does not know
	// whether a call arrived repeats it with the same id.
	ID     string `json:"id"`
	Seller string `json:"seller"`
	Item   string `json:"item"`
	Price  int64  `json:"price"`
	State  State  `json:"state"`
	Buyer  string `json:"buyer,omitempty"`
}

// All keys have the hash tag of bide's own keys. On a Redis Cluster they are in one
// slot with them, so that one transaction can hold both.
const (
	prefix  = "{bide}:market:"
	players = prefix + "players" // SET  everybody who was ever given something
	planned = prefix + "planned" // ZSET item -> instant, unix seconds
	board   = prefix + "board"   // ZSET item on the market -> price
	mails   = prefix + "mails"   // HASH job id -> text; stands in for a mail server
	prices  = prefix + "prices"  // HASH sale -> what it brought
)

func inventory(player string) string { return prefix + "inventory:" + player } // SET of items
func purse(player string) string     { return prefix + "purse:" + player }     // STRING, coins
func saleKey(id string) string       { return prefix + "sale:" + id }          // STRING, a Sale

// keepSold is how long a sale is remembered after its end.
const keepSold = 30 * 24 * time.Hour

// Give puts a new item into a player's inventory.
func (m *Market) Give(ctx context.Context, player, item string) error {
	_, err := m.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.SAdd(ctx, players, player)
		pipe.SAdd(ctx, inventory(player), item)
		return nil
	})
	return err
}

// Pay puts coins into a player's purse.
func (m *Market) Pay(ctx context.Context, player string, coins int64) error {
	_, err := m.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.SAdd(ctx, players, player)
		pipe.IncrBy(ctx, purse(player), coins)
		return nil
	})
	return err
}

// SellLater takes the item out of the seller's inventory now and puts it on the
// market at an instant. Both are decided in one transaction: there is no moment at
// which the item is gone and nothing will bring it back.
func (m *Market) SellLater(ctx context.Context, sale Sale, at time.Time) error {
	return m.transact(ctx, func(tx *redis.Tx) error {
		// The inventory before the sale: between the two reads an earlier call may
		// still arrive.
		mine, err := tx.SIsMember(ctx, inventory(sale.Seller), sale.Item).Result()
		if err != nil {
			return err
		}
		switch known, err := read(ctx, tx, sale.ID); {
		case err == nil && known.Seller == sale.Seller && known.Item == sale.Item:
			return nil // an earlier call did arrive
		case err == nil:
			return fmt.Errorf("sale %q is another one", sale.ID)
		case !errors.Is(err, ErrNoSale):
			return err
		case !mine:
			return ErrNotYours
		}
		// Redis' clock decides. The delay counts from the moment the transaction
		// runs, a little after this, so the offer is never early.
		now, err := tx.Time(ctx).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.SRem(ctx, inventory(sale.Seller), sale.Item)
			pipe.ZAdd(ctx, planned, redis.Z{Score: float64(at.UnixMilli()) / 1000, Member: sale.Item})
			if err := write(ctx, pipe, sale, Planned); err != nil {
				return err
			}
			_, err := m.client.ExecuteLaterTx(ctx, pipe, "medium", offerItem, saleRef{sale.ID}, at.Sub(now), scheduler.WithID("offer-"+sale.ID))
			return err
		})
		return err
	}, saleKey(sale.ID), inventory(sale.Seller))
}

// Buy gives an offered item to a player: item and coins change hands at once, and in
// the same transaction the e-mail to the seller is queued, before everything else,
// and the entry in the price list, after everything else.
func (m *Market) Buy(ctx context.Context, buyer, saleID string) error {
	return m.transact(ctx, func(tx *redis.Tx) error {
		// Both at one instant, or a repetition would find a purse that the earlier
		// call has emptied.
		values, err := tx.MGet(ctx, saleKey(saleID), purse(buyer)).Result()
		if err != nil {
			return err
		}
		sale, err := decode(values[0])
		if err != nil {
			return err
		}
		if sale.State == Sold && sale.Buyer == buyer {
			return nil // an earlier call did arrive
		}
		if sale.State != Offered {
			return ErrNotOffered
		}
		text, _ := values[1].(string)
		coins, _ := strconv.ParseInt(text, 10, 64) // an empty purse has none
		if coins < sale.Price {
			return ErrTooPoor
		}
		now, err := tx.Time(ctx).Result()
		if err != nil {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.ZRem(ctx, board, sale.Item)
			pipe.SAdd(ctx, players, buyer)
			pipe.SAdd(ctx, inventory(buyer), sale.Item)
			pipe.DecrBy(ctx, purse(buyer), sale.Price)
			pipe.IncrBy(ctx, purse(sale.Seller), sale.Price)
			sale.Buyer = buyer
			if err := write(ctx, pipe, sale, Sold); err != nil {
				return err
			}
			mail := soldEmail{Seller: sale.Seller, Item: sale.Item, Price: sale.Price, Buyer: buyer, Time: now.Unix()}
			if _, err := m.client.ExecuteLaterTx(ctx, pipe, "high", sendSoldEmail, mail, 0, scheduler.WithID("mail-"+sale.ID)); err != nil {
				return err
			}
			_, err := m.client.ExecuteLaterTx(ctx, pipe, "low", recordPrice, saleRef{sale.ID}, 0, scheduler.WithID("price-"+sale.ID))
			return err
		})
		return err
	}, saleKey(saleID), purse(buyer))
}

// Sale reads a sale.
func (m *Market) Sale(ctx context.Context, id string) (Sale, error) { return read(ctx, m.rdb, id) }

// Coins is what a player has.
func (m *Market) Coins(ctx context.Context, player string) (int64, error) {
	coins, err := m.rdb.Get(ctx, purse(player)).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return coins, err
}

// Places says where an item is, all places read at one instant. There should be one.
func (m *Market) Places(ctx context.Context, item string) ([]string, error) {
	var places []string
	err := m.transact(ctx, func(tx *redis.Tx) error {
		all, err := tx.SMembers(ctx, players).Result()
		if err != nil {
			return err
		}
		var waits, offer *redis.FloatCmd
		owned := make([]*redis.BoolCmd, len(all))
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			waits, offer = pipe.ZScore(ctx, planned, item), pipe.ZScore(ctx, board, item)
			for i, player := range all {
				owned[i] = pipe.SIsMember(ctx, inventory(player), item)
			}
			return nil
		})
		if err != nil && !errors.Is(err, redis.Nil) { // it is not in one of the sets
			return err
		}
		places = nil
		if waits.Err() == nil {
			places = append(places, "planned for sale")
		}
		if offer.Err() == nil {
			places = append(places, fmt.Sprintf("on the market for %g coins", offer.Val()))
		}
		for i, player := range all {
			if owned[i].Val() {
				places = append(places, "in the inventory of "+player)
			}
		}
		return nil
	}, players)
	return places, err
}

// transact runs f, which reads through tx and commits with one TxPipelined at its
// end, and runs it again if somebody has changed one of the keys meanwhile.
func (m *Market) transact(ctx context.Context, f func(tx *redis.Tx) error, keys ...string) error {
	for {
		err := m.rdb.Watch(ctx, f, keys...)
		if !errors.Is(err, redis.TxFailedErr) || ctx.Err() != nil {
			return err
		}
	}
}

func read(ctx context.Context, rdb redis.Cmdable, id string) (Sale, error) {
	text, err := rdb.Get(ctx, saleKey(id)).Result()
	if errors.Is(err, redis.Nil) {
		return Sale{}, ErrNoSale
	}
	if err != nil {
		return Sale{}, err
	}
	return decode(text)
}

func decode(value any) (sale Sale, err error) {
	text, ok := value.(string)
	if !ok {
		return sale, ErrNoSale
	}
	return sale, json.Unmarshal([]byte(text), &sale)
}

func write(ctx context.Context, pipe redis.Pipeliner, sale Sale, state State) error {
	sale.State = state
	text, err := json.Marshal(sale)
	if err != nil {
		return err
	}
	keep := time.Duration(0)
	if state == Sold {
		keep = keepSold
	}
	pipe.Set(ctx, saleKey(sale.ID), text, keep)
	return nil
}
