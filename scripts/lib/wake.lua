-- wake leaves at most one wake-up call in a list. It can only help, so it never
-- fails a move.
local function wake(list, call)
  if redis.pcall('LLEN', list) == 0 then redis.pcall('RPUSH', list, call or '-') end
end
