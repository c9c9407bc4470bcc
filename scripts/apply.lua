-- apply: change the set of schedules from one revision to the next, or not at all.
-- A planned tick whose instant has come is claimed and stays. So do pauses and open
-- runs, but for those of a schedule that is removed: what waits for an open run, or
-- would have to, is cancelled then. The rules of a schedule are '<policy> <catchUp> <successful> <failed>
-- <failures in a row that pause it>'.
-- include: clock head event
-- KEYS  1 routing
-- ARGV  1 the revision this is a change of, '' for none   2 who applies
--       then per schedule: 'add', name, definition, rules, suspended ('1' | '')
--                        | 'retime', name, definition, rules, suspended: planned anew from now
--                        | 'rewrite', name, definition, rules, n, n times: id, queue, expiry, tail: the same ticks, other jobs
--                        | 'remove', name
-- Reply {'ok', revision, who applied before, when} | {'moved', revision or ''}
local meta = redis.call('HMGET', K.meta, 'revision', 'appliedBy', 'appliedAt')
if (meta[1] or '') ~= ARGV[1] then return { 'moved', meta[1] or '' } end
redis.call('HLEN', K.counts)
redis.call('ZCARD', K.expiry)
redis.call('HLEN', K.schedules)
redis.call('ZCARD', K.delayed)
redis.call('HLEN', K.queues)
local largest = tonumber(redis.call('HGET', K.counts, 'largest') or '0')

