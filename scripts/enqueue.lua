-- enqueue: create jobs, each due now in its queue's normal lane, the others in the
-- delayed set. An id that is taken, or a unique key that a live job holds, writes
-- nothing for that job and answers with the job that is there.
-- include: clock wake
-- whole: its EXISTS asks for the keys that never are, too
-- KEYS  1 routing
-- ARGV  1 queue, per job: id, tail
--       (of plain jobs that are due now, in one queue. Of others, per group of jobs that are
--       alike: shape, how many, per job: id, tail. shape: queue \t when: '' now, '+<ms>' or
--       '<unix ms>' \t expiry, likewise \t unique \t kind)
-- Reply Redis' clock in microseconds; a list that begins with it if not all were created:
--       {us, per job that was not created: which, status ('exists' | 'unique' | 'queues' too many | 'spoilt' key), id, state, due}

-- Most calls bring plain jobs that are due now, to one queue that is in use: they need
-- none of what is made below for the others. The first write asks for memory, and what
-- follows cannot fail.
local call, format = redis.call, string.format
local plain = #ARGV % 2 == 1
if plain then
  local queue, created = ARGV[1], '\t' .. format('%.0f', now) .. '\t\t\t'
  local lane, done = K.queue .. queue, false
  if #ARGV == 3 then
    local id, tail = ARGV[2], ARGV[3]
    local key = K.job .. id
    if #tail < 30000 and call('EXISTS', K.job, K.run, key) == 0 then
      local arrival = format('%012x', call('HINCRBY', K.counts, 'created', '1'))
      local entry = arrival .. ':' .. queue .. ':' .. id
      local length = redis.pcall('RPUSHX', lane, entry)
      if length == 0 and call('HEXISTS', K.queues, queue) == 1 then length = call('RPUSH', lane, entry) end
      done = type(length) == 'number' and length > 0
      if done then
        call('SET', key, 'P\t' .. arrival .. created .. tail)
      else
        call('HINCRBY', K.counts, 'created', '-1')
      end
    end
  elseif call('EXISTS', K.job, K.run) == 0 and (tonumber(redis.pcall('LLEN', lane)) or 0) > 0 then
    local bodies, members, longest, jobs = {}, {}, 0, (#ARGV - 1) / 2
    local before, serial, front = call('DBSIZE'), tonumber(call('HGET', K.counts, 'created') or '0'), nil
    local of = ':' .. queue .. ':'
    local digits = { [0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f' }
    for i = 2, #ARGV, 2 do
      serial = serial + 1
      local digit = serial % 16
      if digit == 0 or i == 2 then front = format('%011x', (serial - digit) / 16) end
      local id, tail = ARGV[i], ARGV[i + 1]
      if #tail > longest then longest = #tail end
      bodies[i - 1], bodies[i] = K.job .. id, 'P\t' .. front .. digits[digit] .. created .. tail
      members[i / 2] = front .. digits[digit] .. of .. id
    end
    if longest < 30000 and call('MSETNX', unpack(bodies)) == 1 then
      done = call('DBSIZE') == before + jobs
      if done then
        call('HINCRBY', K.counts, 'created', tostring(jobs))
        call('RPUSH', lane, unpack(members))
      else -- an id was there twice
        for i = 1, #bodies, 2 do call('UNLINK', bodies[i]) end
      end
    end
  end
  if done then
    wake(K.wake .. queue)
    return us
  end
end

-- include: head place create
-- each calls f with every job: where ARGV has its id, and the shape of its group.
local function each(f)
  local at = 1
  while at < #ARGV do
    local first, count = at + 2, ARGV[at + 1]
    if plain then first, count = 2, (#ARGV - 1) / 2 end
    for i = first, first + 2 * count - 2, 2 do f(i, ARGV[at]) end
    at = first + 2 * count
  end
end

local keys = { K.job, K.run }
each(function(i) keys[#keys + 1] = K.job .. ARGV[i] end)
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

-- create_one creates a job, or answers why not.
local function create_one(i, id, queue, when, expiry, unique, kind)
  local holder = unique ~= '' and (held[unique] or redis.pcall('GET', K.unique .. unique))
  if type(holder) == 'table' then return answer('spoilt', id, '', K.unique .. unique) end
  if seen[id] then return existing('exists', id) end
  if holder and seen[holder] then return existing('unique', holder) end
  local h = not fresh and read_head(id)
  local g = holder and read_head(holder)
  if h then return existing('exists', id, h) end
  if not fresh and call('EXISTS', K.job .. id) == 1 then return answer('spoilt', id, '', K.job .. id) end
  if live(g, holder, unique) then return existing('unique', holder, g) end
  local refused = refuses(queue)
  if refused then return answer(refused, id, '', K.queue .. queue) end
  seen[id] = add(id, queue, when, expiry, unique, kind, ARGV[i + 1], false, keys[which + 2])
  if unique ~= '' then held[unique] = id end
end

each(function(i, shape)
  which = which + 1
  if plain then return create_one(i, ARGV[i], shape, '', '', '', 'P') end
  create_one(i, ARGV[i], string.match(shape, '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.)$'))
end)
create()
return #reply > 1 and reply or us
