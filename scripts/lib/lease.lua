-- lease_of reads the lease on job id if token still owns it: worker, start, queue
-- and whether a cancel was asked for. An active entry or a lease alone is no lease.
local function lease_of(id, token)
  local value = redis.call('HGET', K.lease, id)
  if not value or string.sub(value, 1, #token + 1) ~= token .. ' ' then return nil end
  local worker, started, queue, flags = string.match(value, '^([^:]+):%S+ (%d+) (%S+) (%S+)$')
  return { worker = worker, started = started, queue = queue, cancelled = string.sub(flags, -1) == 'c' }
end

-- end_lease is the first write of whatever ends an attempt: it removes, so a full
-- Redis takes it.
local function end_lease(id)
  redis.call('ZREM', K.active, id)
  redis.call('HDEL', K.lease, id)
end
