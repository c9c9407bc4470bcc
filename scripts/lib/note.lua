-- note_run keeps a record of a run, or of a tick that never became a job, under its
-- schedule: the newest, by due time, up to the cap. scripts/history.go reads it.
local function note_run(name, outcome, cap, due, ...)
  local set = (outcome == 'completed' and K.succeeded or K.failed) .. name
  cap = tonumber(cap or '') or 100
  if cap == 0 then return end
  redis.pcall('ZADD', set, due, table.concat({ ... }, '\t'))
  redis.pcall('ZREMRANGEBYRANK', set, 0, -cap - 1)
end
