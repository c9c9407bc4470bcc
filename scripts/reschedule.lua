-- reschedule: give a delayed job another due time.
-- include: clock head run place wake event
-- KEYS  1 routing
-- ARGV  1 id   2 when ('+<ms>' from now | '<unix ms>')
-- Reply {'ok', 'delayed', due} | {'missing'} | {'wrong_state', state} | {'spoilt', why}
local id = ARGV[1]
if redis.call('EXISTS', K.job .. id) == 0 then return { 'missing' } end
local h, why = read_head(id)
if not h then return { 'spoilt', why } end
local state = place(id, h)
if state ~= 'delayed' then return { 'wrong_state', state } end
local due = math.max(tonumber(instant(ARGV[2])), now)
local text = string.format('%.0f', due)
local first = redis.call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')
redis.call('ZADD', K.delayed, due, h.member)
set_run(id, 'due', text)
if due < tonumber(first[2]) then wake(K.wake_promoter) end
event('rescheduled', { id })
return { 'ok', 'delayed', text }
