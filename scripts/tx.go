package scripts

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
)

// EnqueueTx queues the creation of one job in the caller's own MULTI, so that both
// commit or neither.
//
// A plain write of ours goes first: Redis judges it when it is queued, and when
// memory is full the whole EXEC is refused, whereas the script would be refused
// alone inside it. The script is sent as text, since its hash may be unknown by the
// time EXEC runs, which would commit everything but the job. And in a cluster that
// moves the slot, where the script would be refused alone too, EXEC is refused for
// keys that do not exist, as in lib/whole.lua.
//
// What only the script can see, and refuses, is an error of its command, which EXEC
// gives to the caller. It does not undo the caller's data.
func (s *Set) EnqueueTx(ctx context.Context, pipe redis.Pipeliner, n NewJob) error {
	guard := call{redis.NewCmd(ctx, "hset", s.keys.name("beats"), "tx", "1")}
	whole := call{redis.NewCmd(ctx, "exists", s.keys.name("job"), s.keys.name("run"))}
	create := s.command(ctx, script{text: fmt.Sprintf(orFail, s.scripts["enqueue"].text)}, false, NewBatch(n).args)
	if err := pipe.Process(ctx, guard); err != nil {
		return err
	}
	if err := pipe.Process(ctx, whole); err != nil {
		return err
	}
	return pipe.Process(ctx, create)
}

// orFail makes an error of an answer that says that no job could be created.
const orFail = `
local function run()
%s
end
local reply = run()
if type(reply) == 'number' then return reply end
if reply[3] == 'queues' then
  return redis.error_reply('ERR the job was not created: 1,000 queues are in use, which is the most')
elseif reply[3] == 'spoilt' then
  return redis.error_reply('ERR the job was not created: ' .. reply[6] .. ' holds something that is not of bide')
end
return reply
`
