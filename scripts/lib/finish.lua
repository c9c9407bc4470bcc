-- in_force tells whether a pause holds now.
local function in_force(at, till)
  return at and (not till or till == '' or (tonumber(till) or 0) > now)
end

-- pause_schedule keeps a schedule from running its ticks until somebody resumes it.
-- paused lists what it did, name and reason one after the other, for the reply.
local paused = {}
local function pause_schedule(name, reason)
  redis.pcall('HSET', K.schedule .. name, 'pausedAt', now, 'pausedUntil', '', 'pausedBy', 'bide', 'pausedReason', reason)
  event('paused', { name }, 'by', 'bide', 'reason', reason)
  paused[#paused + 1] = name
  paused[#paused + 1] = reason
end

-- end_of reads what a schedule keeps of a run, before the run's keys go. worker and
-- started are those of an attempt that ends with it.
local function end_of(id, _, worker, _, started)
  local run = get_run(id, 'attempts', 'lost', 'worker', 'started', 'why')
  local newest = redis.pcall('LINDEX', K.errors .. id, 0)
  local text = type(newest) == 'string' and string.match(newest, '\n([^\n%z]*)') or ''
  return {
    attempts = count_of(run[1]), lost = count_of(run[2]), worker = worker or run[3] or '', started = started or run[4] or '',
    took = started and string.format('%.0f', math.max(0, now - started)) or '',
    why = run[5], text = string.gsub(string.sub(text, 1, 300), '\t', ' '),
  }
end

-- tell_schedule writes the end of a run into its schedule, unless the schedule has
-- been removed or made anew since, and makes room for the next one.
local function tell_schedule(id, h, state, reason, e)
  local name = h.schedule
  local key = K.schedule .. name
  redis.pcall('ZREM', K.open .. name, id)
  if e.took == '' then
    -- A tick that ended before its instant stays noted till then.
    if h.tick == '' or tonumber(h.tick) <= now then redis.pcall('ZREM', K.planned .. name, id) end
    redis.pcall('ZREM', K.held .. name, id)
    redis.pcall('ZREM', K.makeup .. name, id)
  end
  local s = redis.pcall('HMGET', key, 'incarnation', 'keepSuccessful', 'keepFailed', 'pauseAfter', 'consecutiveFailures', 'forgiven',
    'pausedAt', 'pausedUntil', 'lastTick')
  if s[1] and s[1] == h.incarnation then
    local fields = { 'lastOutcome', state, 'lastFinished', now }
    local function set(field, value)
      fields[#fields + 1] = field
      fields[#fields + 1] = value
    end
    if e.took ~= '' then
      set('lastStarted', e.started)
      set('lastDuration', e.took)
      set('lastRun', state .. ' ' .. reason)
    end
    if h.trigger == 'schedule' and h.tick == s[9] then set('lastTickEnd', h.tick .. ' ' .. state .. ' ' .. reason) end
    if state == 'completed' then
      set('consecutiveFailures', 0)
      set('forgiven', 0)
      set('lastSuccess', now)
    elseif state == 'dead' then
      local failures = count_of(s[5]) + 1
      set('consecutiveFailures', failures)
      set('lastFailure', now)
      local most = count_of(s[4])
      if most > 0 and failures - count_of(s[6]) >= most and not in_force(s[7], s[8]) then
        pause_schedule(name, failures .. (failures == 1 and ' run' or ' runs in a row') .. ' ended dead')
      end
    elseif h.trigger == 'schedule' and reason == 'overlap' then
      redis.pcall('HINCRBY', key, 'skipped', 1)
    elseif h.trigger == 'schedule' and (state == 'skipped' or state == 'expired') then
      redis.pcall('HINCRBY', key, 'missed', 1)
    end
    if state ~= 'skipped' and state ~= 'expired' then set('lastRan', state) end
    redis.pcall('HSET', key, unpack(fields))
    local due = h.due ~= '' and h.due or h.created
    note_run(name, state, state == 'completed' and s[2] or state ~= 'completed' and s[3], due,
      id, h.tick, h.trigger, state, reason, due, e.started, now, e.took, e.attempts, e.lost, e.worker, e.text)
  end
  pull(name)
end

-- finish brings a job, already taken from its place, to an end state: counts it,
-- frees its unique key, and keeps it (dead, or with a retention) or removes
-- everything it had. What follows the reason is 'worker', w, 'started', s if an
-- attempt ends with it. The caller's first write was a removal, so nothing here can
-- be refused for want of memory. Returns the reason, which is another one for a run
-- that was asked to make room.
local function finish(id, h, state, reason, ...)
  local e = h.schedule ~= '' and end_of(id, ...)
  if e and e.why and state == 'cancelled' then reason = e.why end
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
  if e then tell_schedule(id, h, state, reason, e) end
  return reason
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
