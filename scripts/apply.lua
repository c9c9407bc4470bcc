-- apply: change the set of schedules from one revision to the next, or not at all.
-- A planned tick whose instant has come is claimed and stays.
-- include: clock head event
-- KEYS  1 routing
-- ARGV  1 the revision this is a change of, '' for none   2 who applies
--       then per schedule: 'add', name, definition, suspended ('1' | '')
--                        | 'retime', name, definition, suspended: planned anew from now
--                        | 'rewrite', name, definition, n, n times: id, queue, tail: the same ticks, other jobs
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
    at = at + 4 + 3 * ARGV[at + 3]
  else
    at = at + (ARGV[at] == 'remove' and 2 or 4)
  end
end
for _, name in ipairs(names) do
  redis.call('HLEN', K.schedule .. name)
  redis.call('ZCARD', K.planned .. name)
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

-- unplan takes back the planned ticks of a schedule whose instant has not come and
-- that nothing has happened to.
local function unplan(name)
  local members, bodies, gone, past = {}, {}, {}, {}
  local planned = redis.call('ZRANGE', K.planned .. name, 0, -1, 'WITHSCORES')
  for i = 1, #planned, 2 do
    local id, coming = planned[i], tonumber(planned[i + 1]) > now
    local h = read_head(id)
    local due = h and redis.call('ZSCORE', K.delayed, h.member)
    if due and coming and redis.call('EXISTS', K.run .. id) == 0 then
      members[#members + 1] = h.member
      bodies[#bodies + 1] = K.job .. id
      gone[#gone + 1] = id
    elseif not due and not coming then
      past[#past + 1] = id
    end
  end
  in_parts('ZREM', members, K.delayed)
  in_parts('ZREM', gone, K.planned .. name)
  in_parts('ZREM', past, K.planned .. name)
  in_parts('ZREM', gone, K.expiry)
  in_parts('UNLINK', bodies)
  if #gone > 0 then redis.call('HINCRBY', K.counts, 'cancelled', #gone) end
  event('cancelled', gone, 'reason', 'removed')
end

-- rewrite gives a planned tick whose instant has not come the job of the new
-- definition, unless that names one queue too many.
local function rewrite(name, id, queue, tail)
  local h = redis.call('ZSCORE', K.planned .. name, id) and read_head(id)
  local due = h and redis.call('ZSCORE', K.delayed, h.member)
  if not due or tonumber(due) <= now then return end
  if redis.call('HEXISTS', K.queues, queue) == 0 then
    if redis.call('HLEN', K.queues) >= 1000 then return end
    redis.call('HSET', K.queues, queue, '')
  end
  local body = table.concat({ h.kind, h.arrival, h.created, h.due, h.expiry, tail }, '\t')
  redis.call('SET', K.job .. id, body)
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
    redis.call('HDEL', K.schedules, name)
    redis.call('DEL', key)
    -- Remembered for a day, so that putting it back repeats no tick.
    redis.call('HSET', key, 'claimed', claimed)
    redis.call('EXPIRE', key, 86400)
    redis.call('EXPIRE', K.planned .. name, 86400)
    at = at + 2
  elseif act == 'rewrite' then
    redis.call('HSET', K.schedules, name, ARGV[at + 2])
    redis.call('HSET', key, 'number', revision)
    for i = at + 4, at + 3 + 3 * ARGV[at + 3], 3 do rewrite(name, ARGV[i], ARGV[i + 1], ARGV[i + 2]) end
    at = at + 4 + 3 * ARGV[at + 3]
  else
    redis.call('HSET', K.schedules, name, ARGV[at + 2])
    if act == 'add' then
      redis.call('PERSIST', key)
      redis.call('PERSIST', K.planned .. name)
      redis.call('HSET', key, 'incarnation', redis.call('HINCRBY', K.meta, 'incarnations', 1), 'added', now)
    else
      unplan(name)
    end
    redis.call('HSET', key, 'number', revision, 'cursor', claimed, 'suspended', ARGV[at + 3])
    at = at + 4
  end
end
if #names > 0 then event('applied', { revision }, 'by', ARGV[2]) end
return { 'ok', revision, meta[2] or '', meta[3] or '' }
