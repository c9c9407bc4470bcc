-- reserve: lease waiting jobs whose names this process handles, lane by lane: each
-- queue first up to its quota, then up to the limit. Jobs of other names keep
-- their place and order; only when a lane shows nothing else, a windowful of names
-- that no live process takes from this queue or a thousand that one does, are some
-- put off through the delayed set. Expired jobs end, leftovers are dropped.
-- A job on its last chance before it has lost too many leases is a suspect: it may
-- be what kills its workers. A process runs one of them at a time, so that those
-- that only stood beside it do not share its end; the others wait a second.
-- include: clock head previous run reject wake event pull note finish unlane
-- KEYS  1 routing
-- ARGV  1 token   2 lease ms   3 limit   4 queue whose wake-up call was taken, or ''   5 the call
--       6 lost leases that make a job a suspect, 0 for none   7 '1' if the process runs one
--       8 number of queues n   9… n times: queue, quota; then the names handled
-- Reply {now in microseconds, 'idle' | 'left' work in a lane | 'again' at once, per job: id, body, '' or '<attempts> <lost> <due>[ <previous run>]'}
local token, lease, limit, queues = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[8])
local handled = {}
for i = 9 + 2 * queues, #ARGV do handled[ARGV[i]] = true end

local WINDOW, DEEP, BYTES = 128, 1024, 4194304
local budget = { jobs = limit, bytes = BYTES }
local taken = {}   -- {member, id, body, queue}
local match, sub = string.match, string.sub
local again = false -- entries were cleared away and more may be behind them
local beats = {}
local ghosts = redis.call('HLEN', K.ghosts) > 0
local largest = tonumber(redis.call('HGET', K.counts, 'largest') or '0')
can_finish()
redis.call('ZCARD', K.delayed)
redis.call('ZCARD', K.active)
redis.call('HLEN', K.lease)

