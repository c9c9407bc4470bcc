-- enqueue: create jobs, each due now in its queue's normal lane, the others in the
-- delayed set. An id that is taken, or a unique key that a live job holds, writes
-- nothing for that job and answers with the job that is there.
-- include: clock wake
-- at need: head place create
-- whole: its EXISTS asks for the keys that never are, too
-- KEYS  1 routing
-- ARGV  per job: id, shape or '' for that of the job before, tail
--       shape: queue \t when ('' now | '+<ms>' | '<unix ms>') \t expiry (likewise) \t unique \t kind
-- Reply {now, soon, per job that was not created: which, status ('exists' | 'unique' | 'queues' too many | 'spoilt' key), id, state, due}

-- Most calls bring one plain job that is due now, to a queue in use: it needs none of
-- what is made below for the others. The first write asks for memory, and what
-- follows cannot fail.
if #ARGV == 3 and #ARGV[3] < 30000 then
  local call, id = redis.call, ARGV[1]
  local key, queue = K.job .. id, string.match(ARGV[2], '^([^\t]*)\t\t\t\tP$')
  if queue and call('EXISTS', K.job, K.run, key) == 0 then
    local length = redis.pcall('LLEN', K.queue .. queue)
    if type(length) == 'number' and (length > 0 or call('HEXISTS', K.queues, queue) == 1) then
      local arrival = string.format('%012x', call('HINCRBY', K.counts, 'created', '1'))
      call('SET', key, 'P\t' .. arrival .. '\t' .. now .. '\t\t\t' .. ARGV[3])
      call('RPUSH', K.queue .. queue, arrival .. ':' .. queue .. ':' .. id)
      wake(K.wake .. queue)
      return { now, soon }
    end
  end
end

local r = rare()
local keys = { K.job, K.run }
for i = 1, #ARGV, 3 do keys[#keys + 1] = K.job .. ARGV[i] end
local fresh = redis.call('EXISTS', unpack(keys)) == 0
local reply = { now, soon }
local seen, held = {}, {} -- due by id, '' for now, and id by unique key, of this call's jobs

local function answer(i, status, id, state, due)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = (i + 2) / 3, status, id, state, due
end

-- existing answers with a job that there is already: one of this call, or with head h.
local function existing(i, status, id, h)
  local due = seen[id]
  if due then return answer(i, status, id, due == '' and 'waiting' or 'delayed', due == '' and now or due) end
  local state, score = r.place(id, h)
  due = state == 'delayed' and score or redis.pcall('HGET', K.run .. id, 'due')
  if type(due) ~= 'string' then due = h.due ~= '' and h.due or h.created end
  answer(i, status, id, state, due)
end

-- live reports whether a job holds a unique key: another may have it when not.
local function live(h, id, unique)
  if not h or h.unique ~= unique then return false end
  local state = r.place(id, h)
  return state == 'delayed' or state == 'waiting' or state == 'active'
end

local queue, when, expiry, unique, kind, refused
local add = r.add
for i = 1, #ARGV, 3 do
  local id = ARGV[i]
  if ARGV[i + 1] ~= '' then
    queue, when, expiry, unique, kind = string.match(ARGV[i + 1], '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.)$')
    refused = nil
  end
  local holder = unique ~= '' and (held[unique] or redis.pcall('GET', K.unique .. unique))
  if type(holder) == 'table' then
    answer(i, 'spoilt', id, '', K.unique .. unique)
  elseif seen[id] then
    existing(i, 'exists', id)
  elseif holder and seen[holder] then
    existing(i, 'unique', holder)
  else
    local h = not fresh and r.read_head(id)
    local g = holder and r.read_head(holder)
    if h then
      existing(i, 'exists', id, h)
    elseif not fresh and redis.call('EXISTS', K.job .. id) == 1 then
      answer(i, 'spoilt', id, '', K.job .. id)
    elseif live(g, holder, unique) then
      existing(i, 'unique', holder, g)
    else
      if refused == nil then refused = r.refuses(queue) or false end
      if refused then
        answer(i, refused, id, '', K.queue .. queue)
      else
        seen[id] = add(id, queue, when, expiry, unique, kind, ARGV[i + 2], false, keys[(i + 8) / 3])
        if unique ~= '' then held[unique] = id end
      end
    end
  end
end
r.create()
return reply
