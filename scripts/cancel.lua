-- cancel: end a delayed or waiting job; mark an active one and wake its worker.
-- include: clock head run reject finish place unlane wake event
-- KEYS  1 routing
-- ARGV  1 id
-- Reply {'ok', state now} | {'missing'} | {'wrong_state', state} | {'spoilt', why}
local id = ARGV[1]
if redis.call('EXISTS', K.job .. id) == 0 then return { 'missing' } end
local h, why = read_head(id)
if not h then return { 'spoilt', why } end
can_finish()
redis.call('HLEN', K.ghosts)

local state = place(id, h)
if state == 'active' then
  local value = redis.call('HGET', K.lease, id)
  if value and string.sub(value, -1) ~= 'c' then
    redis.call('HDEL', K.lease, id) -- a removal first: a full Redis takes the rest
    redis.call('HSET', K.lease, id, value .. 'c')
  end
  local worker = value and string.match(value, '^[^:]+')
  if worker then
    -- The worker may be gone: its list goes by itself. No job depends on it.
    wake(K.wake_worker .. worker)
    redis.pcall('EXPIRE', K.wake_worker .. worker, 60)
  end
  return { 'ok', 'active' }
end
if state == 'delayed' then
  redis.call('ZREM', K.delayed, h.member)
elseif state == 'waiting' then
  local lane = lane_of(id, h)
  redis.call('LLEN', lane)
  unlane(h, lane)
else
  return { 'wrong_state', state }
end
finish(id, h, 'cancelled', 'request')
event('cancelled', { id }, 'reason', 'request')
return { 'ok', 'cancelled' }
