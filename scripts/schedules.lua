-- schedules: read how schedules are, for people.
-- include: clock
-- KEYS  1 routing
-- ARGV  their names…
-- Reply {now, who applied the set, when, per schedule {name, definition, open runs, waiting runs, start of the newest active run or '', its fields…}}
local meta = redis.call('HMGET', K.meta, 'appliedBy', 'appliedAt')
local reply = { now, meta[1] or '', meta[2] or '' }

local function size(set)
  local n = redis.pcall('ZCARD', set)
  return type(n) == 'number' and n or 0
end

for _, name in ipairs(ARGV) do
  local definition = redis.call('HGET', K.schedules, name)
  local fields = redis.pcall('HGETALL', K.schedule .. name)
  if definition then
    local open, newest = size(K.open .. name), ''
    if open > 0 then
      for _, id in ipairs(redis.call('ZRANGE', K.open .. name, -20, -1)) do
        local started = string.match(redis.call('HGET', K.lease, id) or '', '^%S+ (%d+) ')
        if started and (newest == '' or tonumber(started) > tonumber(newest)) then newest = started end
      end
    end
    reply[#reply + 1] = { name, definition, open, size(K.held .. name) + size(K.makeup .. name), newest, fields.err and {} or fields }
  end
end
return reply
