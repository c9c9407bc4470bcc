-- renew: extend leases that are still the caller's, and tell which are not and
-- which were asked to cancel.
-- include: clock
-- KEYS  1 routing
-- ARGV  1 lease ms; then per job: id, token
-- Reply per job: 'ok' | 'cancel' (renewed; to be cancelled) | 'lost'
local ids = {}
for i = 2, #ARGV, 2 do ids[#ids + 1] = ARGV[i] end
local values = redis.call('HMGET', K.lease, unpack(ids))
redis.call('ZCARD', K.active)

local reply, kept, scores = {}, {}, {}
for i, id in ipairs(ids) do
  local value, token = values[i], ARGV[2 * i + 1]
  if not value or string.sub(value, 1, #token + 1) ~= token .. ' ' then
    reply[i] = 'lost'
  else
    reply[i] = string.sub(value, -1) == 'c' and 'cancel' or 'ok'
    kept[#kept + 1] = id
    scores[#scores + 1] = now + ARGV[1]
    scores[#scores + 1] = id
  end
end
-- ZREM before ZADD: a removal first, or a full Redis would let leases run out.
if #kept > 0 then
  redis.call('ZREM', K.active, unpack(kept))
  redis.call('ZADD', K.active, unpack(scores))
end
return reply
