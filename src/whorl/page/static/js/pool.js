// A few workers that share the load. Each keeps the picture, so that any of them can answer for any angle.

import { Graphics } from "./graphics.js";

// As many as there are cores, up to a number beyond which halos eat up what more workers bring.
export const workerCount = () => Math.max(2, Math.min(8, navigator.hardwareConcurrency ?? 2));

// What a task that nobody waits for any more ends with.
export class Dropped extends Error {}

export class Pool {
  constructor(size, graphics = new Graphics()) {
    this.graphics = graphics;
    this.waiting = new Map();
    this.next = 0;
    this.workers = Array.from({ length: size }, () => {
      const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
      worker.load = 0;
      worker.onmessage = ({ data }) => this.settle(worker, data);
      worker.onerror = (event) => this.fail(event.message || "A worker of this page could not start.");
      return worker;
    });
    this.workers.slice(1).forEach((worker, k) => { // neighbours exchange rows without the page
      const { port1, port2 } = new MessageChannel();
      this.workers[k].postMessage({ side: "below", port: port1 }, [port1]);
      worker.postMessage({ side: "above", port: port2 }, [port2]);
    });
  }

  // A number for what several workers do together.
  newJob() {
    return ++this.next;
  }

  // Send a task to one worker (the least busy) and promise its answer. Tasks of a group can be dropped together; `progress`
  // hears of long ones how much is done, from 0 to 1. The buffers of `transfer` are given away instead of copied.
  ask(task, message = {}, { worker = null, group = null, job = null, transfer = [], progress = () => {} } = {}) {
    const chosen = worker ?? this.workers.reduce((best, each) => (each.load < best.load ? each : best));
    const id = ++this.next;
    chosen.load += 1;
    chosen.postMessage({ id, task, ...message }, transfer);
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject, group, job, progress, worker: chosen }));
  }

  // Send the same task to every worker.
  tell(task, message) {
    return Promise.all(this.workers.map((worker) => this.ask(task, message, { worker })));
  }

  // Let the workers leave the tasks of a group, or of a job, where they are, so that they are free for what is asked next.
  drop(group) {
    for (const [id, waiting] of this.waiting) if (waiting.group === group || waiting.job === group) {
      waiting.dropped = true;
      waiting.worker.postMessage({ drop: id });
    }
  }

  // A worker wants the graphics card to apply a network. Without an answer it does so itself, or drops its task.
  async serve(worker, id, { number, trial, ...request }) {
    const task = this.waiting.get(id);
    const planes = await this.graphics.apply(request, (share) => {
      if (task.dropped) throw new Dropped();
      if (!trial) task.progress(share);
    }).catch(() => null);
    worker.postMessage({ number, planes, never: this.graphics.gone }, planes ? planes.map((plane) => plane.buffer) : []);
  }

  settle(worker, { id, failure, dropped, done, graphics, distrust, ...answer }) {
    const { resolve, reject, progress } = this.waiting.get(id);
    if (graphics) return this.serve(worker, id, graphics);
    if (distrust) return this.graphics.distrust();
    if (done !== undefined) return progress(done);
    this.waiting.delete(id);
    worker.load -= 1;
    if (dropped) reject(new Dropped());
    else if (failure) reject(new Error(failure));
    else resolve(answer);
  }

  fail(text) {
    for (const { reject } of this.waiting.values()) reject(new Error(text));
    this.waiting.clear();
  }
}

// Run `work` for the newest request only: while it is under way, later requests replace each other, and `overtaken` hears
// of them.
export function latest(work, overtaken = () => {}) {
  let running = false, pending = null;
  return async function request(...values) {
    pending = values;
    if (running) return overtaken();
    running = true;
    try {
      while (pending) {
        const now = pending;
        pending = null;
        await work(...now).catch((error) => { if (!(error instanceof Dropped)) throw error; });
      }
    } finally {
      running = false;
    }
  };
}
