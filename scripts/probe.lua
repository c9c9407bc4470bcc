-- probe: a real write, to know that Redis takes one.
-- include: clock
-- KEYS  1 routing
-- Reply now
redis.call('HSET', K.beats, 'probe', now)
return now
