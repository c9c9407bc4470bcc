-- fail: end attempts whose handler failed: back to the delayed set for the pause,
-- or dead. A job that was asked to cancel ends cancelled instead. A lease that is
-- no longer the caller's leaves the job alone.
-- include: clock head run reject finish wake event lease
-- KEYS  1 routing
-- ARGV  per job: id, token, pause in ms or '' for dead, reason if dead, kind, text ('<error>\0<stack>')
-- Reply per job: 'delayed' | 'dead' | 'cancelled' | 'stale' | 'spoilt'
can_finish()
redis.call('ZCARD', K.active)
local first = redis.call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')

local reply, nearest, happened = {}, nil, {}
for i = 1, #ARGV, 6 do
  local id, pause, reason = ARGV[i], ARGV[i + 2], ARGV[i + 3]
  local lease = lease_of(id, ARGV[i + 1])
  local h, why = read_head(id)
  local outcome
  if not lease then
    outcome = 'stale'
  else
    end_lease(id)
    if not h then
      finish_spoilt(id, why)
      outcome = 'spoilt'
    else
      local attempts = count_of(get_run(id, 'attempts')[1]) + 1
      note_failure(id, table.concat({ ARGV[i + 4], attempts, now, lease.started, lease.worker }, ' ') .. '\n' .. ARGV[i + 5])
      set_run(id, 'attempts', attempts, 'started', lease.started, 'worker', lease.worker)
      if lease.cancelled then
        outcome = 'cancelled'
        finish(id, h, 'cancelled', 'request')
      elseif pause == '' then
        outcome = 'dead'
        finish(id, h, 'dead', reason)
      else
        outcome = 'delayed'
        local due = soon + tonumber(pause)
        redis.call('ZADD', K.delayed, due, h.member)
        set_run(id, 'due', string.format('%.0f', due))
        if not nearest or due < nearest then nearest = due end
      end
    end
  end
  reply[#reply + 1] = outcome
  if outcome ~= 'stale' and outcome ~= 'spoilt' then
    local name = outcome == 'delayed' and 'failed' or outcome
    happened[name] = happened[name] or {}
    table.insert(happened[name], id)
  end
end
if nearest and (not first[2] or nearest < tonumber(first[2])) then wake(K.wake_promoter) end
for name, ids in pairs(happened) do
  if name == 'cancelled' then
    event(name, ids, 'reason', 'request')
  else
    event(name, ids)
  end
end
return reply
