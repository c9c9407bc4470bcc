-- expire: end delayed and waiting jobs that were not started by their expiry, also
-- those in paused queues and in queues nobody serves.
-- include: clock head run reject wake event pull note finish place unlane rules
-- KEYS  1 routing
-- ARGV  1 limit
-- Reply {entries taken, jobs ended}
can_finish()
redis.call('HLEN', K.ghosts)
redis.call('ZCARD', K.delayed)
redis.call('ZCARD', K.active)
local ids = redis.call('ZRANGE', K.expiry, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local expired, ended = {}, 0
for _, id in ipairs(ids) do
  redis.call('ZREM', K.expiry, id)
  local h = read_head(id)
  local state = h and place(id, h)
  local lane = state == 'waiting' and lane_of(id, h)
  if lane and type(redis.pcall('LLEN', lane)) ~= 'number' then lane = nil end
  if state == 'delayed' then redis.call('ZREM', K.delayed, h.member) end
  if lane then unlane(h, lane) end
  if state == 'delayed' or lane then
    -- A tick that never came to its lane may have been too late for its schedule.
    local ending, reason
    if state == 'delayed' and h.schedule ~= '' and redis.call('EXISTS', K.run .. id) == 0 then
      ending, reason = unfit(h, rules_of(h.schedule), waits_in(id, h.schedule))
    end
    if ending == 'skipped' then
      finish(id, h, ending, reason)
      event('skipped', { id }, 'reason', reason)
    else
      finish(id, h, 'expired', 'deadline')
      expired[#expired + 1] = id
    end
    ended = ended + 1
  end
end
event('expired', expired, 'reason', 'deadline')
return { #ids, ended }
