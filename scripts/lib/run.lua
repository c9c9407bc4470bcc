-- set_run writes fields of a job's changing part. Something foreign under that
-- key has no claim to it and gives way.
local function set_run(id, ...)
  local reply = redis.pcall('HSET', K.run .. id, ...)
  if type(reply) == 'table' and reply.err then
    redis.call('DEL', K.run .. id)
    redis.call('HSET', K.run .. id, ...)
  end
end

-- get_run reads fields of a job's changing part; all are false where there is none.
local function get_run(id, ...)
  local reply = redis.pcall('HMGET', K.run .. id, ...)
  if reply.err then return {} end
  return reply
end

-- count_of reads a number from a run field; what is none counts as 0.
local function count_of(field)
  return tonumber(field or '') or 0
end

-- note_failure keeps the newest ten failures. entry is
-- '<kind> <attempt> <at> <started> <worker>\n<error>\0<stack>'.
local function note_failure(id, entry)
  local reply = redis.pcall('LPUSH', K.errors .. id, entry)
  if type(reply) == 'table' then
    redis.call('DEL', K.errors .. id)
    redis.call('LPUSH', K.errors .. id, entry)
  end
  redis.call('LTRIM', K.errors .. id, 0, 9)
end
