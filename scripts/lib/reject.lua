-- reject notes an entry that no job can be made of, capped.
local function reject(reason, member)
  redis.pcall('XADD', K.rejected, 'MAXLEN', '~', 1000, '*', 'at', now, 'reason', reason, 'score', '',
    'member', string.sub(member, 1, 1024))
end
