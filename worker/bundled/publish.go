package bundled

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/bide-go/bide/job"
	"github.com/bide-go/bide/worker"
)

// publishArgs are the args of publish, which sends one message to the current
// subscribers of a Redis channel.
type publishArgs struct {
	channel string
	message []byte // as it is sent
}

func decodePublish(raw json.RawMessage) (publishArgs, []Problem) {
	var args publishArgs
	problems := decode(raw, fields{
		{name: "channel", required: true, aka: []string{"topic", "subject"}, read: nonEmpty(&args.channel)},
		{name: "message", required: true, aka: []string{"payload", "data", "body", "text", "msg"}, read: payload(&args.message)},
	})
	return args, problems
}

// payload reads a text as its bytes and any other JSON value as its compact
// encoding, in which numbers and the order of keys stay as they are.
func payload(to *[]byte) reader {
	return func(f string, raw json.RawMessage) []Problem {
		if kindOf(raw) == kindText {
			var s string
			problems := text(&s)(f, raw)
			*to = []byte(s)
			return problems
		}
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return []Problem{{Path: f, Message: fmt.Sprintf("%q is not valid JSON: %v", f, err)}}
		}
		*to = b.Bytes()
		return nil
	}
}

func publishHandler(rdb redis.UniversalClient) worker.Handler {
	return func(ctx context.Context, j *job.Job) error {
		args, problems := decodePublish(j.Args)
		if problems != nil {
			return badArgs(publishName, problems)
		}
		if err := rdb.Publish(ctx, args.channel, args.message).Err(); err != nil {
			return fmt.Errorf("publish to channel %q: %w", args.channel, err)
		}
		return nil
	}
}
