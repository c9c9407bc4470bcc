-- fail: end attempts whose handler failed: back to the delayed set for the pause,
-- or dead. A job that was asked to cancel ends cancelled instead. A lease that is
-- no longer the caller's leaves the job alone. Under Forbid a retry that would meet
-- the schedule's next tick is not made.
-- include: clock head run reject wake event pull note finish lease
-- KEYS  1 routing
-- ARGV  per job: id, token, pause in ms ('' for dead, 'hold' for dead and its schedule paused), reason if dead, kind, text ('<error>\0<stack>')
-- Reply per job: 'delayed' | 'dead' | 'cancelled' | 'stale' | 'spoilt', then per schedule that this has paused: name, reason
can_finish()
redis.call('ZCARD', K.active)
local first = redis.call('ZRANGE', K.delayed, 0, 0, 'WITHSCORES')

local reply, nearest, happened = {}, nil, {}

-- meets tells whether a retry would fall on or after the next tick of its schedule.
local function meets(id, h, due)
  local s = redis.pcall('HMGET', K.schedule .. h.schedule, 'incarnation', 'policy')
  if s[1] ~= h.incarnation or (s[2] or 'Forbid') ~= 'Forbid' or h.trigger == 'backfill' then return false end
  local coming = redis.pcall('ZRANGE', K.planned .. h.schedule, '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 2, 'WITHSCORES')
  local next = coming[1] == id and coming[4] or coming[1] ~= id and coming[2] or h.next
  return next ~= '' and tonumber(next) > now and due >= tonumber(next)
end
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
      local due = pause ~= '' and pause ~= 'hold' and soon + tonumber(pause)
      if lease.cancelled then
        outcome = 'cancelled'
        reason = finish(id, h, 'cancelled', 'request', 'worker', lease.worker, 'started', lease.started)
      elseif not due then
        outcome = 'dead'
        -- First, so that the failure which it counts as does not pause it again.
        if pause == 'hold' and h.schedule ~= '' and redis.pcall('HGET', K.schedule .. h.schedule, 'incarnation') == h.incarnation then
          pause_schedule(h.schedule, string.sub(string.match(ARGV[i + 5], '^[^%z]*'), 1, 500))
        end
        finish(id, h, 'dead', reason, 'worker', lease.worker, 'started', lease.started)
      elseif h.schedule ~= '' and meets(id, h, due) then
        outcome = 'dead'
        finish(id, h, 'dead', 'nextTick', 'worker', lease.worker, 'started', lease.started)
      else
        outcome = 'delayed'
        redis.call('ZADD', K.delayed, due, h.member)
        set_run(id, 'due', string.format('%.0f', due))
        if not nearest or due < nearest then nearest = due end
      end
    end
  end
  reply[#reply + 1] = outcome
  if outcome == 'cancelled' then
    event('cancelled', { id }, 'reason', reason)
  elseif outcome ~= 'stale' and outcome ~= 'spoilt' then
    local name = outcome == 'delayed' and 'failed' or outcome
    happened[name] = happened[name] or {}
    table.insert(happened[name], id)
  end
end
if nearest and (not first[2] or nearest < tonumber(first[2])) then wake(K.wake_promoter) end
for name, ids in pairs(happened) do event(name, ids) end
for _, text in ipairs(paused) do reply[#reply + 1] = text end
return reply
