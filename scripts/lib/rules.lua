-- rules_of reads, once per script, what decides on the runs of a schedule.
local known = {}
local function rules_of(name)
  local s = known[name]
  if not s then
    local f = redis.pcall('HMGET', K.schedule .. name, 'incarnation', 'policy', 'catchUp', 'pausedAt', 'pausedUntil')
    s = { incarnation = f[1], policy = f[2] or 'Forbid', catch_up = f[3] or 'Latest', paused_at = f[4], paused_until = f[5] }
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

-- unfit tells whether a tick that has not been handed to its lane is not to run any
-- more: the end state, and the reason. waits: it was in time, and has had to wait.
local function unfit(h, s, waits)
  if h.trigger == 'schedule' and s.incarnation == h.incarnation and s.paused_at then
    local tick, from, till = tonumber(h.tick) or 0, tonumber(s.paused_at) or now, tonumber(s.paused_until or '') or 0
    if in_force(s.paused_at, s.paused_until) or tick >= from and tick < till then return 'skipped', 'paused' end
  end
  if not waits and h.superseded ~= '' and now >= tonumber(h.superseded) then return 'skipped', 'catchUp' end
  if h.expiry ~= '' and now >= tonumber(h.expiry) then return 'expired', 'deadline' end
end
