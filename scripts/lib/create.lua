-- A batch of jobs to create is collected first, reading only, and then written:
-- the first write is a SET, which Redis refuses whole when its memory is full.
local totals = redis.call('HMGET', K.counts, 'created', 'largest')
local batch = {
  serial = tonumber(totals[1] or '0'), largest = tonumber(totals[2] or '0'), grown = false,
  count = 0, bodies = {}, delayed = {}, expiries = {}, uniques = {}, lanes = {}, order = {},
  new_queues = {}, queues = {},
}
local begun = tostring(now) -- once, not for every body
local format = string.format

-- refuses says why no job may enter queue now, or nil: there are 1,000 queues
-- already, or something foreign stands where its lane should.
local function refuses(queue)
  local why = batch.queues[queue]
  if why ~= nil then return why or nil end
  batch.queues[queue] = false
  local length = redis.pcall('LLEN', K.queue .. queue)
  if type(length) ~= 'number' then
    batch.queues[queue] = 'spoilt'
  elseif length == 0 and redis.call('HEXISTS', K.queues, queue) == 0 then
    if redis.call('HLEN', K.queues) + #batch.new_queues / 2 >= 1000 then
      batch.queues[queue] = 'queues'
    else
      table.insert(batch.new_queues, queue)
      table.insert(batch.new_queues, '')
    end
  end
  return batch.queues[queue] or nil
end

-- add collects one job whose id is free: due now when when is '' or past, unless
-- a tick is to keep its instant. It returns when the job is due, '' for now. key is its
-- key, where the caller has it.
local function add(id, queue, when, expiry, unique, kind, tail, keep, key)
  local serial, count = batch.serial + 1, batch.count + 1
  batch.serial, batch.count = serial, count
  local due = when
  if due ~= '' then
    due = instant(when)
    if not keep and tonumber(due) <= now then due = '' end
  end
  if expiry ~= '' then expiry, kind = instant(expiry), 'X' end
  local arrival = format('%012x', serial)
  local member = arrival .. ':' .. queue .. ':' .. id
  local body = kind .. '\t' .. arrival .. '\t' .. begun .. '\t' .. due .. '\t' .. expiry .. '\t' .. tail
  if #body > batch.largest then batch.largest, batch.grown = 2 * #body, true end
  local bodies = batch.bodies
  bodies[2 * count - 1], bodies[2 * count] = key or K.job .. id, body
  if due == '' then
    local lane = batch.lanes[queue]
    if not lane then
      lane = {}
      batch.lanes[queue] = lane
      table.insert(batch.order, queue)
    end
    lane[#lane + 1] = member
  else
    local delayed = batch.delayed
    local last = #delayed
    delayed[last + 1], delayed[last + 2] = due, member
    if not batch.head or tonumber(due) < batch.head then batch.head = tonumber(due) end
  end
  if expiry ~= '' then
    table.insert(batch.expiries, expiry)
    table.insert(batch.expiries, id)
  end
  if unique ~= '' then
    table.insert(batch.uniques, K.unique .. unique)
    table.insert(batch.uniques, id)
  end
  return due
end

-- create writes the batch.
local function create()
  if batch.count == 0 then return end
  local first = #batch.delayed > 0 and redis.call('ZRANGE', K.delayed, '0', '0', 'WITHSCORES')
  if #batch.expiries > 0 then redis.call('ZCARD', K.expiry) end
  if batch.count == 1 then
    redis.call('SET', batch.bodies[1], batch.bodies[2])
  else
    redis.call('MSET', unpack(batch.bodies))
  end
  redis.call('HINCRBY', K.counts, 'created', batch.count)
  if batch.grown then redis.call('HSET', K.counts, 'largest', batch.largest) end
  if #batch.delayed > 0 then
    redis.call('ZADD', K.delayed, unpack(batch.delayed))
    if not first[2] or batch.head < tonumber(first[2]) then wake(K.wake_promoter) end
  end
  for _, queue in ipairs(batch.order) do
    redis.call('RPUSH', K.queue .. queue, unpack(batch.lanes[queue]))
    wake(K.wake .. queue)
  end
  if #batch.expiries > 0 then redis.call('ZADD', K.expiry, unpack(batch.expiries)) end
  if #batch.uniques > 0 then redis.call('MSET', unpack(batch.uniques)) end
  if #batch.new_queues > 0 then redis.call('HSET', K.queues, unpack(batch.new_queues)) end
end
