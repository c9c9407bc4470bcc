-- list: read one page of one place, in its order.
-- include: head place show
-- KEYS  1 routing
-- ARGV  1 place ('active' | 'delayed' | 'dead' | 'finished' | 'lane')   2 lane if that is the place
--       3 where the page before ended ('' for the start; an index in a lane, else '<score> <member>')
--       4 entries to look at   5 jobs wanted   6 queue, 7 name, 8 schedule, 9 state to match, '' for any
-- Reply {where this page ended or '' at the end of the place, entries looked at, jobs as inspect shows them, heads only}
local at, look, want = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local sets = { active = K.active, delayed = K.delayed, dead = K.dead, finished = K.finished }
local set = sets[ARGV[1]]
local entries, start, after = {}, 0, nil

if not set then
  start = tonumber(at) or 0
  entries = redis.call('LRANGE', K.queue .. ARGV[2], start, start + look - 1)
else
  local score, member = string.match(at, '^(%S+) (.*)$')
  if score then
    local rank = redis.call('ZRANK', set, member)
    if rank and redis.call('ZSCORE', set, member) == score then
      start = rank + 1
    else
      -- The entry has gone: go on behind where it stood.
      start, after = redis.call('ZCOUNT', set, '-inf', '(' .. score), { score, member }
    end
  end
  entries = redis.call('ZRANGE', set, start, start + look - 1, 'WITHSCORES')
end

local step = set and 2 or 1
local found, looked, last = {}, 0, nil
for i = 1, #entries, step do
  local entry = entries[i]
  looked = looked + 1
  last = set and entries[i + 1] .. ' ' .. entry or tostring(start + looked)
  local id = entry
  if not set or ARGV[1] == 'delayed' then id = string.match(entry, '^%x+:[^:]+:(.+)$') end
  local h = id and read_head(id)
  if h and not (after and entries[i + 1] == after[1] and entry <= after[2])
    and (ARGV[6] == '' or h.queue == ARGV[6]) and (ARGV[7] == '' or h.name == ARGV[7])
    and (ARGV[8] == '' or h.schedule == ARGV[8]) then
    local job = show(id, h, false)
    -- A ghost in a lane is a job that has ended, or another one's entry.
    if (ARGV[9] == '' or job[2] == ARGV[9]) and (set or job[2] == 'waiting' and h.member == entry) then
      found[#found + 1] = job
      if #found >= want then break end
    end
  end
end
if looked * step >= #entries and #entries < look * step then last = '' end
return { last or '', looked, unpack(found) }
