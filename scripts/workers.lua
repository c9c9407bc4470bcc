-- workers: read what the live processes say of themselves.
-- include: clock
-- KEYS  1 routing
-- ARGV  1 ms of silence after which a process is taken for dead
-- Reply per process: id, last beat, {field, value…}
local reply = {}
local live = redis.call('ZRANGE', K.workers, now - ARGV[1], '+inf', 'BYSCORE', 'WITHSCORES')
for i = 1, #live, 2 do
  local fields = redis.pcall('HGETALL', K.worker .. live[i])
  reply[#reply + 1] = live[i]
  reply[#reply + 1] = live[i + 1]
  reply[#reply + 1] = fields.err and {} or fields
end
return reply
