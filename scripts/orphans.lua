-- orphans: look at one page of one place, changing nothing, for what has lost its
-- counterpart. The kinds are those of scripts/orphans.go; repair mends each.
-- include: clock head place
-- KEYS  1 routing
-- ARGV  1 place ('active' | 'lease' | 'delayed' | 'dead' | 'finished' | 'lane' | 'ghosts' | 'expiry' | 'planned' | 'open' | 'held' | 'makeup' | 'counts',
--         by a walk over keys 'body' | 'run' | 'errors' | 'unique' | 'queue',
--         or of the entries that follow: 'none': in no lane? 'twice': in the lane more than once?)
--       2 lane or schedule if the place is of one   3 cursor, '0' at the start   4 entries to look at; then entries…
-- Reply {cursor of the next page or '0' at the end, entries looked at, {kind, id, place or lane, entry…}, lane entries seen, or those that should be in a lane}
local from, of, cursor, look = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local after, looked, found, entries = '0', 0, {}, {}

local function note(kind, id, where, entry)
  found[#found + 1] = kind
  found[#found + 1] = id
  found[#found + 1] = where or from
  found[#found + 1] = entry or id
end

local function id_of(member) return string.match(member, '^%x+:[^:]+:(.+)$') end

-- elsewhere tells whether a job stands in another place than this one too.
local function elsewhere(id, h, here)
  for name, set in pairs({ active = K.active, dead = K.dead, finished = K.finished }) do
    if name ~= here and redis.call('ZSCORE', set, id) then return true end
  end
  return here ~= 'delayed' and redis.call('ZSCORE', K.delayed, h.member) ~= false
end

-- entry judges an entry of the delayed set or of a lane.
local function entry(member, where)
  local id = id_of(member)
  local h = id and read_head(id)
  if not h then
    note('bodiless', id or member, where, member)
  elseif h.member ~= member then
    note('leftover', id, where, member)
  elseif elsewhere(id, h, from == 'delayed' and 'delayed') then
    note('doubled', id, where, member)
  end
end

-- in_lane tells whether an entry stands in a lane of its queue; nil if one is too
-- long to be walked.
local function in_lane(h)
  for _, lane in ipairs({ K.queue .. h.queue .. '-delayed', K.queue .. h.queue }) do
    local length = redis.pcall('LLEN', lane)
    if type(length) == 'number' then
      if length > look then return nil end
      if redis.call('LPOS', lane, h.member) then return true end
    end
  end
  return false
end

-- each walks one page of a set or hash with a step of 2.
local function each(command, key, judge)
  local page = redis.pcall(command, key, cursor, 'COUNT', look)
  if page.err then return end
  after, looked = page[1], #page[2] / 2
  for i = 1, #page[2], 2 do judge(page[2][i], page[2][i + 1]) end
end

-- keys walks one page of the keys that begin with prefix. What the walk passes
-- counts, whoever's it is.
local function keys(prefix, judge)
  local page = redis.call('SCAN', cursor, 'MATCH', prefix .. '*', 'COUNT', look)
  after, looked = page[1], page[1] == '0' and #page[2] or look
  for _, key in ipairs(page[2]) do judge(string.sub(key, #prefix + 1), key) end
end

if from == 'active' then
  each('ZSCAN', K.active, function(id)
    local h = read_head(id)
    if not h then
      note('bodiless', id)
    elseif redis.call('HEXISTS', K.lease, id) == 0 then
      note('unleased', id)
    elseif redis.call('ZSCORE', K.dead, id) or redis.call('ZSCORE', K.finished, id) then
      note('doubled', id)
    end
  end)
elseif from == 'lease' then
  each('HSCAN', K.lease, function(id)
    if not redis.call('ZSCORE', K.active, id) then note('idle', id) end
  end)
elseif from == 'delayed' then
  each('ZSCAN', K.delayed, function(member) entry(member) end)
elseif from == 'dead' or from == 'finished' then
  each('ZSCAN', from == 'dead' and K.dead or K.finished, function(id)
    local h = read_head(id)
    if not h then
      note('bodiless', id)
    elseif from == 'finished' and redis.call('ZSCORE', K.dead, id) then
      note('doubled', id)
    end
  end)
elseif from == 'lane' then
  local members = redis.pcall('LRANGE', K.queue .. of, cursor, cursor + look - 1)
  if not members.err then
    looked, entries = #members, members
    if looked == look then after = string.format('%.0f', cursor + looked) end
    for _, member in ipairs(members) do
      if redis.call('HEXISTS', K.ghosts, member) == 0 then entry(member, of) end
    end
  end
elseif from == 'ghosts' then
  -- A ghost whose entry has gone, or whose job lives, counts off what is not there.
  each('HSCAN', K.ghosts, function(member, lane)
    local id = id_of(member)
    local h = id and read_head(id)
    local length = redis.pcall('LLEN', lane)
    if h and h.member == member and place(id, h) == 'waiting' then
      note('ghost', id, lane, member)
    elseif type(length) ~= 'number' or length <= 20000 and not redis.call('LPOS', lane, member) then
      note('ghost', id or member, lane, member)
    end
  end)
elseif from == 'counts' then
  -- The ghosts of each lane against their number. Too many are counted another time.
  if redis.call('HLEN', K.ghosts) <= 20000 then
    local ghosts = {}
    for _, lane in ipairs(redis.call('HVALS', K.ghosts)) do ghosts[lane] = (ghosts[lane] or 0) + 1 end
    local counts = redis.call('HGETALL', K.counts)
    local noted = {}
    for i = 1, #counts, 2 do
      local lane = string.match(counts[i], '^ghosts:(.*)$')
      if lane then
        noted[lane] = true
        if tonumber(counts[i + 1]) ~= (ghosts[lane] or 0) then note('miscounted', lane) end
      end
    end
    for lane in pairs(ghosts) do
      if not noted[lane] then note('miscounted', lane) end
    end
  end
elseif from == 'expiry' then
  each('ZSCAN', K.expiry, function(id)
    local h = read_head(id)
    local state = h and place(id, h)
    if not h or h.expiry == '' or state ~= 'delayed' and state ~= 'waiting' then note('outlived', id) end
  end)
elseif from == 'planned' then
  -- A planned tick stays noted until its instant, whatever becomes of its job.
  each('ZSCAN', K.planned .. of, function(id, tick)
    local h = read_head(id)
    if tonumber(tick) < now - 60000 and not (h and redis.call('ZSCORE', K.delayed, h.member)) then note('unplanned', id, of) end
  end)
elseif from == 'open' or from == 'held' or from == 'makeup' then
  -- What waits for an open run is delayed.
  each('ZSCAN', ({ open = K.open, held = K.held, makeup = K.makeup })[from] .. of, function(id)
    local h = read_head(id)
    local state = h and h.schedule == of and place(id, h)
    if state ~= 'delayed' and (from ~= 'open' or state ~= 'waiting' and state ~= 'active') then note('vanished', id, of, from) end
  end)
elseif from == 'body' then
  keys(K.job, function(id)
    local h = read_head(id)
    if h and place(id, h) == 'waiting' then entries[#entries + 1] = h.member end
  end)
elseif from == 'run' or from == 'errors' then
  keys(from == 'run' and K.run or K.errors, function(id)
    if redis.call('EXISTS', K.job .. id) == 0 then note('remains', id) end
  end)
elseif from == 'unique' then
  keys(K.unique, function(name, key)
    local holder = redis.pcall('GET', key)
    if type(holder) == 'string' then
      local h = read_head(holder)
      local state = h and h.unique == name and place(holder, h)
      if not ({ delayed = true, waiting = true, active = true })[state or ''] then note('locked', name, from, holder) end
    end
  end)
elseif from == 'queue' then
  keys(K.queue, function(name, key)
    local queue = string.match(name, '^(.*)%-delayed$') or name
    if type(redis.pcall('LLEN', key)) == 'number' and redis.call('HEXISTS', K.queues, queue) == 0 then note('unlisted', queue) end
  end)
elseif from == 'twice' then
  for i = 5, #ARGV do
    local standing = redis.pcall('LPOS', K.queue .. of, ARGV[i], 'COUNT', 2, 'MAXLEN', look)
    if not standing.err and #standing > 1 then note('doubled', id_of(ARGV[i]) or ARGV[i], of, ARGV[i]) end
  end
else
  for i = 5, #ARGV do
    local h = read_head(ARGV[i])
    if h and place(ARGV[i], h) == 'waiting' and redis.call('HEXISTS', K.lease, ARGV[i]) == 0 and in_lane(h) == false then
      note('placeless', ARGV[i], 'none')
    end
  end
end
return { after, looked, found, entries }
