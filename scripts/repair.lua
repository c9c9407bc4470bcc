-- repair: mend one kind of what orphans finds, checking first that it still is so.
-- What stands in no place although the sum misses it goes back to its lane; an entry
-- that no job can be made of ends dead, and is counted as such only if the sum misses
-- it. So each repair leaves the gap as it was, or nearer to 0. Stops early where lanes
-- are long: the caller comes again with the rest.
-- include: clock head run reject finish place wake sum event
-- KEYS  1 routing
-- ARGV  1 kind; then per job: id, place or lane, entry
-- Reply {items looked at, items mended}
local kind = ARGV[1]
can_finish()
redis.call('ZCARD', K.delayed)
redis.call('ZCARD', K.active)
redis.call('HLEN', K.lease)
redis.call('HLEN', K.ghosts)
redis.call('HLEN', K.queues)
local WALK = 500000 -- lane entries that one call walks past
local walked, done, mended = 0, 0, 0
local live = { delayed = true, waiting = true, active = true }
local sets = { delayed = K.delayed, active = K.active, dead = K.dead, finished = K.finished }

-- gap is what the sum misses now; below 0 there is more than was created.
local function gap()
  local s = sum()
  local g = s[1]
  for i = 2, #s do g = g - s[i] end
  return g
end

local function in_lanes(h)
  for _, lane in ipairs({ K.queue .. h.queue .. '-delayed', K.queue .. h.queue }) do
    local length = redis.pcall('LLEN', lane)
    if type(length) == 'number' then
      walked = walked + length
      if redis.call('LPOS', lane, h.member) then return true end
    end
  end
  return false
end

-- take removes one entry from a place or a lane; false if it is not there.
local function take(where, entry)
  if sets[where] then
    if where == 'active' then redis.call('HDEL', K.lease, entry) end
    return redis.call('ZREM', sets[where], entry) == 1
  end
  local lane = K.queue .. where
  local length = redis.pcall('LLEN', lane)
  if type(length) ~= 'number' then return false end
  walked = walked + length
  return redis.call('LREM', lane, 1, entry) == 1
end

-- back sends a job that stands nowhere to its lane, or ends it where there can be
-- none. Whoever was lost for want of a lease is counted as such.
local function back(id, h, lost, front)
  local lane = K.queue .. h.queue .. '-delayed'
  set_run(id, 'back', 1, 'lost', count_of(get_run(id, 'lost')[1]) + lost)
  if type(redis.pcall('LLEN', lane)) ~= 'number' then
    finish(id, h, 'dead', 'lost')
    return
  end
  redis.call(front and 'LPUSH' or 'RPUSH', lane, h.member)
  filled(h.queue)
end

local mend = {}

-- An active entry without a lease: what the reaper does when it would have run out.
function mend.unleased(id)
  local h, why = read_head(id)
  if redis.call('HEXISTS', K.lease, id) == 1 or redis.call('ZREM', K.active, id) == 0 then return false end
  if h then back(id, h, 1, true) else finish_spoilt(id, why) end
  return true
end

-- A lease without an active entry. The job of one that stands nowhere else becomes
-- active again for a while: its owner renews it, or it is taken back.
function mend.idle(id)
  if redis.call('HEXISTS', K.lease, id) == 0 or redis.call('ZSCORE', K.active, id) then return false end
  local h = read_head(id)
  if h and place(id, h) == 'waiting' and not in_lanes(h) then
    redis.call('ZADD', K.active, now + 15000, id)
  else
    redis.call('HDEL', K.lease, id)
  end
  return true
end

-- An entry without a readable body.
function mend.bodiless(id, where, entry)
  local h, why = read_head(id)
  if h then return false end
  local missed = (where == 'dead' or where == 'finished') and -1 or gap()
  if not take(where, entry) then return false end
  if missed >= 0 then
    finish_spoilt(id, why)
  else
    redis.call('UNLINK', K.job .. id, K.run .. id, K.errors .. id)
    redis.call('ZREM', K.expiry, id)
    reject(why, id)
  end
  return true
end

-- An entry that an earlier job with this id left behind: that one was counted.
function mend.leftover(id, where, entry)
  local h = read_head(id)
  if not h or h.member == entry or not take(where, entry) then return false end
  reject('an earlier job with this id left it behind', entry)
  return true
end

-- A body that stands nowhere. One that says that it has ended goes back to where such
-- stand; any other runs.
function mend.placeless(id)
  local h = read_head(id)
  if not h or place(id, h) ~= 'waiting' or redis.call('HEXISTS', K.lease, id) == 1 or in_lanes(h) then return false end
  local run = get_run(id, 'finished', 'state')
  if run[1] and run[2] then
    redis.call('ZADD', K.finished, now + count_of(h.retention), id)
  elseif run[1] then
    redis.call('ZADD', K.dead, run[1], id)
  else
    local missed = gap()
    back(id, h, 0, false)
    if missed <= 0 then redis.call('HINCRBY', K.counts, 'created', 1) end
  end
  return true
