-- event notes what happened to ids in the capped stream, 64 of them an entry. A
-- stream that cannot be written loses the note, never the move.
local function event(name, ids, ...)
  for i = 1, #ids, 64 do
    redis.pcall('XADD', K.events, 'MAXLEN', '~', 10000, '*', name,
      table.concat(ids, ' ', i, math.min(i + 63, #ids)), ...)
  end
end
