-- adopt: make jobs of inbox entries, or reject them, and take them out of the inbox.
-- An entry that another promoter has adopted meanwhile, or whose id is taken, makes
-- no second job. A full Redis refuses the call whole, and the entries wait.
-- include: clock wake reject create
-- KEYS  1 routing
-- ARGV  per entry: member, score, id or '' to reject it, queue or the reason, when, kind, tail
-- Reply {jobs created, entries rejected}
redis.call('ZCARD', K.inbox)
redis.call('ZCARD', K.delayed)
local taken, rejected, seen = {}, {}, {}
for i = 1, #ARGV, 7 do
  local member, id, queue = ARGV[i], ARGV[i + 2], ARGV[i + 3]
  if redis.call('ZSCORE', K.inbox, member) then
    taken[#taken + 1] = member
    local refused = id ~= '' and refuses(queue)
    if id == '' then
      rejected[#rejected + 1] = { queue, member, ARGV[i + 1] }
    elseif redis.call('EXISTS', K.job .. id) == 1 or seen[id] then
      seen[id] = true
    elseif refused then
      local why = refused == 'queues' and '1,000 queues are in use, which is the most' or 'something foreign stands under the key of its lane'
      rejected[#rejected + 1] = { why, member, ARGV[i + 1] }
    else
      seen[id] = true
      add(id, queue, ARGV[i + 4], '', '', ARGV[i + 5], ARGV[i + 6])
    end
  end
end
if #taken == 0 then return { 0, 0 } end
create()
redis.call('ZREM', K.inbox, unpack(taken))
for _, r in ipairs(rejected) do reject(r[1], r[2], r[3]) end
return { batch.count, #rejected }
