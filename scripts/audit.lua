-- audit: read the sum of all jobs at one instant.
-- include: sum
-- KEYS  1 routing
-- Reply {created, delayed, waiting, active, completed, dead, cancelled, expired, skipped}
return sum()