-- bodies reads the bodies of lane entries. Where some may be large it reads only
-- the heads and says so, so that the jobs of others cost little.
local function bodies(members, ids)
  local texts, keys = {}, {}
  for i = 1, #members do keys[i] = K.job .. (ids[i] or '') end
  if largest * #members <= BYTES then return redis.call('MGET', unpack(keys)), false end
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
  if not body then return 'end' end
  local kind, arrival, expiry, name = match(body, '^([PX])\t(%x+)\t%d+\t%d*\t(%d*)\t[^\t\n]*\t([^\t\n]*)\t')
  if not kind then return 'end' end
  if sub(member, 1, #arrival) ~= arrival then return 'leftover' end
  if expiry ~= '' and now >= tonumber(expiry) and redis.call('ZSCORE', K.expiry, id) then return 'end' end
  if not handled[name] then return 'keep', name end
  return 'take', name, kind
end

-- clear sees to the entries that were neither taken nor kept. They have been
-- popped: a removal came first, so a full Redis takes what follows.
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

-- scan walks one lane for at most want jobs and returns how many it took.
local function scan(queue, lane, want)
  local kept, others, pos, orphans, mine = {}, {}, 0, 0, 0
  while mine < want and budget.bytes > 0 do
    local size = #kept > 0 and WINDOW or math.min(want - mine, WINDOW)
    local members = redis.pcall('LRANGE', lane, pos, pos + size - 1)
    if members.err or #members == 0 then break end
    local count, ids = #members, {}
    for i = 1, count do ids[i] = match(members[i], '^%x+:[^:]+:(.+)$') end
    local texts, cut = bodies(members, ids)
    for i, member in ipairs(members) do
      local body, id = texts[i], ids[i]
      local verdict, name, kind = judge(member, id, body)
      local bytes = verdict == 'take' and (cut and redis.call('STRLEN', K.job .. id) or #body)
      if bytes and (mine == want or bytes > budget.bytes and #taken > 0) then
        count = i - 1
        if mine < want then budget.bytes = 0 end
        break
      elseif bytes then
        if cut then body = redis.call('GET', K.job .. id) end
        mine = mine + 1
        budget.bytes = budget.bytes - bytes
        taken[#taken + 1] = { member, id, body, queue, kind }
      elseif verdict == 'keep' then
        kept[#kept + 1] = { member = member, id = id, name = name }
      else
        others[#others + 1] = { verdict = verdict, member = member, id = id }
      end
    end
    pos = pos + count
    if #kept >= WINDOW and mine > 0 then break end
    if #kept >= WINDOW then
      -- A whole window of others' jobs: look deeper, but only past those that a live
      -- process takes from this queue, since it will come for them.
      orphans = 0
      for _, e in ipairs(kept) do
        local taker = queue .. ' ' .. e.name
        if beats[taker] == nil then
          local beat = redis.pcall('ZSCORE', K.names, taker)
          beats[taker] = type(beat) == 'string' and tonumber(beat) > now - 60000
        end
        e.elsewhere = beats[taker]
        if not e.elsewhere then orphans = orphans + 1 end
      end
      if orphans > 0 or pos >= DEEP then break end
    end
  end

  if mine == 0 and #kept >= WINDOW then
    local off, stay = {}, {}
    for _, e in ipairs(kept) do
      if not e.elsewhere or (pos >= DEEP and #off < WINDOW) then off[#off + 1] = e else stay[#stay + 1] = e end
    end
    if #off > 0 then
      redis.call('LPOP', lane, pos)
      for i = #stay, 1, -1 do redis.call('LPUSH', lane, stay[i].member) end
      put_off(off)
      clear(others)
      again = true
      return 0
    end
  end
  if mine + #others > 0 then
    if mine == 0 then again = true end
    redis.call('LPOP', lane, pos)
    for i = #kept, 1, -1 do redis.call('LPUSH', lane, kept[i].member) end
    clear(others)
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
      for _, lane in ipairs({ K.queue .. names[q] .. '-delayed', K.queue .. names[q] }) do
        if quota > 0 and budget.jobs > 0 then
          local mine = scan(names[q], lane, quota)
          quota = quota - mine
          budget.jobs = budget.jobs - mine
        end
      end
    end
  end
end

-- What is left behind is passed on, but only by a process that took something or
-- was woken for it: a wake-up call nobody can use is handed to each process once.
local me = string.match(token, '^[^:]+')
local left = false
for q = 1, queues do
  local due, fresh = redis.pcall('LLEN', K.queue .. names[q] .. '-delayed'), redis.pcall('LLEN', K.queue .. names[q])
  if not paused[q] and (type(due) == 'number' and due > 0 or type(fresh) == 'number' and fresh > 0) then
    left = true
    if #taken > 0 or limit == 0 then
      wake(K.wake .. names[q])
    elseif ARGV[4] == names[q] and not string.find(ARGV[5], me, 1, true) then
      wake(K.wake .. names[q], ARGV[5] .. ' ' .. me)
    end
  end
end

local reply = { us, (again and #taken == 0 or budget.bytes <= 0) and 'again' or left and 'left' or 'idle' }
if #taken == 0 then return reply end

local runs, leases, scores, expiries = {}, {}, {}, {}
for i = 1, #taken do runs[i] = K.run .. taken[i][2] end
local touched = redis.call('EXISTS', unpack(runs)) > 0
local chances, suspect = tonumber(ARGV[6]), ARGV[7] == '1'
local values, expires, n, r = {}, string.format('%.0f', now + lease), 0, 2
for _, t in ipairs(taken) do
  local id, kind, info, aside = t[2], t[5], '', nil
  if touched then
    local run = get_run(id, 'attempts', 'lost', 'due', 'back', 'putoff')
    if chances > 0 and count_of(run[2]) >= chances then
      if suspect then aside = t[1] else suspect = true end
    end
    if run[1] or run[2] or run[3] or run[4] or run[5] then
      info = (run[1] or '0') .. ' ' .. (run[2] or '0') .. ' ' .. (run[3] or '')
      if kind == 'P' then kind = 'R' end
    end
  end
  if kind == 'X' then
    local before = previous(t[3])
    if before then info = (info == '' and '0 0 ' or info) .. ' ' .. before end
  end
  if aside then
    redis.call('ZADD', K.delayed, now + 1000, aside)
    reply[2] = 'again'
  else
    if kind == 'X' then expiries[#expiries + 1] = id end
    local what = t[4] .. ' ' .. kind
    local value = values[what]
    if not value then
      value = token .. ' ' .. now .. ' ' .. what
      values[what] = value
    end
    leases[n + 1], leases[n + 2] = id, value
    scores[n + 1], scores[n + 2] = expires, id
    reply[r + 1], reply[r + 2], reply[r + 3] = id, t[3], info
    n, r = n + 2, r + 3
  end
end
if #leases == 0 then return reply end
redis.call('HSET', K.lease, unpack(leases))
redis.call('ZADD', K.active, unpack(scores))
-- A job that has been started cannot be too late to start any more.
if #expiries > 0 then redis.call('ZREM', K.expiry, unpack(expiries)) end
return reply
