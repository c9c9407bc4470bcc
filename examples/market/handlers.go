package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// The names of the jobs.
const (
	offerItem     = "offer-item"
	sendSoldEmail = "send-sold-email"
	recordPrice   = "record-price"
)

// saleRef is the args of offer-item and record-price.
type saleRef struct {
	Sale string `json:"sale"`
}

// soldEmail is the args of send-sold-email.
type soldEmail struct {
	Seller string `json:"seller_id"`
	Item   string `json:"item_id"`
	Price  int64  `json:"price"`
	Buyer  string `json:"buyer_id"`
	Time   int64  `json:"time"`
}

// Handlers are the jobs of the market. A job may run more than once, when a worker
// dies in the middle of it, so each handler has its effect once for each job.
func (m *Market) Handlers() *worker.Registry {
	reg := worker.NewRegistry()
	worker.HandleFunc(reg, offerItem, m.offer)
	worker.HandleFunc(reg, sendSoldEmail, m.sendSoldEmail)
	worker.HandleFunc(reg, recordPrice, m.recordPrice)
	return reg
}

// offer puts a planned item on the market. The sale itself says whether an earlier
// attempt has done so.
func (m *Market) offer(ctx context.Context, ref saleRef) error {
	return m.transact(ctx, func(tx *redis.Tx) error {
		sale, err := read(ctx, tx, ref.Sale)
		if errors.Is(err, ErrNoSale) {
			return job.Permanent(err) // another attempt would not find it either
		}
		if err != nil || sale.State != Planned {
			return err
		}
		_, err = tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.ZRem(ctx, planned, sale.Item)
			pipe.ZAdd(ctx, board, redis.Z{Score: float64(sale.Price), Member: sale.Item})
			return write(ctx, pipe, sale, Offered)
		})
		return err
	}, saleKey(ref.Sale))
}

// sendSoldEmail tells the seller. The job's id goes to the mail server, which sends
// one mail for one id.
func (m *Market) sendSoldEmail(ctx context.Context, mail soldEmail) error {
	j, _ := job.FromContext(ctx)
	text := fmt.Sprintf("Dear %s, %s has bought your %s for %d coins.", mail.Seller, mail.Buyer, mail.Item, mail.Price)
	return m.rdb.HSetNX(ctx, mails, j.ID, text).Err()
}

// recordPrice notes what a sale brought. Doing it twice does no harm.
func (m *Market) recordPrice(ctx context.Context, ref saleRef) error {
	sale, err := read(ctx, m.rdb, ref.Sale)
	if errors.Is(err, ErrNoSale) {
		return job.Permanent(err)
	}
	if err != nil {
		return err
	}
	return m.rdb.HSet(ctx, prices, sale.ID, sale.Price).Err()
}

// MailAbout returns the e-mail about a sale, empty if none was sent.
func (m *Market) MailAbout(ctx context.Context, saleID string) (string, error) {
	text, err := m.rdb.HGet(ctx, mails, "mail-"+saleID).Result()
	if errors.Is(err, redis.Nil) {
		return "", nil
	}
	return text, err
}

// PriceOf returns what a sale brought according to the price list, 0 if it is not
// there.
func (m *Market) PriceOf(ctx context.Context, saleID string) (int64, error) {
	price, err := m.rdb.HGet(ctx, prices, saleID).Int64()
	if errors.Is(err, redis.Nil) {
		return 0, nil
	}
	return price, err
}
