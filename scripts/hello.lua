-- hello: claim the namespace for a layout of keys, or learn which one it has.
-- KEYS  1 routing
-- ARGV  1 the caller's layout version
-- Reply the namespace's layout version
local layout = redis.call('HGET', K.meta, 'layout')
if layout then return layout end
redis.call('HSET', K.meta, 'layout', ARGV[1])
return ARGV[1]
