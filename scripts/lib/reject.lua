-- reject notes an entry that no job can be made of, capped.
local function reject(reason, member, score)
  redis.pcall('XADD', K.rejected, 'MAXLEN', '~', 1000, '*', 'at', now, 'reason', reason, 'score', score or '',
    'member', string.sub(member, 1, 1024))
end
