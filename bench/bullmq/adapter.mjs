// BullMQ through its own public API, as one process of a measurement. The protocol
// and what each mode measures are those of internal/protocol and internal/adapter.
import { createInterface } from "node:readline";
import { performance } from "node:perf_hooks";
import { Queue, Worker } from "bullmq";

const name = "bench";
const input = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => {
  const { value, done } = await input.next();
  return done ? undefined : JSON.parse(value);
};
const say = (message) => process.stdout.write(JSON.stringify(message) + "\n");
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The wall clock in microseconds: Date.now() has milliseconds only, so its steps
// are found once and performance.now() counts on from there. Whoever sees a step late
// gets too small an offset, and jobs that seem early, so the largest of some counts.
const offset = (() => {
  let most = -Infinity;
  for (let i = 0; i < 20; i++) {
    const first = Date.now();
    while (Date.now() === first);
    most = Math.max(most, Date.now() - performance.now());
  }
  return most;
})();
const micros = () => Math.round((offset + performance.now()) * 1000);

const spec = await read();
const connection = { host: spec.host, port: spec.port };
const queue = new Queue(name, { connection, defaultJobOptions: { removeOnComplete: true } });
await queue.waitUntilReady();

const due = (i) => (spec.dueMs && spec.jobs ? spec.dueMs + Math.floor((i * spec.overMs) / spec.jobs) : spec.dueMs);
const job = (i) => {
  const at = due(i);
  const data = { seq: i, due: at, to: "ana@example.com", subject: "Your order has shipped", order: "A-2044718" };
  if (!at) return { name, data, opts: {} };
  const now = Date.now(); // the job is due at timestamp + delay
  return { name, data, opts: { timestamp: now, delay: Math.max(0, at - now) } };
};

async function make(jobs) {
  if (spec.batch) {
    await queue.addBulk(jobs);
    return;
  }
  for (const j of jobs) await queue.add(j.name, j.data, j.opts);
}

async function counts() {
  const c = await queue.getJobCounts("waiting", "active", "delayed", "prioritized", "failed");
  return { delayed: c.delayed, waiting: c.waiting + c.prioritized, active: c.active, failed: c.failed };
}
const open = (c) => c.delayed + c.waiting + c.active;

async function settled(deadline) {
  while (performance.now() < deadline && open(await counts()) > spec.leave) await sleep(1);
}

function work(handle) {
  const worker = new Worker(name, async (j) => handle(j), { connection, concurrency: spec.concurrency });
  worker.on("error", (err) => console.error(err));
  return worker;
}

async function start() {
  say({ event: "ready" });
  const word = await read();
  if (!word?.go) throw new Error("told something else than to go");
}

const modes = {
  async enqueue() {
    const warm = Array.from({ length: spec.warm }, (_, i) => job(i % Math.max(1, spec.jobs)));
    if (warm.length) await make(warm);
    await start();
    const size = Math.max(1, spec.batch);
    let next = 0;
    const producer = async () => {
      while (next < spec.jobs) {
        const first = next;
        next += size;
        const jobs = [];
        for (let i = first; i < Math.min(first + size, spec.jobs); i++) jobs.push(job(i));
        await make(jobs);
      }
    };
    const began = performance.now();
    await Promise.all(Array.from({ length: Math.max(1, spec.producers) }, producer));
    return { seconds: (performance.now() - began) / 1000, endUs: micros() };
  },

  async work() {
    await start();
    const late = [];
    const seen = new Uint8Array(spec.jobs);
    let started = 0;
    let doubled = 0;
    let all;
    const everyone = new Promise((resolve) => (all = resolve));
    const began = performance.now();
    const deadline = began + spec.limitMs;
    work((j) => {
      if (spec.lateness) {
        const now = micros();
        if (seen[j.data.seq]++) {
          doubled++;
          return;
        }
        late.push(now - j.data.due * 1000);
      }
      if (++started === spec.jobs) all();
    });
    await Promise.race([everyone, sleep(spec.limitMs)]);
    await settled(deadline);
    const end = performance.now();
    return { seconds: (end - began) / 1000, endUs: micros(), started: started + doubled, doubled, micros: late };
  },

  async idle() {
    work(() => {});
    await sleep(spec.settleMs); // starting up is not idling
    await start();
    const began = performance.now();
    await sleep(spec.limitMs);
    return { seconds: (performance.now() - began) / 1000 };
  },

  async roundtrip() {
    let begin;
    await work(() => begin(performance.now())).waitUntilReady();
    const trip = async (i) => {
      const began = new Promise((resolve) => (begin = resolve));
      const sent = performance.now();
      const j = job(i);
      await queue.add(j.name, j.data, j.opts);
      return Math.round(((await began) - sent) * 1000);
    };
    for (let i = 0; i < spec.warm; i++) await trip(i);
    await start();
    const took = [];
    const began = performance.now();
    for (let i = 0; i < spec.jobs; i++) {
      if (i >= spec.least && performance.now() - began > spec.limitMs) break;
      took.push(await trip(i));
    }
    const seconds = (performance.now() - began) / 1000;
    await settled(performance.now() + 10000);
    return { seconds, started: took.length, micros: took };
  },
};

try {
  const mode = modes[spec.mode];
  if (!mode) throw new Error(`unknown mode ${spec.mode}`);
  const result = { started: 0, doubled: 0, endUs: 0, ...(await mode()) };
  result.counts = await counts();
  say({ event: "result", result });
  await read();
} catch (err) {
  say({ event: "error", text: String(err?.stack ?? err) });
}
process.stdout.write("", () => process.exit(0));
