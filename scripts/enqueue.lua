-- enqueue: create jobs, each due now in its queue's normal lane, the others in the
-- delayed set. An id that is taken, or a unique key that a live job holds, writes
-- nothing for that job and answers with the job that is there.
-- include: clock head wake place create
-- KEYS  1 routing
-- ARGV  per job: id, shape or '' for that of the job before, tail
--       shape: queue \t when ('' now | '+<ms>' | '<unix ms>') \t expiry (likewise) \t unique \t kind
-- Reply {now, soon, per job that was not created: which, status ('exists' | 'unique' | 'queues' too many | 'spoilt' key), id, state, due}
local reply = { now, soon }
local function answer(i, status, id, state, due)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = (i + 2) / 3, status, id, state, due
end

-- existing answers with the job that holds id already.
local function existing(i, status, id, h)
  local state, score = place(id, h)
  local due = state == 'delayed' and score or redis.pcall('HGET', K.run .. id, 'due')
  if type(due) ~= 'string' then due = h.due ~= '' and h.due or h.created end
  answer(i, status, id, state, due)
end

local keys = {}
for i = 1, #ARGV, 3 do keys[(i + 2) / 3] = K.job .. ARGV[i] end
local fresh = redis.call('EXISTS', unpack(keys)) == 0
local seen, held = {}, {} -- due by id, '' for now, and id by unique key, of this call's jobs

local function repeated(i, status, id)
  local due = seen[id]
  answer(i, status, id, due == '' and 'waiting' or 'delayed', due == '' and begun or due)
end

local queue, when, expiry, unique, kind
for i = 1, #ARGV, 3 do
  local id = ARGV[i]
  if ARGV[i + 1] ~= '' then
    queue, when, expiry, unique, kind = string.match(ARGV[i + 1], '^([^\t]*)\t([^\t]*)\t([^\t]*)\t([^\t]*)\t(.)$')
  end
  local holder = unique ~= '' and (held[unique] or redis.pcall('GET', K.unique .. unique))
  if type(holder) == 'table' then
    answer(i, 'spoilt', id, '', K.unique .. unique)
  elseif seen[id] then
    repeated(i, 'exists', id)
  elseif holder and seen[holder] then
    repeated(i, 'unique', holder)
  else
    local h = not fresh and read_head(id)
    local g = holder and read_head(holder)
    local refused = not h and refuses(queue)
    if h then
      existing(i, 'exists', id, h)
    elseif not fresh and redis.call('EXISTS', K.job .. id) == 1 then
      answer(i, 'spoilt', id, '', K.job .. id)
    elseif g and g.unique == unique and ({ delayed = true, waiting = true, active = true })[place(holder, g)] then
      existing(i, 'unique', holder, g)
    elseif refused then
      answer(i, refused, id, '', K.queue .. queue)
    else
      seen[id] = add(id, queue, when, expiry, unique, kind, ARGV[i + 2])
      if unique ~= '' then held[unique] = id end
    end
  end
end
create()
return reply
