-- release: give leased jobs back to the front of their queues' -delayed lanes, in
-- the order given, without counting an attempt. A job that was asked to cancel
-- ends cancelled instead.
-- include: clock head run reject finish wake event lease
-- KEYS  1 routing
-- ARGV  per job: id, token
-- Reply per job, last first: 'waiting' | 'cancelled' | 'stale' | 'spoilt'
can_finish()
redis.call('ZCARD', K.active)

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
    finish(id, h, 'cancelled', 'request', 'worker', lease.worker, 'started', lease.started)
    event('cancelled', { id }, 'reason', 'request')
    outcome = 'cancelled'
  else
    redis.call('LLEN', lane)
    end_lease(id)
    redis.call('LPUSH', lane, h.member)
    set_run(id, 'back', 1, 'worker', lease.worker, 'started', lease.started)
    wake(K.wake .. h.queue)
    outcome = 'waiting'
  end
  reply[#reply + 1] = outcome
end
return reply
