-- release: give leased jobs back to the front of their queues' -delayed lanes, in
-- the order given, without counting an attempt. A job that was asked to cancel
-- ends cancelled instead. Where something foreign stands under the lane's key the
-- job comes again in a second.
-- include: clock head run reject wake event pull note finish lease
-- KEYS  1 routing
-- ARGV  per job: id, token
-- Reply per job, last first: 'waiting' | 'delayed' | 'cancelled' | 'stale' | 'spoilt'
can_finish()
redis.call('ZCARD', K.active)
redis.call('ZCARD', K.delayed)

local reply = {}
-- LPUSH puts each before the one pushed earlier, so the last goes first.
for i = #ARGV - 1, 1, -2 do
  local id = ARGV[i]
  local lease = lease_of(id, ARGV[i + 1])
  local h, why = read_head(id)
  local lane = h and K.queue .. h.queue .. '-delayed'
  local outcome
  if not lease then
    outcome = 'stale'
  elseif not h then
    end_lease(id)
    finish_spoilt(id, why)
    outcome = 'spoilt'
  elseif lease.cancelled then
    end_lease(id)
    local reason = finish(id, h, 'cancelled', 'request', 'worker', lease.worker, 'started', lease.started)
    event('cancelled', { id }, 'reason', reason)
    outcome = 'cancelled'
  else
    end_lease(id)
    set_run(id, 'back', 1, 'worker', lease.worker, 'started', lease.started)
    if type(redis.pcall('LPUSH', lane, h.member)) == 'number' then
      filled(h.queue)
      outcome = 'waiting'
    else
      redis.call('ZADD', K.delayed, now + 1000, h.member)
      outcome = 'delayed'
    end
  end
  reply[#reply + 1] = outcome
end
return reply
