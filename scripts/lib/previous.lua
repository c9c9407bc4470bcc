-- previous reads, for the job of a schedule, how the run before it ended.
local function previous(body)
  local schedule = string.match(body, '^X\t%x+\t%d+\t%d*\t%d*\t[^\t]*\t[^\t]*\t%d*\t[^\t]*\t([^\t]+)\t')
  local state = schedule and redis.pcall('HGET', K.schedule .. schedule, 'lastRan')
  return type(state) == 'string' and state
end
