-- complete ends the leased jobs that ARGV names from one place to another (per token:
-- token, how many, their ids…). Reply {now, ids whose lease was stale…}
local function complete(at, last)
  local find, sub = string.find, string.sub
  local ids, owners = {}, {}
  while at <= last do
    local owner, to = ARGV[at] .. ' ', at + 1 + ARGV[at + 1]
    for i = at + 2, to do
      ids[#ids + 1] = ARGV[i]
      owners[#ids] = owner
    end
    at = to + 1
  end

  local reply, done, keys, extra = { now }, {}, {}, nil
  for i, value in ipairs(redis.call('HMGET', K.lease, unpack(ids))) do
    local id = ids[i]
    if not value or find(value, owners[i], 1, true) ~= 1 then
      reply[#reply + 1] = id
    else
      done[#done + 1] = id
      local kind = sub(value, -1)
      if kind == 'c' then kind = sub(value, -2, -2) end
      if kind == 'X' then
        extra = extra or {}
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
  if extra then rare().can_finish() else redis.call('HLEN', K.counts) end

  redis.call('ZREM', K.active, unpack(done))
  redis.call('HDEL', K.lease, unpack(done))
  if #keys > 0 then redis.call('UNLINK', unpack(keys)) end
  local plain = #done - (extra and #extra or 0)
  if plain > 0 then redis.call('HINCRBY', K.counts, 'completed', tostring(plain)) end
  for _, e in ipairs(extra or {}) do
    local h, why = rare().read_head(e[1])
    if h then
      local worker, started = string.match(e[2], '^([^:]+):%S+ (%d+)')
      rare().finish(e[1], h, 'completed', '', 'worker', worker, 'started', started)
    else
      rare().finish_spoilt(e[1], why)
    end
  end
  event('completed', done)
  return reply
end
