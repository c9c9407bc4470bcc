-- turn: complete and then reserve in one call: a process with few slots spends most
-- of its time on the way. Each is what it is alone, and when the reserve fails the
-- other has been carried out all the same.
-- include: clock event wake complete reserve
-- at need: head previous run reject pull note finish unlane
-- KEYS  1 routing
-- ARGV  1 how many arguments complete has; then they; then those of reserve
-- Reply {the reply of complete, the reply of reserve or the text of its error}
local last = 1 + ARGV[1]
local done = complete(2, last)
local ok, taken = pcall(reserve, last)
if not ok then taken = type(taken) == 'table' and taken.err or tostring(taken) end
return { done, taken }
