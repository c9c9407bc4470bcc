-- recover: find the jobs that a reserve leased whose answer never came.
-- include: previous
-- KEYS  1 routing
-- ARGV  1 token
-- Reply per job: id, body, '' or '<attempts> <lost> <due>[ <previous run>]'
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
