-- reap: take back jobs whose lease had run out at or before a given time: to the
-- front of their queue's -delayed lane with one more lost lease, dead once there
-- are too many, cancelled if that was asked for.
-- include: clock head run reject wake event pull note finish
-- KEYS  1 routing
-- ARGV  1 time, unix ms   2 limit   3 most lost leases
-- Reply {now, how many expired were left, per job: id, 'waiting' | 'dead' | 'cancelled' | 'spoilt', the schedule that this has paused or '', why}
can_finish()
redis.call('HLEN', K.lease)
local reply, happened = { now, 0 }, {}
local before = math.min(tonumber(ARGV[1]), now - 1)
local ids = redis.call('ZRANGE', K.active, '-inf', string.format('%.0f', before), 'BYSCORE', 'LIMIT', 0, ARGV[2])

for i = #ids, 1, -1 do
  local id = ids[i]
  local value = redis.call('HGET', K.lease, id) or ''
  local worker, started, flags = string.match(value, '^([^:]+):%S+ (%d+) %S+ (%S+)$')
  worker, started, flags = worker or '-', started or now, flags or ''
  local h, why = read_head(id)
  local lane = h and K.queue .. h.queue .. '-delayed'
  local outcome, reason
  redis.call('ZREM', K.active, id)
  redis.call('HDEL', K.lease, id)
  if not h then
    finish_spoilt(id, why)
    outcome = 'spoilt'
  else
    local run = get_run(id, 'attempts', 'lost')
    local attempt, lost = count_of(run[1]) + 1, count_of(run[2]) + 1
    note_failure(id, table.concat({ 'lost', attempt, now, started, worker }, ' ') ..
      '\nthe lease ran out: the worker died, was cut off or stood still\0')
    set_run(id, 'lost', lost, 'worker', worker, 'started', started)
    if string.sub(flags, -1) == 'c' then
      outcome = 'cancelled'
      reason = finish(id, h, 'cancelled', 'request', 'worker', worker, 'started', started)
    elseif lost >= tonumber(ARGV[3]) or type(redis.pcall('LLEN', lane)) ~= 'number' then
      outcome = 'dead'
      finish(id, h, 'dead', 'lost', 'worker', worker, 'started', started)
    else
      outcome = 'waiting'
      redis.call('LPUSH', lane, h.member)
      filled(h.queue)
    end
  end
  reply[#reply + 1] = id
  reply[#reply + 1] = outcome
  reply[#reply + 1] = paused[1] or ''
  reply[#reply + 1] = paused[2] or ''
  paused = {}
  if outcome == 'cancelled' then
    event('cancelled', { id }, 'reason', reason)
  else
    local name = outcome == 'waiting' and 'lost' or outcome
    happened[name] = happened[name] or {}
    table.insert(happened[name], id)
  end
end
for name, some in pairs(happened) do
  if name ~= 'spoilt' then event(name, some) end
end
reply[2] = redis.call('ZCOUNT', K.active, '-inf', string.format('%.0f', before))
return reply
