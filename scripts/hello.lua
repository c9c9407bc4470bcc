-- hello: claim the namespace for a layout of keys, or learn that it has a newer one.
-- KEYS  1 routing
-- ARGV  1 the caller's layout version
-- Reply the namespace's layout version
local layout = redis.call('HGET', K.meta, 'layout')
if layout and tonumber(layout) >= tonumber(ARGV[1]) then return layout end
redis.call('HSET', K.meta, 'layout', ARGV[1])
return ARGV[1]
