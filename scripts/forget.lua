-- forget: remove a dead job with all that is kept of it. It stays counted.
-- include: head place
-- KEYS  1 routing
-- ARGV  1 id
-- Reply {'ok', 'dead'} | {'missing'} | {'wrong_state', state} | {'spoilt', why}
local id = ARGV[1]
if redis.call('EXISTS', K.job .. id) == 0 then return { 'missing' } end
local h, why = read_head(id)
if not h then return { 'spoilt', why } end
local state = place(id, h)
if state ~= 'dead' then return { 'wrong_state', state } end
redis.call('ZREM', K.dead, id)
redis.call('UNLINK', K.job .. id, K.run .. id, K.errors .. id)
return { 'ok', 'dead' }
