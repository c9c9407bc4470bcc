-- poll: read the applied schedules if they are not those known, and beat a
-- scheduler's heart.
-- include: clock
-- KEYS  1 routing
-- ARGV  1 the revision known, or ''   2 '1' to beat the scheduler's heart
-- Reply {now, revision or '' when nothing was ever applied, who applied it, when,
--        per schedule if the revision is another one: name, definition, incarnation, number, cursor, pause began, pause ends}
local meta = redis.call('HMGET', K.meta, 'revision', 'appliedBy', 'appliedAt')
redis.call('HLEN', K.schedules)
if ARGV[2] == '1' then redis.pcall('HSET', K.beats, 'scheduler', now) end
local reply = { now, meta[1] or '', meta[2] or '', meta[3] or '' }
if not meta[1] or meta[1] == ARGV[1] then return reply end
local all = redis.call('HGETALL', K.schedules)
for i = 1, #all, 2 do
  local s = redis.pcall('HMGET', K.schedule .. all[i], 'incarnation', 'number', 'cursor', 'pausedAt', 'pausedUntil')
  reply[#reply + 1] = all[i]
  reply[#reply + 1] = all[i + 1]
  for j = 1, 5 do reply[#reply + 1] = s[j] or '' end
end
return reply
