-- rules_of reads, once per script, what decides on the runs of a schedule.
local known = {}
local function rules_of(name)
  local s = known[name]
  if not s then
    local f = redis.pcall('HMGET', K.schedule .. name, 'incarnation', 'policy', 'catchUp', 'pausedAt', 'pausedUntil', 'newestMissed')
    s = { incarnation = f[1], policy = f[2] or 'Forbid', catch_up = f[3] or 'Latest', paused_at = f[4], paused_until = f[5], newest = f[6] }
    known[name] = s
  end
  return s
end

-- waits_in tells in which waiting set of its schedule a run stands, if in one.
local function waits_in(id, name)
  for _, set in ipairs({ K.held .. name, K.makeup .. name }) do
    if type(redis.pcall('ZSCORE', set, id)) == 'string' then return set end
  end
end

-- outdone tells that a missed tick, or one that queued behind such, has waited until
-- more ticks were missed than catchUp makes up for: the newest one, under All the
-- newest hundred. due is its own, in ms.
local function outdone(name, s, due)
  local newer = s.newest and redis.pcall('ZCOUNT', K.makeup .. name, '(' .. due, s.newest)
  return type(newer) == 'number' and newer >= (s.catch_up == 'All' and 100 or 1)
end

-- unfit tells whether a tick that has not been handed to its lane is not to run any
-- more: the end state, and the reason. set: it was in time, and has had to wait in it.
local function unfit(h, s, set)
  if h.trigger == 'schedule' and s.incarnation == h.incarnation then
    local tick, from, till = tonumber(h.tick) or 0, tonumber(s.paused_at or '') or now, tonumber(s.paused_until or '') or 0
    if s.paused_at and (in_force(s.paused_at, s.paused_until) or tick >= from and tick < till) then return 'skipped', 'paused' end
    if set == K.makeup .. h.schedule and outdone(h.schedule, s, h.due) then return 'skipped', 'catchUp' end
  end
  if not set and h.superseded ~= '' and now >= tonumber(h.superseded) then return 'skipped', 'catchUp' end
  if h.expiry ~= '' and now >= tonumber(h.expiry) then return 'expired', 'deadline' end
end