end

-- A job that stands in two places keeps the first of: dead, finished, active, delayed,
-- lane. The first two have been counted when it ended. An entry that stands in its lane
-- twice goes once.
function mend.doubled(id, where, entry)
  local h = read_head(id)
  if not h then return false end
  for _, name in ipairs({ 'dead', 'finished', 'active', 'delayed' }) do
    if name == where then return false end
    if redis.call('ZSCORE', sets[name], name == 'delayed' and h.member or id) then return take(where, entry) end
  end
  local standing = redis.pcall('LPOS', K.queue .. where, entry, 'COUNT', 2)
  return not standing.err and #standing > 1 and take(where, entry)
end

-- A ghost whose entry has gone or whose job lives.
function mend.ghost(_, lane, entry)
  local id = string.match(entry, '^%x+:[^:]+:(.+)$')
  local h = id and read_head(id)
  local length = redis.pcall('LLEN', lane)
  if type(length) == 'number' then walked = walked + length end
  local lives = h and h.member == entry and place(id, h) == 'waiting'
  if not lives and type(length) == 'number' and redis.call('LPOS', lane, entry) then return false end
  if redis.call('HDEL', K.ghosts, entry) == 0 then return false end
  redis.call('HINCRBY', K.counts, 'ghosts:' .. lane, -1)
  return true
end

-- The number of a lane's ghosts.
function mend.miscounted(lane)
  local n = 0
  for _, of in ipairs(redis.call('HVALS', K.ghosts)) do
    if of == lane then n = n + 1 end
  end
  if (redis.call('HGET', K.counts, 'ghosts:' .. lane) or '0') == tostring(n) then return false end
  redis.call('HSET', K.counts, 'ghosts:' .. lane, n)
  return true
end

-- An expiry of a job that it no longer concerns.
function mend.outlived(id)
  local h = read_head(id)
  local state = h and place(id, h)
  if h and h.expiry ~= '' and (state == 'delayed' or state == 'waiting') then return false end
  return redis.call('ZREM', K.expiry, id) == 1
end

-- A unique key that no live job holds.
function mend.locked(name)
  local holder = redis.pcall('GET', K.unique .. name)
  if type(holder) ~= 'string' then return false end
  local h = read_head(holder)
  if h and h.unique == name and live[place(holder, h)] then return false end
  return redis.call('DEL', K.unique .. name) == 1
end

-- What a job had beside its body, and the body is gone.
function mend.remains(id)
  return redis.call('EXISTS', K.job .. id) == 0 and redis.call('UNLINK', K.run .. id, K.errors .. id) > 0
end

-- A lane whose queue is not among those in use, so that nobody counts it.
function mend.unlisted(queue)
  if redis.call('EXISTS', K.queue .. queue, K.queue .. queue .. '-delayed') == 0 then return false end
  return redis.call('HSETNX', K.queues, queue, '') == 1
end

-- A planned tick whose instant has passed.
function mend.unplanned(id, schedule)
  local h = read_head(id)
  local tick = redis.call('ZSCORE', K.planned .. schedule, id)
  if not tick or tonumber(tick) >= now - 60000 or h and redis.call('ZSCORE', K.delayed, h.member) then return false end
  return redis.call('ZREM', K.planned .. schedule, id) == 1
end

-- An open or waiting run of a schedule that is none any more. set is where it stands.
function mend.vanished(id, schedule, set)
  local key = ({ open = K.open, held = K.held, makeup = K.makeup })[set]
  if not key then return false end
  local h = read_head(id)
  local state = h and h.schedule == schedule and place(id, h)
  if state == 'delayed' or set == 'open' and (state == 'waiting' or state == 'active') then return false end
  return redis.call('ZREM', key .. schedule, id) == 1
end

-- What is left of the gap when nothing else is wrong: jobs of which nothing is left are
-- dead, and those that nobody saw created were.
function mend.uncounted(missed)
  local g = gap()
  if g == 0 or tostring(g) ~= missed then return false end
  redis.call('HINCRBY', K.counts, g > 0 and 'dead' or 'created', math.abs(g))
  reject(g > 0 and 'jobs of which nothing is left were counted as dead' or 'jobs that were not counted as created were', missed)
  return true
end

for i = 2, #ARGV, 3 do
  if walked > WALK then break end
  done = done + 1
  if mend[kind](ARGV[i], ARGV[i + 1], ARGV[i + 2]) then
    mended = mended + 1
  end
end
if mended > 0 then event('repaired', { kind }, 'times', mended) end
return { done, mended }
