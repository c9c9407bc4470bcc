-- reserve: lease waiting jobs whose names this process handles, lane by lane: each
-- queue first up to its quota, then up to the limit. Jobs of other names keep
-- their place and order; only when a lane shows nothing else, a windowful of names
-- that no live process takes from this queue or a thousand that one does, are some
-- put off through the delayed set. Expired jobs end, leftovers are dropped.
-- A job on its last chance before it has lost too many leases is a suspect: it may
-- be what kills its workers. A process runs one of them at a time, so that those
-- that only stood beside it do not share its end; the others wait a second.
-- include: clock head run reject finish wake unlane event
-- KEYS  1 routing
-- ARGV  1 token   2 lease ms   3 limit   4 queue whose wake-up call was taken, or ''   5 the call
--       6 lost leases that make a job a suspect, 0 for none   7 '1' if the process runs one
--       8 number of queues n   9… n times: queue, quota; then the names handled
-- Reply {now in microseconds, 'idle' | 'left' work in a lane | 'again' at once, per job: id, body, '' or '<attempts> <lost> <due>'}
local token, lease, limit, queues = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[8])
local me, number = string.match(token, '^(.*):(%d+)$')
local noted = redis.call('HMGET', K.counts, 'largest', 'fenced')
local largest = tonumber(noted[1] or '0')
-- A reserve that its process has given up on and asked about leases nothing.
if noted[2] and now - noted[2] <= 3600000 then
  local fence = redis.pcall('GET', K.fence .. me)
  if type(fence) == 'string' and tonumber(number) <= (tonumber(fence) or 0) then return { us, 'idle' } end
end
local running = redis.call('ZCARD', K.active)
redis.call('HLEN', K.lease)
local ghosts = redis.call('HLEN', K.ghosts) > 0

local handled = {}
for i = 9 + 2 * queues, #ARGV do handled[ARGV[i]] = true end

local WINDOW, DEEP, BYTES = 128, 1024, 4194304
local WIDE, LONG = 16, string.rep('-', 65)
local budget = { jobs = limit, bytes = BYTES }
local members, ids, bodies, kinds, from = {}, {}, {}, {}, {} -- what is taken
local count = 0
local beats = {}
local find, match, sub = string.find, string.match, string.sub

-- read fetches the bodies of lane entries. Where some may be large it reads only
-- the heads and says so, so that the jobs of others cost little.
local function read(some)
  local texts, keys = {}, {}
  for i = 1, #some do keys[i] = K.job .. (some[i] or '') end
  if largest * #some <= BYTES then return redis.call('MGET', unpack(keys)), false end
  for i, key in ipairs(keys) do
    local text = redis.pcall('GETRANGE', key, 0, 1279)
    texts[i] = type(text) == 'string' and text
  end
  return texts, true
end

-- judge says what to do with a lane entry: 'take', 'keep' (another's), 'end' (too
-- late or spoilt), or drop it: a 'ghost', 'foreign', or a 'leftover' of an earlier
-- job with the same id, which was counted when it ended.
local function judge(member, id, body)
  if not id then return 'foreign' end
  if ghosts and redis.call('HEXISTS', K.ghosts, member) == 1 then return 'ghost' end
  if not body then return match(member, '^%x+:') and 'end' or 'foreign' end
  local kind, arrival, expiry, name = match(body, '^([PX])\t(%x+)\t%d+\t%d*\t(%d*)\t[^\t]*\t([^\t]*)\t')
  if not kind then return 'end' end
  if find(member, arrival, 1, true) ~= 1 then return 'leftover' end
  if expiry ~= '' and now >= tonumber(expiry) and redis.call('ZSCORE', K.expiry, id) then return 'end' end
  if not handled[name] then return 'keep', name end
  return 'take', name, kind
end

