package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// App is what the handlers work with.
type App struct {
	rdb *redis.Client
	log *logger
}

// Mail is the args of send-email.
type Mail struct {
	To      string `json:"to"`
	Subject string `json:"subject"`
}

// Handlers registers what this process can do.
func (a *App) Handlers() *worker.Registry {
	reg := worker.NewRegistry()
	reg.Use(a.logAttempts) // around all handlers; the first one is the outermost
	worker.HandleFunc(reg, "send-email", a.sendEmail)
	worker.HandleFunc(reg, "charge", a.charge)
	worker.HandleFunc(reg, "call-partner", a.callPartner)
	worker.HandleFunc(reg, "report", a.report)
	return reg
}

// logAttempts is middleware: it sees every attempt and its outcome.
func (a *App) logAttempts(next worker.Handler) worker.Handler {
	return func(ctx context.Context, j *job.Job) error {
		a.log.print("%s %s, attempt %d of %d: started", j.Name, j.ID, j.Attempt(), j.MaxAttempts)
		err := next(ctx, j)
		outcome := "done"
		if err != nil {
			outcome = err.Error()
		}
		a.log.print("%s %s, attempt %d of %d: %s", j.Name, j.ID, j.Attempt(), j.MaxAttempts, outcome)
		return err
	}
}

// sendEmail shows typed args and a permanent error: another attempt would fail in
// the same way, so the job is dead at once.
func (a *App) sendEmail(_ context.Context, mail Mail) error {
	if !strings.Contains(mail.To, "@") {
		return job.Permanent(fmt.Errorf("%q is no address", mail.To))
	}
	a.log.print("e-mail to %s: %s", mail.To, mail.Subject)
	return nil
}

// charge shows an effect that happens once for each job. An attempt may be repeated,
// for example after its worker was killed, and always has the same job id. Here the
// id and the effect are written in one transaction; a payment service would get the
// id as its idempotency key.
func (a *App) charge(ctx context.Context, args struct {
	Account string `json:"account"`
	Cents   int64  `json:"cents"`
}) error {
	j, _ := job.FromContext(ctx)
	done, balance := "example:charged:"+j.ID, "example:balance:"+args.Account
	err := a.rdb.Watch(ctx, func(tx *redis.Tx) error {
		if n, err := tx.Exists(ctx, done).Result(); err != nil || n == 1 {
			return err // an earlier attempt did it
		}
		_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, done, 1, 24*time.Hour) // longer than the job's attempts last
			pipe.DecrBy(ctx, balance, args.Cents)
			return nil
		})
		return err
	}, done)
	if err != nil {
		return err // another attempt, after the back-off
	}
	if j.Attempt() == 1 {
		return errors.New("the answer was lost") // so that there is a second attempt
	}
	return nil
}

// callPartner shows an error that chooses its pause: exactly that instead of the
// back-off.
func (a *App) callPartner(ctx context.Context, _ struct{}) error {
	if j, _ := job.FromContext(ctx); j.Attempt() == 1 {
		return job.RetryAfter(errors.New("too many calls"), 500*time.Millisecond)
	}
	return nil
}

// report shows long work that stops when it is told to. The context ends with the
// attempt's timeout, when the job is cancelled, when the lease is lost, and when the
// worker stops and the grace period is over; context.Cause says which.
func (a *App) report(ctx context.Context, args struct {
	Pages int `json:"pages"`
}) error {
	for page := range args.Pages {
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("stopped at page %d: %w", page, err)
		}
	}
	return nil
}
