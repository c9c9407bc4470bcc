import { randomUUID } from "node:crypto";
import { Redis } from "ioredis";

const redis = new Redis();
const job = [randomUUID(), "high", "send-email", { to: "x" }];
await redis.zadd("{bide}:inbox", Date.now() / 1000 + 600, JSON.stringify(job));
await redis.quit();
