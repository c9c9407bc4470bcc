import { randomUUID } from "node:crypto";
import { createClient } from "redis";

const redis = await createClient().connect();
const job = [randomUUID(), "high", "send-email", { to: "x" }];
await redis.zAdd("{bide}:inbox", { score: Date.now() / 1000 + 600, value: JSON.stringify(job) });
await redis.close();
