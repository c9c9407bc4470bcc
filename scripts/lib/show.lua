-- show answers with all that Redis knows of one job, for people: id, state, the
-- score of its place, body (or only its head), run fields, lease, failures.
local function show(id, h, whole)
  local state, score = place(id, h)
  local fields = redis.pcall('HGETALL', K.run .. id)
  local failures = redis.pcall('LRANGE', K.errors .. id, 0, whole and 9 or 0)
  local body = redis.call('GETRANGE', K.job .. id, 0, whole and -1 or 1279)
  return { id, state, score or '', body, fields.err and {} or fields, redis.call('HGET', K.lease, id) or '', failures.err and {} or failures }
end
