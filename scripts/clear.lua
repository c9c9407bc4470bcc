-- clear: cancel what waits in a queue's two lanes, oldest first.
-- include: clock head run reject wake event pull note finish unlane
-- KEYS  1 routing
-- ARGV  1 queue   2 limit
-- Reply {entries taken, jobs cancelled}
can_finish()
redis.call('HLEN', K.ghosts)
local limit = tonumber(ARGV[2])
local taken, cancelled = 0, {}
for _, lane in ipairs({ K.queue .. ARGV[1] .. '-delayed', K.queue .. ARGV[1] }) do
  local members = redis.pcall('LRANGE', lane, 0, limit - taken - 1)
  if taken < limit and not members.err and #members > 0 then
    redis.call('LPOP', lane, #members)
    taken = taken + #members
    for _, member in ipairs(members) do
      local id = string.match(member, '^%x+:[^:]+:(.+)$')
      if drop_ghost(member) then
        -- its job has ended before
      elseif not id then
        reject('no job of bide: not <arrival>:<queue>:<id>', member)
      else
        local h, why = read_head(id)
        if not h then
          finish_spoilt(id, why)
        elseif h.member == member then
          finish(id, h, 'cancelled', 'request')
          cancelled[#cancelled + 1] = id
        else
          reject('an earlier job with this id left it behind', member)
        end
      end
    end
  end
end
event('cancelled', cancelled, 'reason', 'request')
return { taken, #cancelled }
