-- enqueue: create jobs, each due now in its queue's normal lane, the others in the
-- delayed set. An id that is taken, or a unique key that a live job holds, writes
-- nothing for that job and answers with the job that is there.
-- include: clock wake
-- whole: its EXISTS asks for the keys that never are, too
-- KEYS  1 routing
-- ARGV  1 form   2 queue, per job: id, tail
--       (form: 'now' as above, 'later' with when before each tail, both of plain jobs of one
--       queue. 'groups' for others: instead of the queue, per group of jobs that are alike,
--       shape, how many, id and tail of each. shape: queue \t when \t expiry \t unique \t kind.
--       when, expiry: '' now or none, '+<ms>' from now, '<unix ms>')
-- Reply Redis' clock in microseconds; a list that begins with it if not all were created:
--       {us, per job that was not created: which, status ('exists' | 'unique' | 'queues' too many | 'spoilt' key), id, state, due}

-- Most calls bring plain jobs of one queue, which is in use: they need none of what is made
-- below for the others. The first write asks for memory, and what follows cannot fail.
local call, format = redis.call, string.format
local form, queue = ARGV[1], ARGV[2]
if form ~= 'groups' then
  local later = form == 'later'
  local step = later and 3 or 2
  local jobs, lane, begun = (#ARGV - 2) / step, K.queue .. queue, '\t' .. format('%.0f', now) .. '\t'
  local head = later and tonumber(call('ZRANGE', K.delayed, '0', '0', 'WITHSCORES')[2] or '') or math.huge
  local done, first = false, math.huge

  local function in_use()
    local length = redis.pcall('LLEN', lane)
    return type(length) == 'number' and (length > 0 or call('HEXISTS', K.queues, queue) == 1)
  end

  if jobs == 1 then
    local id, tail = ARGV[3], ARGV[2 + step]
    local key, due = K.job .. id, later and instant(ARGV[4]) or ''
    first = later and tonumber(due)
    if #tail < 30000 and call('EXISTS', K.job, K.run, key) == 0 and (not later or first > now and in_use()) then
      local arrival = format('%012x', call('HINCRBY', K.counts, 'created', '1'))
      local entry = arrival .. ':' .. queue .. ':' .. id
      if later then
        done = call('ZADD', K.delayed, due, entry)
      else
        local length = redis.pcall('RPUSHX', lane, entry)
        if length == 0 and call('HEXISTS', K.queues, queue) == 1 then length = call('RPUSH', lane, entry) end
        done = type(length) == 'number' and length > 0
      end
      if done then
        call('SET', key, 'P\t' .. arrival .. begun .. due .. '\t\t' .. tail)
      else
        call('HINCRBY', K.counts, 'created', '-1')
      end
    end
  elseif call('EXISTS', K.job, K.run) == 0 and in_use() then
    local bodies, entries, longest, n = {}, {}, 0, 1
    local before, serial, front = call('DBSIZE'), tonumber(call('HGET', K.counts, 'created') or '0'), nil
    local of = ':' .. queue .. ':'
    local digits = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' }
    for i = 3, #ARGV, step do
      serial = serial + 1
      local digit = serial % 16
      if digit == 0 or i == 3 then front = format('%011x', (serial - digit) / 16) end
      local id, tail, due = ARGV[i], ARGV[i + step - 1], ''
      local entry = front .. digits[digit] .. of .. id
      if #tail > longest then longest = #tail end
      if later then
        due = instant(ARGV[i + 1])
        first = math.min(first, tonumber(due))
        entries[n], entries[n + 1] = due, entry
      else
        entries[(n + 1) / 2] = entry
      end
      bodies[n], bodies[n + 1] = K.job .. id, 'P\t' .. front .. digits[digit] .. begun .. due .. '\t\t' .. tail
      n = n + 2
    end
    if longest < 30000 and first > now and call('MSETNX', unpack(bodies)) == 1 then
      done = call('DBSIZE') == before + jobs
      if done then
        call('HINCRBY', K.counts, 'created', tostring(jobs))
        if later then call('ZADD', K.delayed, unpack(entries)) else call('RPUSH', lane, unpack(entries)) end
      else -- an id was there twice
        for i = 1, #bodies, 2 do call('UNLINK', bodies[i]) end
      end
    end
  end
  if done then
    if not later then wake(K.wake .. queue) elseif first < head then wake(K.wake_promoter) end
    return us
  end
end

-- include: head place create
-- each calls f with every job: its id, tail, queue, when, expiry, unique key and kind.
local function each(f)
  local at, step = 2, form == 'later' and 3 or 2
  if form ~= 'groups' then
    for i = 3, #ARGV, step do f(ARGV[i], ARGV[i + step - 1], queue, step == 3 and ARGV[i + 1] or '', '', '', 'P') end
    return
  end
  while at < #ARGV do
    local q, when, expiry, unique, kind = string.match(ARGV[at], '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.)$')
    local last = at + 2 * ARGV[at + 1]
    for i = at + 2, last, 2 do f(ARGV[i], ARGV[i + 1], q, when, expiry, unique, kind) end
    at = last + 2
  end
end

local keys = { K.job, K.run }
each(function(id) keys[#keys + 1] = K.job .. id end)
local fresh = call('EXISTS', unpack(keys)) == 0
local reply, which = { us }, 0
local seen, held = {}, {} -- due by id, '' for now, and id by unique key, of this call's jobs

local function answer(status, id, state, due)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = which, status, id, state, due
end

-- existing answers with a job that there is already: one of this call, or with head h.
local function existing(status, id, h)
  local due = seen[id]
  if due then return answer(status, id, due == '' and 'waiting' or 'delayed', due == '' and now or due) end
  local state, score = place(id, h)
  due = state == 'delayed' and score or redis.pcall('HGET', K.run .. id, 'due')
  if type(due) ~= 'string' then due = h.due ~= '' and h.due or h.created end
  answer(status, id, state, due)
end

-- live reports whether a job holds a unique key: another may have it when not.
local function live(h, id, unique)
  if not h or h.unique ~= unique then return false end
  local state = place(id, h)
  return state == 'delayed' or state == 'waiting' or state == 'active'
end

each(function(id, tail, of, when, expiry, unique, kind)
  which = which + 1
  local holder = unique ~= '' and (held[unique] or redis.pcall('GET', K.unique .. unique))
  if type(holder) == 'table' then return answer('spoilt', id, '', K.unique .. unique) end
  if seen[id] then return existing('exists', id) end
  if holder and seen[holder] then return existing('unique', holder) end
  local h = not fresh and read_head(id)
  local g = holder and read_head(holder)
  if h then return existing('exists', id, h) end
  if not fresh and call('EXISTS', K.job .. id) == 1 then return answer('spoilt', id, '', K.job .. id) end
  if live(g, holder, unique) then return existing('unique', holder, g) end
  local refused = refuses(of)
  if refused then return answer(refused, id, '', K.queue .. of) end
  seen[id] = add(id, of, when, expiry, unique, kind, tail, false, keys[which + 2])
  if unique ~= '' then held[unique] = id end
end)
create()
return #reply > 1 and reply or us
