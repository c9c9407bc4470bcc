-- revive: a dead job starts anew, at the end of its queue's -delayed lane with
-- attempts and lost leases back at 0; a delayed one becomes due now.
-- include: clock head run place wake event
-- KEYS  1 routing
-- ARGV  1 id
-- Reply {'ok', state now} | {'missing'} | {'wrong_state', state} | {'unique', holder} | {'spoilt', why}
local id = ARGV[1]
if redis.call('EXISTS', K.job .. id) == 0 then return { 'missing' } end
local h, why = read_head(id)
if not h then return { 'spoilt', why } end
redis.call('HLEN', K.counts)
local state = place(id, h)
if state == 'delayed' then
  redis.call('ZREM', K.delayed, h.member)
  redis.call('ZADD', K.delayed, now, h.member)
  set_run(id, 'due', now)
  wake(K.wake_promoter)
  return { 'ok', 'delayed' }
end
if state ~= 'dead' then return { 'wrong_state', state } end
if h.unique ~= '' then
  local holder = redis.pcall('GET', K.unique .. h.unique)
  if type(holder) == 'table' then return { 'spoilt', 'the key of its unique lock has the wrong type' } end
  local g = holder and holder ~= id and read_head(holder)
  if g and g.unique == h.unique and ({ delayed = true, waiting = true, active = true })[place(holder, g)] then
    return { 'unique', holder }
  end
end
local lane = K.queue .. h.queue .. '-delayed'
redis.call('LLEN', lane)
redis.call('ZREM', K.dead, id)
redis.call('HINCRBY', K.counts, 'dead', -1)
set_run(id, 'back', 1, 'due', now)
redis.call('HDEL', K.run .. id, 'attempts', 'lost', 'reason', 'finished')
if h.unique ~= '' then redis.call('SET', K.unique .. h.unique, id) end
redis.call('RPUSH', lane, h.member)
filled(h.queue)
-- A run that starts anew is open again.
if h.schedule ~= '' then redis.pcall('ZADD', K.open .. h.schedule, now, id) end
event('revived', { id })
return { 'ok', 'waiting' }
