-- recover: find the jobs that a reserve leased whose answer never came. Should Redis
-- come to it only now, it leases nothing any more: nobody would ask again. They come
-- in the order in which they stood in the lanes of a queue, which the leases do not
-- tell: what had become due by due time, then the others by arrival.
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
local found, reply = {}, {}
for i = 1, #leases, 2 do
  if string.sub(leases[i + 1], 1, #ARGV[1] + 1) == ARGV[1] .. ' ' then
    local id, info = leases[i], ''
    local run = redis.pcall('HMGET', K.run .. id, 'attempts', 'lost', 'due', 'back', 'putoff')
    if run.err then run = {} end
    if run[1] or run[2] or run[3] then
      info = (run[1] or '0') .. ' ' .. (run[2] or '0') .. ' ' .. (run[3] or '')
    end
    local body = redis.pcall('GET', K.job .. id)
    if type(body) ~= 'string' then body = '' end
    local before = previous(body)
    if before then info = (info == '' and '0 0 ' or info) .. ' ' .. before end
    local arrival, created, due = string.match(body, '^[PX]\t(%x+)\t(%d+)\t(%d*)\t')
    local late = due ~= '' or run[1] or run[2] or run[3] or run[4] or run[5]
    found[#found + 1] = {
      id = id, body = body, info = info, arrival = arrival or '',
      at = late and tonumber(run[3] or due ~= '' and due or created) or math.huge,
    }
  end
end
table.sort(found, function(a, b)
  if a.at ~= b.at then return a.at < b.at end
  return a.arrival < b.arrival
end)
for _, f in ipairs(found) do
  reply[#reply + 1] = f.id
  reply[#reply + 1] = f.body
  reply[#reply + 1] = f.info
end
return reply
