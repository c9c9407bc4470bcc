-- history: read the records of a schedule's runs, and its open and waiting ones.
-- include: clock head place show
-- KEYS  1 routing
-- ARGV  1 schedule   2 due since, unix ms   3 most open ones and most waiting ones to show
-- Reply {now, '1' if it is applied, records…: text, {jobs as inspect shows them, heads only}}
local name, records, jobs = ARGV[1], {}, {}
for _, set in ipairs({ K.succeeded .. name, K.failed .. name }) do
  local some = redis.pcall('ZRANGE', set, ARGV[2], '+inf', 'BYSCORE')
  for _, text in ipairs(some.err and {} or some) do records[#records + 1] = text end
end
for _, set in ipairs({ K.open .. name, K.held .. name, K.makeup .. name }) do
  local some = redis.pcall('ZRANGE', set, 0, ARGV[3] - 1)
  for _, id in ipairs(some.err and {} or some) do
    local h = read_head(id)
    if h then jobs[#jobs + 1] = show(id, h, false) end
  end
end
return { now, redis.call('HEXISTS', K.schedules, name), records, jobs }
