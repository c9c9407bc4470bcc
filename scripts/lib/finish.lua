-- tell_schedule writes the end of a run into its schedule, unless the schedule
-- has been removed or made anew since.
local function tell_schedule(id, h, state, reason)
  local key = K.schedule .. h.schedule
  -- A tick that was started or ended before its instant stays noted till then.
  if h.tick == '' or tonumber(h.tick) <= now then redis.pcall('ZREM', K.planned .. h.schedule, id) end
  if redis.pcall('HGET', key, 'incarnation') ~= h.incarnation then return end
  redis.pcall('HSET', key, 'lastOutcome', state, 'lastFinished', now)
  if state == 'completed' then
    redis.pcall('HSET', key, 'consecutiveFailures', 0, 'lastSuccess', now)
  elseif state == 'dead' then
    redis.pcall('HINCRBY', key, 'consecutiveFailures', 1)
    redis.pcall('HSET', key, 'lastFailure', now)
  elseif reason == 'catchUp' or reason == 'deadline' then
    redis.pcall('HINCRBY', key, 'missed', 1)
  end
end

-- finish brings a job, already taken from its place, to an end state: counts it,
-- frees its unique key, and keeps it (dead, or with a retention) or removes
-- everything it had. The caller's first write was a removal, so nothing here can
-- be refused for want of memory.
local function finish(id, h, state, reason, ...)
  redis.call('HINCRBY', K.counts, state, 1)
  if h.unique ~= '' and redis.pcall('GET', K.unique .. h.unique) == id then redis.call('DEL', K.unique .. h.unique) end
  if h.expiry ~= '' then redis.call('ZREM', K.expiry, id) end
  if state == 'dead' then
    redis.call('ZADD', K.dead, now, id)
    set_run(id, 'reason', reason, 'finished', now, ...)
  elseif h.retention ~= '' then
    redis.call('ZADD', K.finished, now + h.retention, id)
    set_run(id, 'state', state, 'reason', reason, 'finished', now, ...)
  else
    redis.call('UNLINK', K.job .. id, K.run .. id, K.errors .. id)
  end
  if h.schedule ~= '' then tell_schedule(id, h, state, reason) end
end

-- finish_spoilt ends a job, already taken from its place, whose body cannot be
-- read: it is counted as dead, so that the sum holds, and noted as rejected. What
-- stood under its keys goes: without a place it would block the id for ever.
local function finish_spoilt(id, why)
  redis.call('HINCRBY', K.counts, 'dead', 1)
  redis.call('ZREM', K.expiry, id)
  redis.call('UNLINK', K.job .. id, K.run .. id, K.errors .. id)
  reject(why, id)
end

-- can_finish checks, before the first write, the type of every shared key that
-- finish writes.
local function can_finish()
  redis.call('HLEN', K.counts)
  redis.call('ZCARD', K.expiry)
  redis.call('ZCARD', K.dead)
  redis.call('ZCARD', K.finished)
end
