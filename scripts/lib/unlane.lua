-- unlane takes a waiting job out of its lane. LREM walks the lane, so in a long
-- one the entry stays as a ghost: counted off at once, and dropped when it is
-- popped or swept. An entry carries the arrival number of its job, so a later job
-- with the same id has another entry.
local function unlane(h, lane)
  if redis.call('LLEN', lane) <= 1000 then
    if redis.call('LREM', lane, 1, h.member) == 0 then
      redis.pcall('LREM', K.queue .. h.queue, 1, h.member)
    end
  else
    -- A removal first, undone at once, or a full Redis would not take the rest.
    redis.call('LPUSH', lane, redis.call('LPOP', lane))
    redis.call('HSET', K.ghosts, h.member, lane)
    redis.call('HINCRBY', K.counts, 'ghosts:' .. lane, 1)
  end
end

-- drop_ghost forgets a ghost whose entry has been popped; false if it is none.
local function drop_ghost(member)
  local lane = redis.call('HGET', K.ghosts, member)
  if not lane then return false end
  redis.call('HDEL', K.ghosts, member)
  redis.call('HINCRBY', K.counts, 'ghosts:' .. lane, -1)
  return true
end
