-- orphans: look at one page of one place, changing nothing, for what has lost its
-- counterpart: an active entry without a lease ('unleased'), a lease without an
-- active entry ('idle'), an entry without a readable body ('bodiless'), a body
-- that stands nowhere ('placeless').
-- include: head place
-- KEYS  1 routing
-- ARGV  1 place ('active' | 'lease' | 'delayed' | 'dead' | 'finished' | 'lane' | 'body' | 'none': look for the bodies of ids in their lanes)
--       2 lane if that is the place   3 cursor, '0' at the start   4 entries to look at; then ids… if the place is 'none'
-- Reply {cursor of the next page or '0' at the end, entries looked at, {kind, id…}, lane entries seen, or those that should be in a lane}
local from, cursor, look = ARGV[1], ARGV[3], tonumber(ARGV[4])
local sets = { active = K.active, delayed = K.delayed, dead = K.dead, finished = K.finished }
local after, looked, found, entries = '0', 0, {}, {}

local function note(kind, id)
  found[#found + 1] = kind
  found[#found + 1] = id
end

-- entry judges an entry of the delayed set or of a lane.
local function entry(member)
  local id = string.match(member, '^%x+:[^:]+:(.+)$')
  local h = id and read_head(id)
  if not h or h.member ~= member then note('bodiless', id or member) end
end

if sets[from] then
  local page = redis.call('ZSCAN', sets[from], cursor, 'COUNT', look)
  after, looked = page[1], #page[2] / 2
  for i = 1, #page[2], 2 do
    local member = page[2][i]
    if from == 'delayed' then
      entry(member)
    elseif from == 'active' and redis.call('HEXISTS', K.lease, member) == 0 then
      note('unleased', member)
    elseif not read_head(member) then
      note('bodiless', member)
    end
  end
elseif from == 'lease' then
  local page = redis.call('HSCAN', K.lease, cursor, 'COUNT', look)
  after, looked = page[1], #page[2] / 2
  for i = 1, #page[2], 2 do
    if not redis.call('ZSCORE', K.active, page[2][i]) then note('idle', page[2][i]) end
  end
elseif from == 'lane' then
  local members = redis.pcall('LRANGE', K.queue .. ARGV[2], cursor, cursor + look - 1)
  if not members.err then
    looked, entries = #members, members
    if looked == look then after = string.format('%.0f', cursor + looked) end
    for _, member in ipairs(members) do
      if redis.call('HEXISTS', K.ghosts, member) == 0 then entry(member) end
    end
  end
elseif from == 'body' then
  local page = redis.call('SCAN', cursor, 'MATCH', K.job .. '*', 'COUNT', look)
  -- What the walk passes counts, whoever's it is.
  after, looked = page[1], page[1] == '0' and #page[2] or look
  for _, key in ipairs(page[2]) do
    local id = string.sub(key, #K.job + 1)
    local h = read_head(id)
    if h and place(id, h) == 'waiting' then entries[#entries + 1] = h.member end
  end
else
  for i = 5, #ARGV do
    local h = read_head(ARGV[i])
    if h and place(ARGV[i], h) == 'waiting' then
      local lost = true
      for _, lane in ipairs({ K.queue .. h.queue .. '-delayed', K.queue .. h.queue }) do
        local length = redis.pcall('LLEN', lane)
        if type(length) == 'number' and (length > look or redis.call('LPOS', lane, h.member)) then lost = false end
      end
      if lost then note('placeless', ARGV[i]) end
    end
  end
end
return { after, looked, found, entries }
