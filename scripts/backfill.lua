-- backfill: make the next jobs that make up for past ticks of a schedule. Under
-- Allow they are due now, else they wait for each other behind the schedule's own
-- runs. A batch that has been made before writes nothing.
-- include: clock head wake pull create
-- KEYS  1 routing
-- ARGV  1 schedule   2 number of its definition   3 the backfill's id   4 jobs made of it before
--       then per job: id, tick ms, queue, kind, tail
-- Reply {'ok', jobs made of it} | {'moved', number} | {'missing'} | {'queues'} | {'spoilt', key}
local name = ARGV[1]
local s = redis.call('HMGET', K.schedule .. name, 'number', 'policy')
if not s[1] then return { 'missing' } end
if s[1] ~= ARGV[2] then return { 'moved', s[1] } end
local made = redis.call('GET', K.backfill .. ARGV[3]) or '0'
if made ~= ARGV[4] then return { 'ok', made } end
local open, makeup = K.open .. name, K.makeup .. name
local rank = redis.call('ZCARD', makeup)
redis.call('ZCARD', open)
redis.call('ZCARD', K.delayed)
local beside = s[2] == 'Allow'
local due = string.format('%.0f', now)

local count, entries = 0, {}
for i = 5, #ARGV, 5 do
  local refused = refuses(ARGV[i + 2])
  if refused then return { refused, K.queue .. ARGV[i + 2] } end
  add(ARGV[i], ARGV[i + 2], beside and '' or due, '', '', ARGV[i + 3], ARGV[i + 4], true)
  entries[#entries + 1] = beside and -now or BACKFILLS + tonumber(ARGV[i + 1])
  entries[#entries + 1] = ARGV[i]
  -- When it is looked at next, unless it is called up before.
  if not beside then batch.delayed[#batch.delayed - 1] = now + 10000 + math.min(3600, rank + count) * 1000 end
  count = count + 1
end
create()
redis.call('ZADD', beside and open or makeup, unpack(entries))
made = string.format('%.0f', made + count)
redis.call('SET', K.backfill .. ARGV[3], made, 'EX', 3600)
if not beside then pull(name) end
return { 'ok', made }
