-- inspect: read one job whole.
-- include: head place show
-- KEYS  1 routing
-- ARGV  1 id
-- Reply {} | {'spoilt', why} | {id, state, score, body, run fields, lease, failures}
if redis.call('EXISTS', K.job .. ARGV[1]) == 0 then return {} end
local h, why = read_head(ARGV[1])
if not h then return { 'spoilt', why } end
return show(ARGV[1], h, true)
