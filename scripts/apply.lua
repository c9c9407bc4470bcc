-- apply: change the set of schedules from one revision to the next, or not at all.
-- A planned tick whose instant has come is claimed and stays. So do pauses and open
-- runs, but for those of a schedule that is removed: what waits for an open run is
-- cancelled then. The rules of a schedule are '<policy> <catchUp> <successful> <failed>
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

-- take_back cancels, of the ids in a set with scores from above on, those that stand
-- in the delayed set and that nothing has happened to.
local function take_back(set, above)
  local ids, keys, runs = redis.call('ZRANGE', set, above, '+inf', 'BYSCORE'), {}, {}
  if #ids == 0 then return end
  local members, bodies, gone = {}, {}, {}
  for i = 1, #ids, 500 do
    local last = math.min(i + 499, #ids)
    local some, seen = {}, {}
    for j = i, last do runs[j - i + 1] = K.run .. ids[j] end
    local touched = redis.call('EXISTS', unpack(runs, 1, last - i + 1)) > 0
    for j = i, last do
      local text = redis.pcall('GETRANGE', K.job .. ids[j], 0, 255)
      local arrival, queue = string.match(type(text) == 'string' and text or '', '^[PX]\t(%x+)\t%d+\t%d*\t%d*\t([^\t]*)\t')
      if arrival and not (touched and redis.call('EXISTS', runs[j - i + 1]) == 1) then
        some[#some + 1] = arrival .. ':' .. queue .. ':' .. ids[j]
        seen[#seen + 1] = ids[j]
      end
    end
    local scores = #some > 0 and redis.call('ZMSCORE', K.delayed, unpack(some)) or {}
    for j, id in ipairs(seen) do
      if scores[j] then
        members[#members + 1] = some[j]
        bodies[#bodies + 1] = K.job .. id
        gone[#gone + 1] = id
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

-- rewrite gives a planned tick whose instant has not come the job of the new
-- definition, unless that names one queue too many.
local function rewrite(name, id, queue, expiry, tail)
  local tick = redis.call('ZSCORE', K.planned .. name, id)
  local h = tick and tonumber(tick) > now and read_head(id)
  local due = h and redis.call('ZSCORE', K.delayed, h.member)
  if not due or tonumber(due) <= now then return end
  if not queues[queue] and redis.call('HEXISTS', K.queues, queue) == 0 then
    if redis.call('HLEN', K.queues) >= 1000 then return end
    redis.call('HSET', K.queues, queue, '')
  end
  queues[queue] = true
  local body = table.concat({ h.kind, h.arrival, h.created, h.due, expiry, tail }, '\t')
  redis.call('SET', K.job .. id, body)
  if expiry == '' then
    redis.call('ZREM', K.expiry, id)
  elseif expiry ~= h.expiry then
    redis.call('ZADD', K.expiry, expiry, id)
  end
  if #body > largest then
    largest = 2 * #body
    redis.call('HSET', K.counts, 'largest', largest)
  end
  if queue ~= h.queue then
    redis.call('ZREM', K.delayed, h.member)
    redis.call('ZADD', K.delayed, due, h.arrival .. ':' .. queue .. ':' .. id)
  end
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
    take_back(K.held .. name, '-inf')
    take_back(K.makeup .. name, '-inf')
    redis.call('HDEL', K.schedules, name)
    redis.call('DEL', key, K.succeeded .. name, K.failed .. name, K.held .. name, K.makeup .. name)
    -- Remembered for a day, so that putting it back repeats no tick.
    redis.call('HSET', key, 'claimed', claimed)
    redis.call('EXPIRE', key, 86400)
    redis.call('EXPIRE', K.planned .. name, 86400)
    redis.call('EXPIRE', K.open .. name, 86400)
    at = at + 2
  elseif act == 'rewrite' then
    redis.call('HSET', K.schedules, name, ARGV[at + 2])
    redis.call('HSET', key, 'number', revision, rules(ARGV[at + 3]))
    local n = tonumber(ARGV[at + 4])
    for i = at + 5, at + 4 + 4 * n, 4 do rewrite(name, ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]) end
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
    redis.call('HSET', key, 'number', revision, 'cursor', claimed, 'suspended', ARGV[at + 4], rules(ARGV[at + 3]))
    at = at + 5
  end
end
if #names > 0 then event('applied', { revision }, 'by', ARGV[2]) end
return { 'ok', revision, meta[2] or '', meta[3] or '' }