local names, at = {}, 3
while at <= #ARGV do
  names[#names + 1] = ARGV[at + 1]
  if ARGV[at] == 'rewrite' then
    at = at + 5 + 4 * ARGV[at + 4]
  else
    at = at + (ARGV[at] == 'remove' and 2 or 5)
  end
end
for _, name in ipairs(names) do
  redis.call('HLEN', K.schedule .. name)
  for _, set in ipairs({ K.planned, K.held, K.makeup }) do redis.call('ZCARD', set .. name) end
end

-- rules gives the fields that hold a schedule's rules.
local function rules(text)
  local policy, catch_up, successful, failed, failures = string.match(text, '^(%a+) (%a+) (%d+) (%d+) (%d+)$')
  return 'policy', policy, 'catchUp', catch_up, 'keepSuccessful', successful, 'keepFailed', failed, 'pauseAfter', failures
end

-- in_parts runs a variadic command on a list of any length.
local function in_parts(command, list, key)
  for i = 1, #list, 1000 do
    if key then
      redis.call(command, key, unpack(list, i, math.min(i + 999, #list)))
    else
      redis.call(command, unpack(list, i, math.min(i + 999, #list)))
    end
  end
end

-- starts reads where the bodies of some ids say that they stand: the first six
-- fields each, nil for what is not readable. ids are 500 at most.
local function starts(ids)
  local keys, list = {}, {}
  for i, id in ipairs(ids) do keys[i] = K.job .. id end
  local texts = largest <= 2048 and #ids > 0 and redis.call('MGET', unpack(keys)) or {}
  for i, id in ipairs(ids) do
    local text = texts[i] or redis.pcall('GETRANGE', keys[i], 0, 255)
    local kind, arrival, created, due, expiry, queue =
      string.match(type(text) == 'string' and text or '', '^([PX])\t(%x+)\t(%d+)\t(%d*)\t(%d*)\t([^\t\n]*)\t')
    list[i] = kind and { id = id, kind = kind, arrival = arrival, created = created, due = due, expiry = expiry, queue = queue,
      member = arrival .. ':' .. queue .. ':' .. id }
  end
  return list
end

-- delayed_of gives, of what starts read, those that stand in the delayed set, with
-- their scores.
local function delayed_of(list, ids)
  local members, found = {}, {}
  for i = 1, #ids do members[i] = list[i] and list[i].member or '' end
  local scores = #ids > 0 and redis.call('ZMSCORE', K.delayed, unpack(members)) or {}
  for i = 1, #ids do
    if list[i] and scores[i] then
      list[i].score = tonumber(scores[i])
      found[#found + 1] = list[i]
    end
  end
  return found
end

-- take_back cancels, of the ids in a set with scores from above on, those that stand
-- in the delayed set and that nothing has happened to; all that stand there, if the
-- set is one of waiting runs.
local function take_back(set, above, waiting)
  local all = redis.call('ZRANGE', set, above, '+inf', 'BYSCORE')
  local members, bodies, gone = {}, {}, {}
  for i = 1, #all, 500 do
    local ids, runs = {}, {}
    for j = i, math.min(i + 499, #all) do
      ids[#ids + 1] = all[j]
      runs[#runs + 1] = K.run .. all[j]
    end
    local touched = redis.call('EXISTS', unpack(runs)) > 0
    for _, b in ipairs(delayed_of(starts(ids), ids)) do
      local moved = touched and redis.call('EXISTS', K.run .. b.id) == 1
      if waiting or not moved then
        members[#members + 1] = b.member
        bodies[#bodies + 1] = K.job .. b.id
        gone[#gone + 1] = b.id
        if moved then redis.call('UNLINK', K.run .. b.id, K.errors .. b.id) end
      end
    end
  end
  in_parts('ZREM', members, K.delayed)
  in_parts('ZREM', gone, set)
  in_parts('ZREM', gone, K.expiry)
  in_parts('UNLINK', bodies)
  if #gone > 0 then redis.call('HINCRBY', K.counts, 'cancelled', #gone) end
  event('cancelled', gone, 'reason', 'removed')
end

-- unplan takes back the planned ticks of a schedule whose instant has not come. Past
-- ones that are no longer delayed have run or are running: they are forgotten.
local function unplan(name)
  take_back(K.planned .. name, '(' .. now)
  local past = {}
  for _, id in ipairs(redis.call('ZRANGE', K.planned .. name, '-inf', now, 'BYSCORE')) do
    local h = read_head(id)
    if not h or not redis.call('ZSCORE', K.delayed, h.member) then past[#past + 1] = id end
  end
  in_parts('ZREM', past, K.planned .. name)
end

local queues = {} -- those that are in use

-- takes tells whether a queue is in use, or can be.
local function takes(queue)
  if queues[queue] == nil then
    queues[queue] = redis.call('HEXISTS', K.queues, queue) == 1
    if not queues[queue] and redis.call('HLEN', K.queues) < 1000 then
      redis.call('HSET', K.queues, queue, '')
      queues[queue] = true
    end
  end
  return queues[queue]
end

-- rewrite gives planned ticks whose instant has not come the jobs of the new
-- definition, unless that names one queue too many. They stand in ARGV from first
-- to last, four for each.
local function rewrite(name, first, last)
  local planned, ids, at_of = {}, {}, {}
  for _, id in ipairs(redis.call('ZRANGE', K.planned .. name, '(' .. now, '+inf', 'BYSCORE')) do planned[id] = true end
  for i = first, last, 4 do
    if planned[ARGV[i]] then
      ids[#ids + 1] = ARGV[i]
      at_of[ARGV[i]] = i
    end
  end
  local bodies = {}
  for _, b in ipairs(delayed_of(starts(ids), ids)) do
    local i = at_of[b.id]
    local queue, expiry = ARGV[i + 1], ARGV[i + 2]
    if b.score > now and takes(queue) then
      local body = table.concat({ b.kind, b.arrival, b.created, b.due, expiry, ARGV[i + 3] }, '\t')
      bodies[#bodies + 1] = K.job .. b.id
      bodies[#bodies + 1] = body
      if #body > largest then
        largest = 2 * #body
        redis.call('HSET', K.counts, 'largest', largest)
      end
      if expiry == '' then
        redis.call('ZREM', K.expiry, b.id)
      elseif expiry ~= b.expiry then
        redis.call('ZADD', K.expiry, expiry, b.id)
      end
      if queue ~= b.queue then
        redis.call('ZREM', K.delayed, b.member)
        redis.call('ZADD', K.delayed, b.score, b.arrival .. ':' .. queue .. ':' .. b.id)
      end
    end
  end
  in_parts('MSET', bodies)
end

-- The time makes it another one even after the counter was lost with the data.
local revision = redis.call('HINCRBY', K.meta, 'revisions', 1) .. '-' .. now
redis.call('HSET', K.meta, 'revision', revision, 'appliedBy', ARGV[2], 'appliedAt', now)
at = 3
while at <= #ARGV do
  local act, name = ARGV[at], ARGV[at + 1]
  local key = K.schedule .. name
  local claimed = math.max(now, tonumber(redis.call('HGET', key, 'claimed') or '0'))
  if act == 'remove' then
    unplan(name)
    take_back(K.held .. name, '-inf', true)
    take_back(K.makeup .. name, '-inf', true)
    redis.call('HDEL', K.schedules, name)
    local policy = redis.call('HGET', key, 'policy') or ''
    redis.call('DEL', key, K.succeeded .. name, K.failed .. name, K.held .. name, K.makeup .. name)
    -- Remembered for a day, so that putting it back repeats no tick, and for ticks that
    -- have come due and are not yet in their lane.
    redis.call('HSET', key, 'claimed', claimed, 'policy', policy)
    redis.call('EXPIRE', key, 86400)
    redis.call('EXPIRE', K.planned .. name, 86400)
    redis.call('EXPIRE', K.open .. name, 86400)
    at = at + 2
  elseif act == 'rewrite' then
    redis.call('HSET', K.schedules, name, ARGV[at + 2])
    redis.call('HSET', key, 'number', revision, 'appliedBy', ARGV[2], 'appliedAt', now, rules(ARGV[at + 3]))
    local n = tonumber(ARGV[at + 4])
    rewrite(name, at + 5, at + 4 + 4 * n)
    at = at + 5 + 4 * n
  else
    redis.call('HSET', K.schedules, name, ARGV[at + 2])
    if act == 'add' then
      redis.call('PERSIST', key)
      redis.call('PERSIST', K.planned .. name)
      redis.call('PERSIST', K.open .. name)
      redis.call('HSET', key, 'incarnation', redis.call('HINCRBY', K.meta, 'incarnations', 1), 'added', now)
    else
      unplan(name)
    end
    redis.call('HSET', key, 'number', revision, 'appliedBy', ARGV[2], 'appliedAt', now, 'cursor', claimed, 'suspended', ARGV[at + 4],
      rules(ARGV[at + 3]))
    at = at + 5
  end
end
if #names > 0 then event('applied', { revision }, 'by', ARGV[2]) end
return { 'ok', revision, meta[2] or '', meta[3] or '' }
