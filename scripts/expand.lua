-- expand: plan the coming ticks of one schedule as delayed jobs and move its
-- cursor, if the definition, the cursor and the pause are still those the ticks were
-- computed from. A tick whose id is taken has been planned before. Ticks that have
-- passed and will not run are counted, and the newest noted in the history.
-- include: clock wake head note create event
-- KEYS  1 routing
-- ARGV  1 schedule   2 number of its definition   3 cursor   4 new cursor   5 when its pause began, '' for none   6 when that ends
--       7 ticks that will not run   8 the newest of them, '<tick> <reason>' each, oldest first, with commas between
--       then per tick: id, tick ms, queue, when, expiry, kind, tail
-- Reply {'ok', jobs created, new cursor} | {'moved', number, cursor, pause began, pause ends} | {'gone'}
local key = K.schedule .. ARGV[1]
local s = redis.call('HMGET', key, 'number', 'cursor', 'pausedAt', 'pausedUntil', 'keepFailed')
if not s[1] then return { 'gone' } end
if s[1] ~= ARGV[2] or s[2] ~= ARGV[3] or (s[3] or '') ~= ARGV[5] or (s[4] or '') ~= ARGV[6] then
  return { 'moved', s[1], s[2], s[3] or '', s[4] or '' }
end
redis.call('ZCARD', K.planned .. ARGV[1])

-- A tick that no lane can take is counted as missed.
local planned, missed = {}, tonumber(ARGV[7])
for i = 9, #ARGV, 7 do
  local id = ARGV[i]
  if redis.call('EXISTS', K.job .. id) == 1 or redis.call('ZSCORE', K.planned .. ARGV[1], id) then
    -- planned before
  elseif refuses(ARGV[i + 2]) then
    missed = missed + 1
  else
    add(id, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], '', ARGV[i + 5], ARGV[i + 6], true)
    planned[#planned + 1] = ARGV[i + 1]
    planned[#planned + 1] = id
  end
end
create()
redis.call('HSET', key, 'cursor', ARGV[4])
if missed > 0 then
  redis.call('HINCRBY', key, 'missed', missed)
  event('missed', { ARGV[1] }, 'ticks', missed)
end
for tick, reason in string.gmatch(ARGV[8], '(%d+) (%a+)') do
  note_run(ARGV[1], 'missed', s[5], tick, '', tick, 'schedule', 'missed', reason, tick, '', '', '', 0, 0, '', '')
end
redis.call('ZREMRANGEBYSCORE', K.planned .. ARGV[1], '-inf', now)
if #planned > 0 then redis.call('ZADD', K.planned .. ARGV[1], unpack(planned)) end
return { 'ok', #planned / 2, ARGV[4] }
