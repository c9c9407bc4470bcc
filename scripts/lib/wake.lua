-- wake leaves at most one wake-up call in a list. It can only help, so it never
-- fails a move.
local function wake(list, call)
  if redis.pcall('LLEN', list) == 0 then redis.pcall('RPUSH', list, call or '-') end
end

-- filled tells that something stands in a lane of queue: it is one of the queues in
-- use, even if it had been forgotten, and whoever waits for it is woken.
local function filled(queue)
  redis.pcall('HSETNX', K.queues, queue, '')
  wake(K.wake .. queue)
end
