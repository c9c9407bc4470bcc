-- complete: end leased jobs whose handler returned nil. A lease that is no longer
-- the caller's leaves the job alone.
-- include: clock head run reject wake event pull note finish
-- KEYS  1 routing
-- ARGV  per job: id, token
-- Reply {now, ids whose lease was stale…}
local ids = {}
for i = 1, #ARGV, 2 do ids[(i + 1) / 2] = ARGV[i] end
local values = redis.call('HMGET', K.lease, unpack(ids))
redis.call('ZCARD', K.active)
can_finish()

local reply, done, keys, extra = { now }, {}, {}, {}
local sub = string.sub
for i, id in ipairs(ids) do
  local value, token = values[i], ARGV[2 * i]
  if not value or sub(value, 1, #token + 1) ~= token .. ' ' then
    reply[#reply + 1] = id
  else
    done[#done + 1] = id
    local kind = sub(value, -1)
    if kind == 'c' then kind = sub(value, -2, -2) end
    if kind == 'X' then
      extra[#extra + 1] = { id, value }
    else
      keys[#keys + 1] = K.job .. id
      if kind == 'R' then
        keys[#keys + 1] = K.run .. id
        keys[#keys + 1] = K.errors .. id
      end
    end
  end
end
if #done == 0 then return reply end

redis.call('ZREM', K.active, unpack(done))
redis.call('HDEL', K.lease, unpack(done))
if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
if #done > #extra then redis.call('HINCRBY', K.counts, 'completed', #done - #extra) end
for _, e in ipairs(extra) do
  local h, why = read_head(e[1])
  if h then
    local worker, started = string.match(e[2], '^([^:]+):%S+ (%d+)')
    finish(e[1], h, 'completed', '', 'worker', worker, 'started', started)
  else
    finish_spoilt(e[1], why)
  end
end
event('completed', done)
return reply
