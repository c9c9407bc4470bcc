-- complete: end leased jobs whose handler returned nil. A lease that is no longer
-- the caller's leaves the job alone.
-- include: clock event complete
-- at need: head run reject wake pull note finish
-- KEYS  1 routing
-- ARGV  per token: token, how many, their ids…
-- Reply {now, ids whose lease was stale…}
return complete(1, #ARGV)
