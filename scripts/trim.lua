-- trim: remove what is kept only for a time: finished jobs past their retention,
-- dead ones past theirs or beyond the cap (oldest first), ghosts of lanes short
-- enough to walk, and, when there are many queues, those that are empty and open.
-- include: clock unlane
-- KEYS  1 routing
-- ARGV  1 limit   2 dead retention ms   3 most dead jobs
-- Reply {finished removed, dead removed, ghosts removed}
redis.call('HLEN', K.counts)
redis.call('HLEN', K.ghosts)
local crowded = redis.call('HLEN', K.queues) > 500
local limit = tonumber(ARGV[1])

-- forget removes an entry together with all that its job had: if they could part,
-- a body without a place would block its id for ever.
local function forget(set, ids)
  if #ids == 0 then return end
  local keys = {}
  for _, id in ipairs(ids) do
    keys[#keys + 1] = K.job .. id
    keys[#keys + 1] = K.run .. id
    keys[#keys + 1] = K.errors .. id
  end
  redis.call('ZREM', set, unpack(ids))
  redis.call('UNLINK', unpack(keys))
end

local dead = redis.call('ZRANGE', K.dead, '-inf', now - ARGV[2], 'BYSCORE', 'LIMIT', 0, limit)
if #dead == 0 then
  local over = math.min(redis.call('ZCARD', K.dead) - tonumber(ARGV[3]), limit)
  if over > 0 then dead = redis.call('ZRANGE', K.dead, 0, over - 1) end
end
local finished = redis.call('ZRANGE', K.finished, '-inf', now, 'BYSCORE', 'LIMIT', 0, limit)
forget(K.finished, finished)
forget(K.dead, dead)

local walked, swept = 0, 0
local some = redis.call('HSCAN', K.ghosts, '0', 'COUNT', 20)[2]
for i = 1, #some, 2 do
  local length = redis.pcall('LLEN', some[i + 1])
  if type(length) == 'number' and walked + length <= 500000 then
    walked = walked + length
    redis.call('LREM', some[i + 1], 1, some[i])
    if drop_ghost(some[i]) then swept = swept + 1 end
  end
end

-- Whatever fills a lane names its queue again.
if crowded then
  local notes = redis.call('HRANDFIELD', K.queues, 50, 'WITHVALUES')
  for i = 1, #notes, 2 do
    local queue = notes[i]
    if notes[i + 1] == '' and redis.call('EXISTS', K.queue .. queue, K.queue .. queue .. '-delayed') == 0 then
      redis.call('HDEL', K.queues, queue)
    end
  end
end
return { #finished, #dead, swept }
