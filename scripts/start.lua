-- start: run a schedule now. It obeys the schedule's policy unless it is forced.
-- include: clock head run reject wake event pull note finish place unlane ask rules admit create
-- KEYS  1 routing
-- ARGV  1 schedule   2 number of its definition   3 '1' to force it   4 id   5 queue   6 kind   7 tail
-- Reply {'ok', state, due} | {'moved', number} | {'missing'} | {'queues'} | {'spoilt', key}
local key, id, queue = K.schedule .. ARGV[1], ARGV[4], ARGV[5]
local number = redis.call('HGET', key, 'number')
if not number then return { 'missing' } end
if number ~= ARGV[2] then return { 'moved', number } end
if redis.call('EXISTS', K.job .. id) == 1 then -- the call is a repetition
  local h = read_head(id)
  return { 'ok', h and place(id, h) or 'waiting', h and h.due or '' }
end
local refused = refuses(queue)
if refused then return { refused, K.queue .. queue } end
if type(redis.pcall('LLEN', K.queue .. queue .. '-delayed')) ~= 'number' then return { 'spoilt', K.queue .. queue .. '-delayed' } end
can_finish()
redis.call('ZCARD', K.delayed)
redis.call('ZCARD', K.active)
redis.call('HLEN', K.lease)
redis.call('HLEN', K.ghosts)

local due = string.format('%.0f', now)
add(id, queue, due, '', '', ARGV[6], ARGV[7], true)
create()
local h = read_head(id)
redis.call('ZREM', K.delayed, h.member)
local outcome = admit(id, h, ARGV[3] == '1')
if outcome == 'lane' then
  redis.call('RPUSH', K.queue .. queue .. '-delayed', h.member)
  filled(queue)
end
return { 'ok', ({ lane = 'waiting', held = 'delayed' })[outcome] or outcome, due }
