-- expire: end delayed and waiting jobs that were not started by their expiry, also
-- those in paused queues and in queues nobody serves.
-- include: clock head run reject finish place unlane event
-- KEYS  1 routing
-- ARGV  1 limit
-- Reply {entries taken, jobs expired}
can_finish()
redis.call('HLEN', K.ghosts)
redis.call('ZCARD', K.delayed)
redis.call('ZCARD', K.active)
local ids = redis.call('ZRANGE', K.expiry, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local expired = {}
for _, id in ipairs(ids) do
  redis.call('ZREM', K.expiry, id)
  local h = read_head(id)
  local state = h and place(id, h)
  local lane = state == 'waiting' and lane_of(id, h)
  if lane and type(redis.pcall('LLEN', lane)) ~= 'number' then lane = nil end
  if state == 'delayed' then redis.call('ZREM', K.delayed, h.member) end
  if lane then unlane(h, lane) end
  if state == 'delayed' or lane then
    finish(id, h, 'expired', 'deadline')
    expired[#expired + 1] = id
  end
end
event('expired', expired, 'reason', 'deadline')
return { #ids, #expired }
