-- Runs of a schedule that are due and have to wait stand in the delayed set, and in
-- one of two sets of their schedule, by due time: held (ticks, and runs asked for
-- by hand) or makeup (what makes up for the past, with the ticks that queue behind it
-- under All; backfills behind all others). A wrong type under one of these keys is as if
-- it were empty.

-- Backfills wait behind all others.
local BACKFILLS = 100000000000000

-- first_of finds the first of a waiting set. Those that have vanished are dropped.
local function first_of(set)
  for _ = 1, 10 do
    local first = redis.pcall('ZRANGE', set, 0, 0, 'WITHSCORES')
    if not first[1] then return nil end
    local h = read_head(first[1])
    if h then return { id = first[1], set = set, score = tonumber(first[2]), head = h } end
    redis.call('ZREM', set, first[1])
  end
end

-- next_of tells whose turn it is among the waiting and one more, if given: the one
-- that was due first. What is due goes before backfills; but of two that both have to
-- wait, each goes in its turn, so that neither starves the other.
local function next_of(name, mine)
  local held, makeup = first_of(K.held .. name), first_of(K.makeup .. name)
  if mine and mine.set == K.held .. name and not (held and held.score < mine.score) then held = mine end
  if mine and mine.set == K.makeup .. name and not (makeup and makeup.score < mine.score) then makeup = mine end
  if not held or not makeup then return held or makeup end
  if makeup.score < BACKFILLS then return makeup.score < held.score and makeup or held end
  return redis.pcall('HGET', K.schedule .. name, 'turn') == 'makeup' and makeup or held
end

-- call_up makes a waiting run due now, for the promoter to decide on. It can only
-- help: the run is looked at again anyway.
local function call_up(run)
  redis.pcall('ZADD', K.delayed, 'XX', now, run.head.member)
  wake(K.wake_promoter)
end

-- pull calls up the next waiting run of a schedule, if no other is open.
local function pull(name)
  if redis.pcall('EXISTS', K.held .. name, K.makeup .. name) == 0 then return end
  if redis.pcall('ZCARD', K.open .. name) ~= 0 then return end
  local run = next_of(name)
  if run then call_up(run) end
end
