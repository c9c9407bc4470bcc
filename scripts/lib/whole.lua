-- While a cluster moves the namespace's slot, some of its keys are on another node
-- and look as if they did not exist. Redis refuses a script the first key that is
-- not there, after whatever it has written by then, so it is asked for two that
-- never are (no id is empty): that fails on either node, and here at once.
redis.call('EXISTS', K.job, K.run)
