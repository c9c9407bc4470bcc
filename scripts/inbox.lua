-- inbox: read entries of the inbox that are to be adopted, as many as a call may
-- carry.
-- KEYS  1 routing
-- ARGV  1 most entries
-- Reply per entry: member, score
local reply, bytes, at = {}, 0, 0
local most = tonumber(ARGV[1])
while at < most and bytes < 4194304 do
  local some = redis.call('ZRANGE', K.inbox, at, at + 3, 'WITHSCORES')
  if #some == 0 then break end
  for i = 1, #some, 2 do
    reply[#reply + 1] = some[i]
    reply[#reply + 1] = some[i + 1]
    bytes = bytes + #some[i]
  end
  at = at + 4
end
return reply
