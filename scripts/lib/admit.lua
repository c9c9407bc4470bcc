-- running_of lists the open runs of a schedule. Those that have vanished, or ended
-- without saying so, are dropped: they must not hold up the others.
local function running_of(name)
  local list, entries = {}, redis.pcall('ZRANGE', K.open .. name, 0, 99, 'WITHSCORES')
  for i = 1, entries.err and 0 or #entries, 2 do
    local id = entries[i]
    local h = read_head(id)
    local state = h and h.schedule == name and place(id, h)
    if state == 'delayed' or state == 'waiting' or state == 'active' then
      list[#list + 1] = { id = id, head = h, state = state, makes = tonumber(entries[i + 1]) < 0 }
    else
      redis.call('ZREM', K.open .. name, id)
    end
  end
  return list
end

-- late tells that a tick was missed: not handed to its lane within a minute, or half
-- the time to the next tick, of its due time.
local function late(h, due)
  local limit = 60000
  if h.next ~= '' and h.tick ~= '' then limit = math.min(limit, (h.next - h.tick) / 2) end
  return now >= due + limit
end

-- wait puts a run back, to be looked at again in ten seconds; sooner, if the end of
-- an open run calls it up. Those far behind are looked at less often.
local function wait(id, h, set, score)
  redis.pcall('ZADD', set, score, id)
  local rank = redis.pcall('ZRANK', set, id)
  redis.call('ZADD', K.delayed, now + 10000 + math.min(3600, tonumber(rank) or 0) * 1000, h.member)
  return 'held'
end

-- make_room ends the runs that a newer one replaces: at once, or by asking the
-- worker; ten seconds after that its lease is revoked. Returns how many are left.
local function make_room(name, id, running)
  local left = 0
  local function out(old, h, ...)
    event('cancelled', { old }, 'reason', finish(old, h, 'cancelled', 'replaced', ...))
  end
  local waiting = redis.pcall('ZRANGE', K.held .. name, 0, 99)
  for _, old in ipairs(waiting.err and {} or waiting) do
    local h = old ~= id and read_head(old)
    if h and redis.call('ZREM', K.delayed, h.member) == 1 then out(old, h) end
  end
  for _, r in ipairs(running) do
    local lease = r.state == 'active' and redis.call('HGET', K.lease, r.id)
    local asked = r.state == 'active' and tonumber(get_run(r.id, 'asked')[1] or '')
    if r.state == 'delayed' then
      redis.call('ZREM', K.delayed, r.head.member)
      out(r.id, r.head)
    elseif r.state == 'waiting' then
      unlane(r.head, lane_of(r.id, r.head))
      out(r.id, r.head)
    elseif asked and now >= asked + 10000 then
      local worker, started = string.match(lease or '', '^([^:]+):%S+ (%d+) ')
      redis.call('ZREM', K.active, r.id)
      redis.call('HDEL', K.lease, r.id)
      out(r.id, r.head, 'worker', worker or '-', 'started', started or now)
    else
      left = left + 1
      if not asked then
        set_run(r.id, 'why', 'replaced', 'asked', now)
        ask(r.id, lease)
      end
    end
  end
  return left
end

-- may_queue tells whether one more tick that comes on time may queue behind what is
-- made up for: as long as the queue gets shorter. When a hundred in a row have not
-- seen it shorter than before, no more may until it is empty, so that a schedule
-- whose runs take longer than its interval comes back to the present.
local function may_queue(name)
  local key = K.schedule .. name
  local waiting = redis.pcall('ZCOUNT', K.makeup .. name, '-inf', '(' .. BACKFILLS)
  local f = redis.pcall('HMGET', key, 'fewest', 'queued')
  if type(waiting) ~= 'number' or f.err then return false end
  local fewest, queued = tonumber(f[1] or ''), count_of(f[2])
  if queued >= 100 then return false end
  local shorter = not fewest or waiting < fewest
  redis.pcall('HSET', key, 'fewest', shorter and waiting or fewest, 'queued', shorter and 0 or queued + 1)
  return true
end

-- admit decides on a due run of a schedule, which has been taken from the delayed
-- set: 'lane', 'held' (it is back in the delayed set), 'skipped', 'expired' or
-- 'cancelled' (it has ended). forced: it runs beside the others whatever the policy.
local function admit(id, h, forced)
  local name = h.schedule
  local held, makeup = K.held .. name, K.makeup .. name
  if h.tick == '' or tonumber(h.tick) <= now then redis.pcall('ZREM', K.planned .. name, id) end
  -- Mostly nothing has happened to it yet, and no other is open or waits.
  local alone = redis.call('EXISTS', K.run .. id, held, makeup, K.open .. name) == 0
  local fresh = alone or redis.call('EXISTS', K.run .. id) == 0
  -- In back-off, or put off: it has been admitted before.
  if not fresh and type(redis.pcall('ZSCORE', K.open .. name, id)) == 'string' then return 'lane' end
  local s = rules_of(name)
  local current = s.incarnation == h.incarnation
  local others = current and not alone and redis.pcall('EXISTS', held, makeup) ~= 0
  local set = others and waits_in(id, name)
  local at = tonumber(h.due ~= '' and h.due or h.created)
  local waited, score = set, at
  local tick = current and h.trigger == 'schedule' and fresh and not waited
  if tick then redis.pcall('HSET', K.schedule .. name, 'claimed', h.tick, 'lastTick', h.tick) end

  -- One that was moved by hand is no tick to skip any more.
  local state, reason
  if fresh or waited then state, reason = unfit(h, s, waited) end
  if state then
    finish(id, h, state, reason)
    event(state, { id }, 'reason', reason)
    local next = reason == 'catchUp' and waited and first_of(waited)
    if next then call_up(next) end
    return state
  end
  if not current then
    -- Its schedule has been removed since it came due: it runs, but beside no other.
    if fresh and not forced and s.policy ~= 'Allow' and #running_of(name) > 0 then
      finish(id, h, 'cancelled', 'removed')
      event('cancelled', { id }, 'reason', 'removed')
      return 'cancelled'
    end
    redis.pcall('ZADD', K.open .. name, at, id)
    return 'lane'
  end
  local missed = tick and late(h, at)
  if missed then
    s.newest = math.max(at, tonumber(s.newest or '') or 0)
    redis.pcall('HSET', K.schedule .. name, 'newestMissed', s.newest, 'fewest', '', 'queued', 0)
  end
  if not set then
    set = (h.trigger == 'backfill' or missed) and makeup or held
    if h.trigger == 'backfill' then score = BACKFILLS + (tonumber(h.tick) or 0) end
  end
  local makes = set == makeup

  local function open()
    if others then
      redis.pcall('ZREM', set, id)
      -- Whose turn it is when both kinds have to wait: see next_of.
      local turn = waited and not makes and redis.pcall('EXISTS', makeup) ~= 0 and 'makeup' or ''
      redis.pcall('HSET', K.schedule .. name, 'turn', turn)
    end
    redis.pcall('ZADD', K.open .. name, makes and -at or at, id)
    return 'lane'
  end

  local function skip()
    finish(id, h, 'skipped', 'overlap')
    event('skipped', { id }, 'reason', 'overlap')
    return 'skipped'
  end

  if forced then return open() end
  if s.policy == 'Allow' then
    open()
    local next = others and next_of(name)
    if next then call_up(next) end
    return 'lane'
  end
  local running = alone and {} or running_of(name)
  local mine = { id = id, set = set, score = score, head = h }
  local first = #running == 0 and (others and next_of(name, mine) or mine)
  if first and first.id == id then return open() end
  if first then call_up(first) end

  -- It has to wait, or does not run.
  local oldest = others and first_of(makeup)
  local catching, backfill, behind = oldest and oldest.score < BACKFILLS, false, false
  for _, r in ipairs(running) do
    behind = behind or r.makes
    backfill = backfill or r.head.trigger == 'backfill'
    catching = catching or r.makes and r.head.trigger == 'schedule'
  end
  if makes then
    wait(id, h, set, score)
    if missed and oldest and outdone(name, s, oldest.score) then call_up(oldest) end
    return 'held'
  end
  if s.catch_up == 'All' and catching then
    if not tick then return wait(id, h, set, score) end
    if may_queue(name) then return wait(id, h, makeup, score) end
    return skip()
  end
  if s.policy == 'Replace' and not backfill then
    if make_room(name, id, running) == 0 then return open() end
    return wait(id, h, set, score)
  end
  if waited or (s.policy == 'Queue' or behind or first) and redis.pcall('ZCARD', held) == 0 then return wait(id, h, set, score) end
  return skip()
end
