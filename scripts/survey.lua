-- survey: count by name the jobs at the head of a queue's two lanes, or those that
-- were put off because nobody handled them.
-- include: clock head
-- KEYS  1 routing
-- ARGV  1 queue, or '' for the jobs put off   2 entries of each lane to look at
-- Reply {name, jobs…}
local counts, order, look = {}, {}, tonumber(ARGV[2])

local function count(members, only_put_off)
  if members.err then return end
  for _, member in ipairs(members) do
    local id = string.match(member, '^%x+:[^:]+:(.+)$')
    local h = id and read_head(id)
    if h and h.member == member and (not only_put_off or redis.pcall('HEXISTS', K.run .. id, 'putoff') == 1) then
      if not counts[h.name] then order[#order + 1] = h.name end
      counts[h.name] = (counts[h.name] or 0) + 1
    end
  end
end

if ARGV[1] == '' then
  -- They come back within a minute.
  count(redis.call('ZRANGE', K.delayed, '-inf', now + 60000, 'BYSCORE', 'LIMIT', 0, look), true)
else
  count(redis.pcall('LRANGE', K.queue .. ARGV[1] .. '-delayed', 0, look - 1))
  count(redis.pcall('LRANGE', K.queue .. ARGV[1], 0, look - 1))
end

local reply = {}
for _, name in ipairs(order) do
  reply[#reply + 1] = name
  reply[#reply + 1] = counts[name]
end
return reply
