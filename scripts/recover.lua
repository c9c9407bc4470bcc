-- recover: find the jobs that a reserve leased whose answer never came. Should Redis
-- come to it only now, it leases nothing any more: nobody would ask again.
-- include: clock previous
-- KEYS  1 routing
-- ARGV  1 token
-- Reply per job: id, body, '' or '<attempts> <lost> <due>[ <previous run>]'
redis.call('HLEN', K.counts)
local worker, number = string.match(ARGV[1], '^(.*):(%d+)$')
if worker then
  local fence = redis.pcall('GET', K.fence .. worker)
  if type(fence) == 'table' or (tonumber(fence or '') or 0) < tonumber(number) then
    local set = redis.pcall('SET', K.fence .. worker, number, 'PX', 3600000)
    -- A full Redis takes no fence, and may have been left for the lease to run out.
    if not set.err then
      redis.call('HSET', K.counts, 'fenced', now)
    elseif not string.find(set.err, 'OOM', 1, true) then
      return set
    end
  end
end
local leases = redis.call('HGETALL', K.lease)
local reply = {}
for i = 1, #leases, 2 do
  if string.sub(leases[i + 1], 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
    local id, info = leases[i], ''
    local run = redis.pcall('HMGET', K.run .. id, 'attempts', 'lost', 'due')
    if not run.err and (run[1] or run[2] or run[3]) then
      info = (run[1] or '0') .. ' ' .. (run[2] or '0') .. ' ' .. (run[3] or '')
    end
    local body = redis.pcall('GET', K.job .. id)
    local before = type(body) == 'string' and previous(body)
    if before then info = (info == '' and '0 0 ' or info) .. ' ' .. before end
    reply[#reply + 1] = id
    reply[#reply + 1] = type(body) == 'string' and body or ''
    reply[#reply + 1] = info
  end
end
return reply
