-- pause: stop reserving from a queue, or go on with it ('' as note).
-- include: clock wake event
-- KEYS  1 routing
-- ARGV  1 queue   2 who, when ("at":0, to be filled in) and why as JSON, or ''
-- Reply 'ok' | 'queues' (1,000 are in use already)
if redis.call('HEXISTS', K.queues, ARGV[1]) == 0 and redis.call('HLEN', K.queues) >= 1000 then return 'queues' end
-- "by" comes first and is JSON, so an unescaped quote ends it: the first "at":0 is ours.
local note = string.gsub(ARGV[2], '"at":0', '"at":' .. now, 1)
redis.call('HSET', K.queues, ARGV[1], note)
if note == '' then wake(K.wake .. ARGV[1]) end
event(note == '' and 'resumed' or 'paused', { ARGV[1] })
return 'ok'
