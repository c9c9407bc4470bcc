-- stats: read counts, queues and the roles' heartbeats at one instant.
-- include: clock head sum
-- KEYS  1 routing
-- Reply {now, sum as audit, queues: {queue, waitingDelayed, waiting, active, pause note, ms since the oldest became due or -1}…,
--        promoter beat, scheduler beat, {schedules, paused, failing}, live workers, inbox, rejected, stored dead, stored finished}
local active = {}
for _, value in ipairs(redis.call('HVALS', K.lease)) do
  local queue = string.match(value, '^%S+ %d+ (%S+) ')
  if queue then active[queue] = (active[queue] or 0) + 1 end
end

-- oldest_in looks at the first live entries of a lane.
local function oldest_in(lane)
  local members = redis.pcall('LRANGE', lane, 0, 9)
  local oldest
  if members.err then return nil end
  for _, member in ipairs(members) do
    local id = string.match(member, '^%x+:[^:]+:(.+)$')
    local h = id and read_head(id)
    if h and h.member == member then
      local due = redis.pcall('HGET', K.run .. id, 'due')
      if type(due) ~= 'string' then due = h.due ~= '' and h.due or h.created end
      if not oldest or tonumber(due) < oldest then oldest = tonumber(due) end
    end
  end
  return oldest
end

local queues = {}
local notes = redis.call('HGETALL', K.queues)
for i = 1, #notes, 2 do
  local queue = notes[i]
  local due, fresh = lane_lengths(queue)
  local a, b = oldest_in(K.queue .. queue .. '-delayed'), oldest_in(K.queue .. queue)
  local oldest = a and b and math.min(a, b) or a or b
  queues[#queues + 1] = { queue, due, fresh, active[queue] or 0, notes[i + 1], oldest and math.max(0, now - oldest) or -1 }
end

local names = redis.call('HKEYS', K.schedules)
local paused, failing = 0, 0
for _, name in ipairs(names) do
  local s = redis.pcall('HMGET', K.schedule .. name, 'suspended', 'consecutiveFailures', 'pausedAt', 'pausedUntil')
  local held = s[3] and (not s[4] or s[4] == '' or tonumber(s[4]) > now)
  if s[1] == '1' or held then paused = paused + 1 end
  if s[2] and tonumber(s[2]) > 0 then failing = failing + 1 end
end

-- A number that a foreign key hides is shown as 0.
local function number(...)
  local reply = redis.pcall(...)
  return type(reply) == 'number' and reply or 0
end

return {
  now, sum(), queues,
  redis.call('HGET', K.beats, 'promoter') or '', redis.call('HGET', K.beats, 'scheduler') or '',
  { #names, paused, failing }, number('ZCOUNT', K.workers, now - 20000, '+inf'), number('ZCARD', K.inbox),
  number('XLEN', K.rejected), number('ZCARD', K.dead), number('ZCARD', K.finished),
}
