-- lane_lengths counts the live entries of a queue's two lanes.
local function lane_lengths(queue)
  local lengths = {}
  for i, lane in ipairs({ K.queue .. queue .. '-delayed', K.queue .. queue }) do
    local length = redis.pcall('LLEN', lane)
    lengths[i] = type(length) == 'number' and length - tonumber(redis.call('HGET', K.counts, 'ghosts:' .. lane) or '0') or 0
  end
  return lengths[1], lengths[2]
end

-- sum reads all jobs at one instant: counters of what happened against the places
-- where jobs stand. Totals that moved only in pairs would agree by construction
-- and prove nothing.
local function sum()
  local c = redis.call('HMGET', K.counts, 'created', 'completed', 'dead', 'cancelled', 'expired', 'skipped')
  for i = 1, 6 do c[i] = tonumber(c[i] or '0') end
  local waiting = 0
  for _, queue in ipairs(redis.call('HKEYS', K.queues)) do
    local due, fresh = lane_lengths(queue)
    waiting = waiting + due + fresh
  end
  return { c[1], redis.call('ZCARD', K.delayed), waiting, redis.call('ZCARD', K.active), c[2], c[3], c[4], c[5], c[6] }
end
