-- halt: pause a schedule, or end its pause.
-- include: clock event
-- KEYS  1 routing
-- ARGV  1 schedule   2 'pause' | 'resume'   3 who   4 why   5 until ('' | '+<ms>' from now | '<unix ms>')
-- Reply {'ok', now, pause ends, '' for never, and of the pause that was in force when it began, or '', who, why, its end} | {'missing'} | {'past', now}
local key = K.schedule .. ARGV[1]
local s = redis.call('HMGET', key, 'number', 'pausedAt', 'pausedUntil', 'consecutiveFailures', 'pausedBy', 'pausedReason')
if not s[1] then return { 'missing' } end
local held = s[2] and (not s[3] or s[3] == '' or tonumber(s[3]) > now)
local till = instant(ARGV[5])
-- write begins with a removal, undone at once: a full Redis takes it.
local function write(...)
  redis.call('HDEL', key, 'number')
  redis.call('HSET', key, 'number', s[1], ...)
end

if ARGV[2] == 'pause' then
  if till ~= '' and tonumber(till) <= now then return { 'past', now } end
  write('pausedAt', now, 'pausedUntil', till, 'pausedBy', ARGV[3], 'pausedReason', ARGV[4])
  event('paused', { ARGV[1] }, 'by', ARGV[3], 'reason', ARGV[4])
elseif held then
  -- The span stays noted: ticks in it that nobody has looked at yet are not made up for.
  write('pausedUntil', now, 'forgiven', s[4] or 0)
  event('resumed', { ARGV[1] }, 'by', ARGV[3])
end
return { 'ok', now, till, held and s[2] or '', held and s[5] or '', held and s[6] or '', held and s[3] or '' }