-- A lane and how far it has been looked at. Nothing is written before all of them
-- have been.
local lanes, order = {}, {}
local function open(queue, key)
  local l = { key = key, queue = queue, pos = 0, mine = 0, kept = {}, others = {} }
  lanes[key] = l
  order[#order + 1] = l
  return l
end

-- scan walks on in one lane for at most want jobs and returns how many it took.
local function scan(l, want)
  local mine, middle = 0, ':' .. l.queue .. ':'
  local start = 13 + #middle
  while mine < want and budget.bytes > 0 and not l.off do
    local size = #l.kept > 0 and WINDOW or math.min(want - mine, WINDOW)
    -- One more than wanted tells whether something is left behind.
    local entries = redis.pcall('LRANGE', l.key, l.pos, l.pos + size)
    if entries.err then break end
    l.rest = #entries > size
    if l.rest then entries[size + 1] = nil end
    if #entries == 0 then break end
    local some = {}
    for i, member in ipairs(entries) do
      some[i] = #member >= start and find(member, middle, 13, true) == 13 and sub(member, start)
        or match(member, '^%x+:[^:]+:(.+)$') or false
    end
    local passed = #entries
    local texts, cut = read(some)
    for i, member in ipairs(entries) do
      local id, body = some[i], texts[i]
      local verdict, name, kind = judge(member, id, body)
      if verdict == 'take' then
        local bytes = cut and redis.call('STRLEN', K.job .. id) or #body
        if mine == want or bytes > budget.bytes and count > 0 then
          passed, l.rest = i - 1, true
          if mine < want then budget.bytes = 0 end
          break
        end
        if cut then body = redis.call('GET', K.job .. id) end
        mine = mine + 1
        budget.bytes = budget.bytes - bytes
        count = count + 1
        members[count], ids[count], bodies[count], kinds[count], from[count] = member, id, body, kind, l.queue
      elseif verdict == 'keep' then
        l.kept[#l.kept + 1] = { member = member, id = id, name = name }
      else
        l.others[#l.others + 1] = { verdict = verdict, member = member, id = id }
      end
    end
    l.pos = l.pos + passed
    if #l.kept >= WINDOW and mine + l.mine > 0 then break end
    if #l.kept >= WINDOW then
      -- A whole window of others' jobs: look deeper, but only past those that a live
      -- process takes from this queue, since it will come for them.
      local orphans = 0
      for _, e in ipairs(l.kept) do
        local taker = l.queue .. ' ' .. e.name
        if beats[taker] == nil then
          local beat = redis.pcall('ZSCORE', K.names, taker)
          beats[taker] = type(beat) == 'string' and tonumber(beat) > now - 60000
        end
        e.elsewhere = beats[taker]
        if not e.elsewhere then orphans = orphans + 1 end
      end
      if orphans > 0 or l.pos >= DEEP then break end
    end
  end

  l.mine = l.mine + mine
  if l.mine == 0 and #l.kept >= WINDOW and not l.off then
    local off, stay = {}, {}
    for _, e in ipairs(l.kept) do
      if not e.elsewhere or (l.pos >= DEEP and #off < WINDOW) then off[#off + 1] = e else stay[#stay + 1] = e end
    end
    if #off > 0 then l.off, l.kept = off, stay end
  end
  return mine
end

local paused = {}
local names = {}
for q = 1, queues do names[q] = ARGV[7 + 2 * q] end
for q, pause in ipairs(redis.call('HMGET', K.queues, unpack(names))) do paused[q] = pause and pause ~= '' end

-- Two rounds: the quotas, then whatever is left for whoever has work.
local strict = true
for q = 1, queues do if tonumber(ARGV[8 + 2 * q]) < limit then strict = false end end
for round = 1, strict and 1 or 2 do
  for q = 1, queues do
    local quota = round == 1 and math.min(tonumber(ARGV[8 + 2 * q]), budget.jobs) or budget.jobs
    if not paused[q] then
      for _, key in ipairs({ K.queue .. names[q] .. '-delayed', K.queue .. names[q] }) do
        if quota > 0 and budget.jobs > 0 then
          local mine = scan(lanes[key] or open(names[q], key), quota)
          quota = quota - mine
          budget.jobs = budget.jobs - mine
        end
      end
    end
  end
end

-- What each job has been through.
local runs = {}
for i = 1, count do runs[i] = K.run .. ids[i] end
local touched = count > 0 and redis.call('EXISTS', unpack(runs)) > 0
local spoils = touched -- whether more is written than what every reserve writes
for _, l in ipairs(order) do spoils = spoils or l.off or #l.others > 0 end
if spoils then
  can_finish()
  redis.call('ZCARD', K.delayed)
end

-- clear sees to entries that were neither taken nor kept. They have been popped: a
-- removal came first, so a full Redis takes what follows.
local function clear(entries)
  for _, e in ipairs(entries) do
    if e.verdict == 'ghost' then
      drop_ghost(e.member)
    elseif e.verdict == 'end' then
      local h, why = read_head(e.id)
      if h then
        finish(e.id, h, 'expired', 'deadline')
        event('expired', { e.id }, 'reason', 'deadline')
      else
        finish_spoilt(e.id, why)
      end
    elseif e.verdict == 'leftover' then
      reject('an earlier job with this id left it behind', e.member)
    else
      reject('no job of bide: not <arrival>:<queue>:<id>', e.member)
    end
  end
end

-- put_off sends jobs that others are to take back to the delayed set without
-- touching their due time: for a second, and twice as long each time, up to a
-- minute, where no live process takes them.
local function put_off(entries)
  for _, e in ipairs(entries) do
    local h = read_head(e.id)
    local run = get_run(e.id, 'putoff', 'due')
    local times = count_of(run[1])
    local pause = 1000
    if not e.elsewhere then
      pause = math.min(60000, 1000 * 2 ^ times)
      times = times + 1
    end
    redis.call('ZADD', K.delayed, now + pause, e.member)
    set_run(e.id, 'putoff', times, 'due', run[2] or (h and (h.due ~= '' and h.due or h.created)) or now)
  end
end

local again = false -- entries were cleared away and more may be behind them
for _, l in ipairs(order) do
  if l.mine + #l.others > 0 or l.off then
    if l.mine == 0 then again = true end
    redis.call('LPOP', l.key, tostring(l.pos))
    for i = #l.kept, 1, -1 do redis.call('LPUSH', l.key, l.kept[i].member) end
    if l.off then put_off(l.off) end
    clear(l.others)
  end
end

-- What is left behind is passed on, but only by a process that took something or
-- was woken for it: a wake-up call nobody can use is handed to each process once.
local unseen = {}
for q = 1, queues do
  if not paused[q] then
    for _, key in ipairs({ K.queue .. names[q] .. '-delayed', K.queue .. names[q] }) do
      local l = lanes[key]
      if not l or l.rest == nil then
        unseen[#unseen + 1] = key
      else
        lanes[key] = l.rest or #l.kept > 0
      end
    end
  end
end
if #unseen > 0 then
  local some = redis.call('EXISTS', unpack(unseen)) > 0
  for _, key in ipairs(unseen) do
    local length = some and redis.pcall('LLEN', key)
    lanes[key] = type(length) == 'number' and length > 0
  end
end
local left = false
for q = 1, queues do
  if not paused[q] and (lanes[K.queue .. names[q] .. '-delayed'] or lanes[K.queue .. names[q]]) then
    left = true
    if count > 0 or limit == 0 then
      wake(K.wake .. names[q])
    elseif ARGV[4] == names[q] and not find(ARGV[5], me, 1, true) then
      wake(K.wake .. names[q], ARGV[5] .. ' ' .. me)
    end
  end
end

local reply = { us, (again and count == 0 or budget.bytes <= 0) and 'again' or left and 'left' or 'idle' }
if count == 0 then return reply end

local leases, scores, expiries = {}, {}, {}
local chances, suspect = tonumber(ARGV[6]), ARGV[7] == '1'
local values, expires, begun = {}, string.format('%.0f', now + lease), tostring(now)
local n, r = 0, 2
for i = 1, count do
  local id, kind, info, aside = ids[i], kinds[i], '', false
  if touched then
    local run = get_run(id, 'attempts', 'lost', 'due', 'back', 'putoff')
    if chances > 0 and count_of(run[2]) >= chances then
      if suspect then aside = true else suspect = true end
    end
    if run[1] or run[2] or run[3] or run[4] or run[5] then
      info = (run[1] or '0') .. ' ' .. (run[2] or '0') .. ' ' .. (run[3] or '')
      if kind == 'P' then kind = 'R' end
    end
  end
  if aside then
    redis.call('ZADD', K.delayed, now + 1000, members[i])
    reply[2] = 'again'
  else
    if kind == 'X' then expiries[#expiries + 1] = id end
    local what = from[i] .. ' ' .. kind
    local value = values[what]
    if not value then
      value = token .. ' ' .. begun .. ' ' .. what
      values[what] = value
    end
    leases[n + 1], leases[n + 2] = id, value
    scores[n + 1], scores[n + 2] = expires, id
    reply[r + 1], reply[r + 2], reply[r + 3] = id, bodies[i], info
    n, r = n + 2, r + 3
  end
end
if n == 0 then return reply end
-- Redis keeps what is small as one flat list that every command walks. Something too
-- long for such a list turns it into a real hash or set, until it is empty again.
local widens = running < WIDE and running + n / 2 >= WIDE
if widens then
  leases[n + 1], leases[n + 2] = LONG, ''
  scores[n + 1], scores[n + 2] = '0', LONG
end
redis.call('HSET', K.lease, unpack(leases))
redis.call('ZADD', K.active, unpack(scores))
if widens then
  redis.call('HDEL', K.lease, LONG)
  redis.call('ZREM', K.active, LONG)
end
-- A job that has been started cannot be too late to start any more.
if #expiries > 0 then redis.call('ZREM', K.expiry, unpack(expiries)) end
return reply
