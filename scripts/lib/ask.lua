-- ask marks an active job as to be cancelled and wakes its worker. lease is its
-- lease's value.
local function ask(id, lease)
  if lease and string.sub(lease, -1) ~= 'c' then
    redis.call('HDEL', K.lease, id) -- a removal first: a full Redis takes the rest
    redis.call('HSET', K.lease, id, lease .. 'c')
  end
  local worker = lease and string.match(lease, '^[^:]+')
  if worker then
    -- The worker may be gone: its list goes by itself. No job depends on it.
    wake(K.wake_worker .. worker)
    redis.pcall('EXPIRE', K.wake_worker .. worker, 60)
  end
end
