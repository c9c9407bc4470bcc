-- beat: a live process says what it is and does; those silent for an hour are
-- forgotten.
-- include: clock
-- KEYS  1 routing
-- ARGV  1 worker id   2 '1' to say good-bye   3 number of names n, n names, number of queues m, m queues; then field, value…
-- Reply now
local id = ARGV[1]
redis.call('ZCARD', K.workers)
redis.call('HLEN', K.worker .. id)
redis.call('HLEN', K.queues)
if ARGV[2] == '1' then
  redis.call('ZREM', K.workers, id)
  redis.call('DEL', K.worker .. id, K.wake_worker .. id)
  return now
end
local names = tonumber(ARGV[3])
local at = 4 + names
for i = at + 1, at + tonumber(ARGV[at]) do
  for n = 4, 3 + names do redis.pcall('ZADD', K.names, now, ARGV[i] .. ' ' .. ARGV[n]) end
  if redis.call('HEXISTS', K.queues, ARGV[i]) == 0 and redis.call('HLEN', K.queues) < 1000 then
    redis.call('HSET', K.queues, ARGV[i], '')
  end
end
at = at + tonumber(ARGV[at]) + 1
redis.call('ZADD', K.workers, now, id)
redis.call('HSET', K.worker .. id, unpack(ARGV, at))
for _, old in ipairs(redis.call('ZRANGE', K.workers, '-inf', now - 3600000, 'BYSCORE', 'LIMIT', 0, 100)) do
  redis.call('ZREM', K.workers, old)
  redis.call('DEL', K.worker .. old)
end
redis.pcall('ZREMRANGEBYSCORE', K.names, '-inf', now - 86400000)
return now
