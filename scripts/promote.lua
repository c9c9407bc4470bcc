-- promote: move due jobs from the delayed set to the -delayed lanes of their
-- queues, in due order, ties by arrival. A planned tick that a newer one has
-- superseded is skipped instead. An entry that is no job of ours is rejected.
-- include: clock head run reject finish wake event
-- KEYS  1 routing
-- ARGV  1 limit   2 '1' to beat the promoter's heart
-- Reply {entries taken, microseconds until the next is due or -1, entries in the inbox}
local due = redis.call('ZRANGE', K.delayed, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local lanes, order, ended, foreign, stuck = {}, {}, {}, {}, {}
local claimed = {}

local function lane_for(queue)
  if lanes[queue] == nil then
    lanes[queue] = type(redis.pcall('LLEN', K.queue .. queue .. '-delayed')) == 'number' and {}
    if lanes[queue] then order[#order + 1] = queue end
  end
  return lanes[queue]
end

local taken = {}
for _, member in ipairs(due) do
  local queue, id = string.match(member, '^%x+:([^:]+):(.+)$')
  local verdict
  if queue and string.find(id, '@', 1, true) then
    local h = read_head(id)
    if h and h.schedule ~= '' then
      -- One that has been started or moved before is no tick to skip any more.
      local fresh = redis.call('EXISTS', K.run .. id) == 0
      if fresh and h.superseded ~= '' and now >= tonumber(h.superseded) then
        verdict = { id, h, 'skipped', 'catchUp' }
      else
        claimed[#claimed + 1] = { id, h, fresh }
      end
    end
  end
  if not queue then
    foreign[#foreign + 1] = member
    taken[#taken + 1] = member
  elseif verdict then
    ended[#ended + 1] = verdict
    taken[#taken + 1] = member
  else
    local lane = lane_for(queue)
    if lane then
      lane[#lane + 1] = member
      taken[#taken + 1] = member
    else
      stuck[#stuck + 1] = member
    end
  end
end
if #ended > 0 then can_finish() end

for i = 1, #taken, 1000 do redis.call('ZREM', K.delayed, unpack(taken, i, math.min(i + 999, #taken))) end
for _, queue in ipairs(order) do
  local lane = lanes[queue]
  for i = 1, #lane, 1000 do
    redis.call('RPUSH', K.queue .. queue .. '-delayed', unpack(lane, i, math.min(i + 999, #lane)))
  end
  filled(queue)
end
for _, v in ipairs(ended) do
  finish(v[1], v[2], v[3], v[4])
  event(v[3], { v[1] }, 'reason', v[4])
end
for _, v in ipairs(claimed) do
  local id, h, fresh = v[1], v[2], v[3]
  if h.tick == '' or tonumber(h.tick) <= now then redis.pcall('ZREM', K.planned .. h.schedule, id) end
  if fresh and redis.pcall('HGET', K.schedule .. h.schedule, 'incarnation') == h.incarnation then
    redis.pcall('HSET', K.schedule .. h.schedule, 'claimed', h.tick)
  end
end
for _, member in ipairs(foreign) do reject('no job of bide: not <arrival>:<queue>:<id>', member) end
-- Something foreign stands under the lane's key: the jobs come again in a second
-- and do not stop the others meanwhile.
for _, member in ipairs(stuck) do
  redis.call('ZREM', K.delayed, member)
  redis.call('ZADD', K.delayed, now + 1000, member)
end
if ARGV[2] == '1' then redis.pcall('HSET', K.beats, 'promoter', now) end

local inbox = redis.pcall('ZCARD', K.inbox)
if type(inbox) ~= 'number' then inbox = 0 end
local first = redis.call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')
if not first[2] then return { #due, -1, inbox } end
local clock = redis.call('TIME')
return { #due, math.max(0, first[2] * 1000 - (clock[1] * 1000000 + clock[2])), inbox }
