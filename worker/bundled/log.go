package bundled

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/rs/zerolog"

	"github.com/bide-go/bide/internal/clock"
	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// logArgs are the args of log, which writes a message and can pretend to be slow
// or unreliable work, to try out schedules, retries and alerts.
type logArgs struct {
	message      string
	level        zerolog.Level // info
	sleep        time.Duration
	failAttempts int // the first so many attempts fail
}

var logLevels = map[string]zerolog.Level{
	"debug": zerolog.DebugLevel,
	"info":  zerolog.InfoLevel,
	"warn":  zerolog.WarnLevel,
	"error": zerolog.ErrorLevel,
}

func decodeLog(raw json.RawMessage) (logArgs, []Problem) {
	args := logArgs{level: zerolog.InfoLevel}
	level := ""
	problems := decode(raw, fields{
		{name: "message", required: true, aka: []string{"msg", "text"}, read: text(&args.message)},
		{name: "level", aka: []string{"severity"}, read: word(&level,
			[]string{"debug", "info", "warn", "error"},
			map[string]string{"trace": "debug", "warning": "warn", "err": "error", "fatal": "error", "panic": "error"})},
		{name: "sleep", aka: []string{"delay", "wait", "pause", "duration"}, read: span(&args.sleep)},
		{name: "failAttempts", aka: []string{"fail", "failures", "fails"}, read: count(&args.failAttempts)},
	})
	if level != "" {
		args.level = logLevels[level]
	}
	return args, problems
}

// logHandler writes the message when the attempt begins, so that its time tells
// when that was, then sleeps, then fails if it was asked to.
func logHandler(log zerolog.Logger) worker.Handler {
	return func(ctx context.Context, j *job.Job) error {
		args, problems := decodeLog(j.Args)
		if problems != nil {
			return badArgs(logName, problems)
		}
		log.WithLevel(args.level).Str("job_id", j.ID).Int("attempt", j.Attempt()).Msg(args.message)
		if err := sleep(ctx, args.sleep); err != nil {
			return err
		}
		if j.Attempt() <= args.failAttempts {
			return fmt.Errorf("failed as asked (failAttempts: %d)", args.failAttempts)
		}
		return nil
	}
}

// sleep returns the cause of ctx if that ends before d is over.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || clock.Sleep(ctx, d) {
		return nil
	}
	return context.Cause(ctx)
}
