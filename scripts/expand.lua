-- expand: plan the coming ticks of one schedule as delayed jobs and move its
-- cursor, if both the definition and the cursor are still those the ticks were
-- computed from. A tick whose id is taken has been planned before.
-- include: clock wake head create event
-- KEYS  1 routing
-- ARGV  1 schedule   2 number of its definition   3 cursor   4 new cursor   5 missed ticks that will not run
--       then per tick: id, tick ms, queue, when, expiry, kind, tail
-- Reply {'ok', jobs created, new cursor} | {'moved', number, cursor} | {'gone'}
local key = K.schedule .. ARGV[1]
local s = redis.call('HMGET', key, 'number', 'cursor')
if not s[1] then return { 'gone' } end
if s[1] ~= ARGV[2] or s[2] ~= ARGV[3] then return { 'moved', s[1], s[2] } end
redis.call('ZCARD', K.planned .. ARGV[1])

-- A tick that no lane can take is counted as missed.
local planned, missed = {}, tonumber(ARGV[5])
for i = 6, #ARGV, 7 do
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
redis.call('ZREMRANGEBYSCORE', K.planned .. ARGV[1], '-inf', now)
if #planned > 0 then redis.call('ZADD', K.planned .. ARGV[1], unpack(planned)) end
return { 'ok', #planned / 2, ARGV[4] }
