-- cancel: end a delayed or waiting job; mark an active one and wake its worker.
-- include: clock head run reject wake event pull note finish place unlane ask
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
  ask(id, redis.call('HGET', K.lease, id))
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
