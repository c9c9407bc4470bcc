-- place tells where a job is: its state and, where the place has one, its score.
-- No place but a body means that it stands in a lane.
local function place(id, h)
  local score = redis.call('ZSCORE', K.delayed, h.member)
  if score then return 'delayed', score end
  score = redis.call('ZSCORE', K.active, id)
  if score then return 'active', score end
  score = redis.call('ZSCORE', K.dead, id)
  if score then return 'dead', score end
  score = redis.call('ZSCORE', K.finished, id)
  if score then
    local state = redis.pcall('HGET', K.run .. id, 'state')
    return type(state) == 'string' and state or 'completed', score
  end
  return 'waiting'
end

-- lane_of tells in which lane a waiting job stands: the normal one only if it was
-- created without a delay and nothing has touched it since.
local function lane_of(id, h)
  if h.due == '' and redis.call('EXISTS', K.run .. id) == 0 then return K.queue .. h.queue end
  return K.queue .. h.queue .. '-delayed'
end
