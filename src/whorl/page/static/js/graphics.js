// The graphics card, where the browser has WebGPU: one device for the whole page, which carries out the networks. Whatever goes
// wrong with it, its users are told "no", and the processor does the work.

import { loadNetwork } from "./trained.js";

export const CHOICES = ["graphics", "processor"]; // what an address may ask for
const ROOM = 2 ** 25;
const IDLE = 20000; // milliseconds after which a picture's memory is given back
const ATTEMPTS = 2; // a card that was lost, as when a machine sleeps, is tried once more

export class Graphics {
  // "graphics" also takes a card that is only a program, "processor" takes none. Fields of a network are given so many bytes
  // of it, or what their smallest strip needs.
  constructor(choice = "automatic", room = ROOM) {
    Object.assign(this, { choice, room });
    this.failures = 0;
    this.reason = ""; // why the card is not used, in words, where it was asked for or has failed
    this.queue = Promise.resolve();
  }

  // What the page says where the processor did the work.
  get instead() {
    return this.reason ? `on the processor: ${this.reason}` : "on the processor";
  }

  // Whether it is of no use to ask again.
  get gone() {
    return this.choice === "processor" || this.failures >= ATTEMPTS;
  }

  // Whether there is a card that can be used.
  async open() {
    if (this.gone) return false;
    this.opening ??= this.found();
    try {
      this.device = await this.opening;
    } catch (error) {
      this.fail(this.choice === "graphics" ? error.message : "", ATTEMPTS);
    }
    return Boolean(this.device);
  }

  async found() {
    const adapter = await globalThis.navigator?.gpu?.requestAdapter();
    if (!adapter) throw new Error("this browser offers no graphics card");
    const program = adapter.info?.isFallbackAdapter ?? adapter.isFallbackAdapter ?? false;
    if (program && this.choice !== "graphics") throw new Error("the graphics card of this browser is only a program");
    const device = await adapter.requestDevice().catch(() => { throw new Error("the graphics card of this browser cannot be used"); });
    [this.networks, this.parts] = [new Map(), new Map()];
    device.lost.then(() => { if (this.device === device) this.fail("the graphics card was lost"); });
    return device;
  }

  fail(reason, count = 1) {
    this.failures += count;
    this.reason = reason;
    const { device } = this;
    this.device = this.opening = null;
    device?.destroy();
  }

  // What it computes is not what the kernel computes.
  distrust() {
    this.fail("the graphics card gives another result", ATTEMPTS);
  }

  // What is needed only here is fetched only now.
  async network(name) {
    if (!this.networks.has(name)) {
      const { CardNetwork } = await import("./cardnetwork.js");
      this.networks.set(name, await CardNetwork.make(this.device, name, await loadNetwork(name), (code) => this.compiled(code), this.room));
    }
    return this.networks.get(name);
  }

  // Networks of one structure have parts in common.
  compiled(code) {
    const { device } = this;
    if (!this.parts.has(code))
      this.parts.set(code, device.createComputePipelineAsync({ layout: "auto", compute: { module: device.createShaderModule({ code }) } }));
    return this.parts.get(code);
  }

  // The planes of a picture after the network, or null where the processor has to do it. One picture after the other; what
  // `breath(share)` throws ends it.
  apply(request, breath = () => {}) {
    const answer = this.queue.then(() => this.applied(request, breath));
    this.queue = answer.catch(() => {});
    clearTimeout(this.idle);
    this.idle = setTimeout(() => { this.queue = this.queue.then(() => this.networks?.forEach((network) => network.release())); }, IDLE);
    return answer;
  }

  async applied({ network, planes, height, width, level }, breath) {
    if (!(await this.open())) return null;
    const { device } = this, kinds = ["validation", "out-of-memory", "internal"];
    let stopped = null;
    try {
      for (const kind of kinds) device.pushErrorScope(kind);
      const result = await (await this.network(network)).apply(planes, height, width, level, async (share) => {
        try { await breath(share); } catch (error) { stopped = error; throw error; }
      });
      const errors = await Promise.all(kinds.map(() => device.popErrorScope()));
      const error = errors.find(Boolean);
      if (error) throw error;
      return result;
    } catch {
      if (stopped) {
        await Promise.all(kinds.map(() => device.popErrorScope()));
        throw stopped;
      }
      if (this.device === device) this.fail("the graphics card failed");
      return null;
    }
  }
}
