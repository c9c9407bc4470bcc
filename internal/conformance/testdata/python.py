import json, time, uuid
import redis

r = redis.Redis()
job = [str(uuid.uuid4()), "high", "send-email", {"to": "x"}]
r.zadd("{bide}:inbox", {json.dumps(job): time.time() + 600})
