-- Redis' clock, read once. us: microseconds. now: the millisecond that has
-- begun. soon: the first millisecond that is not in the past, so that a job due
-- "in d" is never early by a fraction.
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local part = us % 1000
local now = (us - part) / 1000
local soon = part > 0 and now + 1 or now

-- instant turns '+<ms>' (from now, rounded up) or '<ms>' into text of unix ms.
local function instant(text)
  if string.sub(text, 1, 1) ~= '+' then return text end
  return string.format('%.0f', soon + tonumber(string.sub(text, 2)))
end
