-- reserve leases jobs as its arguments, which follow ARGV[before], have it. All lanes
-- are read before the first write.
local function reserve(before)
  local find, match, sub = string.find, string.match, string.sub
  local token, lease, limit, queues = ARGV[before + 1], ARGV[before + 2], tonumber(ARGV[before + 3]), tonumber(ARGV[before + 8])
  local woken_for, call = ARGV[before + 4], ARGV[before + 5]
  local first = before + 7 -- ARGV[first + 2 * q] is queue q, its quota follows
  local me, number = match(token, '^(.*):(%d+)$')

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
  for i = first + 2 + 2 * queues, #ARGV do handled[ARGV[i]] = true end

  local WINDOW, DEEP, BYTES = 128, 1024, 4194304
  local WIDE = 16
  local members, ids, bodies, kinds, from, came, runs = {}, {}, {}, {}, {}, {}, {} -- of what is taken
  local count, room, bytes_left = 0, limit, BYTES
  local beats

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
    local kind, arrival, expiry, name = match(body, '^([PX])\t(%x+)\t%d+\t%d*\t(%d*)\t[^\t\n]*\t([^\t\n]*)\t')
    if not kind then return 'end' end
    if find(member, arrival, 1, true) ~= 1 then return 'leftover' end
    if expiry ~= '' and now >= tonumber(expiry) and redis.call('ZSCORE', K.expiry, id) then return 'end' end
    if not handled[name] then return 'keep', name end
    return 'take', name, kind
  end

  -- A lane is looked at through what has been seen of it: the queue it is of, how far
  -- it has been walked, how many were taken, what was kept for others and what is to
  -- be cleared away, what of it is put off, and whether something is behind.
  local names, paused, lanes = {}, {}, {}

  -- elsewhere marks which of the kept are taken by a live process from this queue,
  -- which will come for them, and counts the others.
  local function elsewhere(l)
    local orphans = 0
    beats = beats or {}
    for _, e in ipairs(l.kept) do
      local taker = l.queue .. ' ' .. e.name
      if beats[taker] == nil then
        local beat = redis.pcall('ZSCORE', K.names, taker)
        beats[taker] = type(beat) == 'string' and tonumber(beat) > now - 60000
      end
      e.elsewhere = beats[taker]
      if not e.elsewhere then orphans = orphans + 1 end
    end
    return orphans
  end

  -- scan walks on in one lane for at most want jobs and returns how many it took.
  local function scan(l, want)
    local mine, middle = 0, ':' .. l.queue .. ':'
    local start = 13 + #middle
    while mine < want and bytes_left > 0 and not l.off do
      local size = l.kept and WINDOW or math.min(want - mine, WINDOW)
      -- One more than wanted tells whether something is left behind.
      local entries = redis.pcall('LRANGE', l.key, tostring(l.pos), tostring(l.pos + size))
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
          if mine == want or bytes > bytes_left and count > 0 then
            passed, l.rest = i - 1, true
            if mine < want then bytes_left = 0 end
            break
          end
          if cut then body = redis.call('GET', K.job .. id) end
          mine = mine + 1
          bytes_left = bytes_left - bytes
          count = count + 1
          members[count], ids[count], bodies[count], kinds[count], from[count] = member, id, body, kind, l.queue
          came[count] = l.due
          if l.due then runs[#runs + 1] = K.run .. id end
        elseif verdict == 'keep' then
          l.kept = l.kept or {}
          l.kept[#l.kept + 1] = { member = member, id = id, name = name }
        else
          l.others = l.others or {}
          l.others[#l.others + 1] = { verdict = verdict, member = member, id = id }
        end
      end
      l.pos = l.pos + passed
      -- A whole window of others' jobs: look deeper, but only past those that somebody
      -- will come for.
      if l.kept and #l.kept >= WINDOW and (mine + l.mine > 0 or elsewhere(l) > 0 or l.pos >= DEEP) then break end
    end

    l.mine = l.mine + mine
    if l.mine == 0 and l.kept and #l.kept >= WINDOW and not l.off then
      local off, stay = {}, {}
      for _, e in ipairs(l.kept) do
        if not e.elsewhere or (l.pos >= DEEP and #off < WINDOW) then off[#off + 1] = e else stay[#stay + 1] = e end
      end
      if #off > 0 then l.off, l.kept = off, stay end
    end
    return mine
  end

  local strict = true
  for q = 1, queues do
    names[q] = ARGV[first + 2 * q]
    strict = strict and tonumber(ARGV[first + 1 + 2 * q]) >= limit
  end
  for q, pause in ipairs(redis.call('HMGET', K.queues, unpack(names))) do
    paused[q] = pause and pause ~= ''
    lanes[2 * q - 1] = { queue = names[q], key = K.queue .. names[q] .. '-delayed', pos = 0, mine = 0, due = true }
    lanes[2 * q] = { queue = names[q], key = K.queue .. names[q], pos = 0, mine = 0 }
  end
  -- Two rounds: the quotas, then whatever is left for whoever has work.
  for round = 1, strict and 1 or 2 do
    for q = 1, queues do
      local quota = round == 1 and math.min(tonumber(ARGV[first + 1 + 2 * q]), room) or room
      for k = 2 * q - 1, 2 * q do
        if not paused[q] and quota > 0 and room > 0 then
          local mine = scan(lanes[k], quota)
          quota = quota - mine
          room = room - mine
        end
      end
    end
  end

  -- Whether something has happened to any of them before. To one that still stands in
  -- a normal lane nothing has: what comes again comes by the -delayed lane.
  local touched = #runs > 0 and redis.call('EXISTS', unpack(runs)) > 0
  local more = touched -- whether more is written than what every reserve writes
  for _, l in ipairs(lanes) do more = more or l.off or l.others end
  if more then
    rare().can_finish()
    redis.call('ZCARD', K.delayed)
  end

  -- clear sees to entries that were neither taken nor kept. They have been popped: a
  -- removal came first, so a full Redis takes what follows.
  local function clear(entries)
    local r = rare()
    for _, e in ipairs(entries) do
      if e.verdict == 'ghost' then
        r.drop_ghost(e.member)
      elseif e.verdict == 'end' then
        local h, why = r.read_head(e.id)
        if h then
          r.finish(e.id, h, 'expired', 'deadline')
          event('expired', { e.id }, 'reason', 'deadline')
        else
          r.finish_spoilt(e.id, why)
        end
      elseif e.verdict == 'leftover' then
        r.reject('an earlier job with this id left it behind', e.member)
      else
        r.reject('no job of bide: not <arrival>:<queue>:<id>', e.member)
      end
    end
  end

  -- put_off sends jobs that others are to take back to the delayed set without
  -- touching their due time: for a second, and twice as long each time, up to a
  -- minute, where no live process takes them.
  local function put_off(entries)
    local r = rare()
    for _, e in ipairs(entries) do
      local h = r.read_head(e.id)
      local run = r.get_run(e.id, 'putoff', 'due')
      local times = r.count_of(run[1])
      local pause = 1000
      if not e.elsewhere then
        pause = math.min(60000, 1000 * 2 ^ times)
        times = times + 1
      end
      redis.call('ZADD', K.delayed, now + pause, e.member)
      r.set_run(e.id, 'putoff', times, 'due', run[2] or (h and (h.due ~= '' and h.due or h.created)) or now)
    end
  end

  local again = false -- entries were cleared away and more may be behind them
  for _, l in ipairs(lanes) do
    if l.mine > 0 or l.others or l.off then
      if l.mine == 0 then again = true end
      redis.call('LPOP', l.key, tostring(l.pos))
      for i = l.kept and #l.kept or 0, 1, -1 do redis.call('LPUSH', l.key, l.kept[i].member) end
      if l.off then put_off(l.off) end
      if l.others then clear(l.others) end
    end
  end

  -- What is left behind is passed on, but only by a process that took something or
  -- was woken for it: a wake-up call nobody can use is handed to each process once.
  local unseen
  for k, l in ipairs(lanes) do
    if l.rest == nil and not paused[math.ceil(k / 2)] then
      unseen = unseen or {}
      unseen[#unseen + 1] = l.key
    end
  end
  local unknown = unseen and redis.call('EXISTS', unpack(unseen)) > 0
  local function waits(l)
    if l.rest ~= nil then return l.rest or l.kept and #l.kept > 0 end
    local length = unknown and redis.pcall('LLEN', l.key)
    return type(length) == 'number' and length > 0
  end
  local left = false
  for q = 1, queues do
    if not paused[q] and (waits(lanes[2 * q - 1]) or waits(lanes[2 * q])) then
      left = true
      if count > 0 or limit == 0 then
        wake(K.wake .. names[q])
      elseif woken_for == names[q] and not find(call, me, 1, true) then
        wake(K.wake .. names[q], call .. ' ' .. me)
      end
    end
  end

  local reply = { us, (again and count == 0 or bytes_left <= 0) and 'again' or left and 'left' or 'idle' }
  if count == 0 then return reply end

  local leases, scores, expiries = {}, {}, nil
  local chances, suspect = tonumber(ARGV[before + 6]), ARGV[before + 7] == '1'
  local values, expires, begun = {}, string.format('%.0f', now + lease), tostring(now)
  local n, r = 0, 2
  for i = 1, count do
    local id, kind, info, aside = ids[i], kinds[i], '', false
    if touched and came[i] then
      local run = rare().get_run(id, 'attempts', 'lost', 'due', 'back', 'putoff')
      if chances > 0 and rare().count_of(run[2]) >= chances then
        if suspect then aside = true else suspect = true end
      end
      if run[1] or run[2] or run[3] or run[4] or run[5] then
        info = (run[1] or '0') .. ' ' .. (run[2] or '0') .. ' ' .. (run[3] or '')
        if kind == 'P' then kind = 'R' end
      end
    end
    if kind == 'X' then
      local earlier = rare().previous(bodies[i])
      if earlier then info = (info == '' and '0 0 ' or info) .. ' ' .. earlier end
    end
    if aside then
      redis.call('ZADD', K.delayed, now + 1000, members[i])
      reply[2] = 'again'
    else
      if kind == 'X' then
        expiries = expiries or {}
        expiries[#expiries + 1] = id
      end
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
  local widens = running < WIDE and running + n / 2 >= WIDE and string.rep('-', 65)
  if widens then
    leases[n + 1], leases[n + 2] = widens, ''
    scores[n + 1], scores[n + 2] = '0', widens
  end
  redis.call('HSET', K.lease, unpack(leases))
  redis.call('ZADD', K.active, unpack(scores))
  if widens then
    redis.call('HDEL', K.lease, widens)
    redis.call('ZREM', K.active, widens)
  end
  -- A job that has been started cannot be too late to start any more.
  if expiries then redis.call('ZREM', K.expiry, unpack(expiries)) end
  return reply
end
