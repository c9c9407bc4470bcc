-- promote: move due jobs from the delayed set to the -delayed lanes of their
-- queues, in due order, ties by arrival. Runs of schedules go as their schedule's
-- policies have it. An entry that is no job of ours is rejected.
-- include: clock head run reject wake event pull note finish place unlane ask rules admit
-- KEYS  1 routing
-- ARGV  1 limit   2 '1' to beat the promoter's heart
-- Reply {entries taken, microseconds until the next is due or -1, entries in the inbox}
local due = redis.call('ZRANGE', K.delayed, '-inf', now, 'BYSCORE', 'LIMIT', 0, ARGV[1])
local lanes, order, foreign, stuck = {}, {}, {}, {}

local function lane_for(queue)
  if lanes[queue] == nil then
    lanes[queue] = type(redis.pcall('LLEN', K.queue .. queue .. '-delayed')) == 'number' and {}
    if lanes[queue] then order[#order + 1] = queue end
  end
  return lanes[queue]
end

-- push appends to its lane what has been collected for a queue.
local function push(queue)
  local lane = lanes[queue]
  for i = 1, #lane, 1000 do
    redis.call('RPUSH', K.queue .. queue .. '-delayed', unpack(lane, i, math.min(i + 999, #lane)))
  end
  if #lane > 0 then
    filled(queue)
    lanes[queue] = {}
  end
end

-- Only ids of schedules' runs have an '@'.
local runs
for _, member in ipairs(due) do
  local id = string.find(member, '@', 1, true) and string.match(member, '^%x+:[^:]+:(.+)$')
  local h = id and read_head(id)
  if h and h.schedule ~= '' then
    runs = runs or {}
    runs[member] = { id, h }
  end
end
if runs then
  can_finish()
  redis.call('HLEN', K.ghosts)
  redis.call('ZCARD', K.active)
  redis.call('HLEN', K.lease)
end

if #due > 0 then redis.call('ZREMRANGEBYRANK', K.delayed, 0, #due - 1) end -- they are its first
for _, member in ipairs(due) do
  local queue = string.match(member, '^%x+:([^:]+):.')
  local lane = queue and lane_for(queue)
  local run = runs and runs[member]
  if not queue then
    foreign[#foreign + 1] = member
  elseif not lane then
    stuck[#stuck + 1] = member
  elseif not run or admit(run[1], run[2]) == 'lane' then
    lane[#lane + 1] = member
    -- A later one of this batch may replace it: that looks for it in its lane.
    if run and rules_of(run[2].schedule).policy == 'Replace' then push(queue) end
  end
end
for _, queue in ipairs(order) do push(queue) end
for _, member in ipairs(foreign) do reject('no job of bide: not <arrival>:<queue>:<id>', member) end
-- Something foreign stands under the lane's key: the jobs come again in a second
-- and do not stop the others meanwhile.
for _, member in ipairs(stuck) do
  redis.call('ZADD', K.delayed, now + 1000, member)
end
if ARGV[2] == '1' then redis.pcall('HSET', K.beats, 'promoter', now) end

local inbox = redis.pcall('ZCARD', K.inbox)
if type(inbox) ~= 'number' then inbox = 0 end
local first = redis.call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')
if not first[2] then return { #due, -1, inbox } end
local clock = redis.call('TIME')
return { #due, math.max(0, first[2] * 1000 - (clock[1] * 1000000 + clock[2])), inbox }
