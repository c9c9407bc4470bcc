-- enqueue: create jobs, each due now in its queue's normal lane, the others in the
-- delayed set. An id that is taken, or a unique key that a live job holds, writes
-- nothing for that job and answers with the job that is there.
-- include: clock head wake place create
-- KEYS  1 routing
-- ARGV  per job: id, queue, when ('' now | '+<ms>' | '<unix ms>'), expiry (likewise), unique, kind, tail
-- Reply per job: status ('created' | 'exists' | 'unique' | 'queues' too many | 'spoilt' key), id, state, due
local reply = {}

local function answer(status, id, state, due)
  reply[#reply + 1] = status
  reply[#reply + 1] = id
  reply[#reply + 1] = state
  reply[#reply + 1] = due
end

-- existing answers with the job that holds id already.
local function existing(status, id, h)
  local state, score = place(id, h)
  local due = state == 'delayed' and score or redis.pcall('HGET', K.run .. id, 'due')
  if type(due) ~= 'string' then due = h.due ~= '' and h.due or h.created end
  answer(status, id, state, due)
end

local keys = {}
for i = 1, #ARGV, 7 do keys[#keys + 1] = K.job .. ARGV[i] end
local fresh = redis.call('EXISTS', unpack(keys)) == 0
local seen, held = {}, {}

for i = 1, #ARGV, 7 do
  local id, queue, unique = ARGV[i], ARGV[i + 1], ARGV[i + 4]
  local holder = unique ~= '' and (held[unique] or redis.pcall('GET', K.unique .. unique))
  if type(holder) == 'table' then
    answer('spoilt', id, '', K.unique .. unique)
  elseif seen[id] then
    answer('exists', id, seen[id][1], seen[id][2])
  elseif holder and seen[holder] then
    answer('unique', holder, seen[holder][1], seen[holder][2])
  else
    local h = not fresh and read_head(id)
    local g = holder and read_head(holder)
    local refused = not h and refuses(queue)
    if h then
      existing('exists', id, h)
    elseif not fresh and redis.call('EXISTS', K.job .. id) == 1 then
      answer('spoilt', id, '', K.job .. id)
    elseif g and g.unique == unique and ({ delayed = true, waiting = true, active = true })[place(holder, g)] then
      existing('unique', holder, g)
    elseif refused then
      answer(refused, id, '', K.queue .. queue)
    else
      local state, due = add(id, queue, ARGV[i + 2], ARGV[i + 3], unique, ARGV[i + 5], ARGV[i + 6])
      seen[id] = { state, due }
      if unique ~= '' then held[unique] = id end
      answer('created', id, state, due)
    end
  end
end
create()
return reply
