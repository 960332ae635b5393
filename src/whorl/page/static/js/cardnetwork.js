// A network on the graphics card: its parts compiled, its numbers and streams in the card's memory, and how they are applied,
// u0 = L f, then u - K2* Phi(K1 u) many times, then f - P* u. Fields are held for a strip of rows at a time.

import { joined } from "./neighbours.js";
import { TILE, analysis, gateShares, gates, mapNumbers, matrixNumbers, synthesis } from "./shaders.js";
import { COEFFICIENTS, PROFILES, RADIUS, offsets, placesOf, scales } from "./trained.js";

const LEAST = 16; // rows of a strip
const AHEAD = 2; // applications that the card is given before the first of them is waited for
const ALIGNED = 256; // bytes between parts of a buffer that are bound by themselves

export class CardNetwork {
  // `compiled(code)` promises the part with that text; `room`: bytes for the fields of a strip.
  static async make(device, name, numbers, compiled, room) {
    const network = new CardNetwork(device, name, numbers, room), { width: C, channels, fields, rho } = network.places;
    const texts = {
      lift: analysis(channels, [C]), analysis: analysis(C, fields), gates: gates(fields, rho),
      synthesis: synthesis(C, fields), projection: synthesis(channels, [C]),
    };
    await Promise.all(Object.entries(texts).map(async ([part, code]) => { network.pipelines[part] = await compiled(code); }));
    return network;
  }

  constructor(device, name, numbers, room) {
    Object.assign(this, { device, numbers, room, places: placesOf(name), pipelines: {}, size: [0, 0], streams: [] });
    this.weights = Object.fromEntries(Object.entries(this.arranged()).map(([part, values]) => [part, this.uploaded(values, "UNIFORM")]));
  }

  // All numbers in the order in which the parts read them.
  arranged() {
    const { channels, width: C, fields, count, lift, projection, blocks } = this.places, { numbers } = this;
    const grouped = (start, inputs, output, input) => numbers[start + (Math.floor(output / 4) * inputs + input) * 4 + (output % 4)];
    const end = ({ matrices }, c, p, k) => numbers[matrices[0] + (c * PROFILES[0] + p) * C + k];
    const taps = (map, orders) => numbers.subarray(map.taps, map.taps + COEFFICIENTS * PROFILES.slice(0, orders).reduce((a, b) => a + b, 0));
    const found = {
      lift: mapNumbers(taps(lift, 1), [channels], [C], (_, c, p, k) => end(lift, c, p, k)),
      projection: mapNumbers(taps(projection, 1), [C], [channels], (_, k, p, c) => end(projection, c, p, k)),
    };
    blocks.forEach((block, b) => {
      const { analysis: K1, synthesis: K2, gate } = block, every = fields.map(() => C);
      found[`analysis${b}`] = mapNumbers(taps(K1, 3), every, fields, (m, c, p, f) => grouped(K1.matrices[m], C * PROFILES[m], f, c * PROFILES[m] + p));
      found[`synthesis${b}`] = mapNumbers(taps(K2, 3), fields, every, (m, f, p, c) => grouped(K2.matrices[m], fields[m], c * PROFILES[m] + p, f));
      found[`gates${b}`] = matrixNumbers(count, 1, count, (h, _, f) => grouped(gate, count, f, h));
    });
    return found;
  }

  buffer(bytes, ...uses) {
    const { device } = this, usage = uses.reduce((sum, use) => sum | GPUBufferUsage[use], 0);
    if (bytes > Math.min(device.limits.maxBufferSize, device.limits.maxStorageBufferBindingSize)) throw new Error("the picture is too large for it");
    return device.createBuffer({ size: bytes, usage });
  }

  uploaded(values, ...uses) {
    const buffer = this.buffer(values.byteLength, "COPY_DST", ...uses);
    this.device.queue.writeBuffer(buffer, 0, values);
    return buffer;
  }

  // Streams and fields for pictures of a size.
  fit(H, W) {
    if (this.size[0] === H && this.size[1] === W) return;
    this.release();
    const { channels, width: C, fields, rho } = this.places, components = fields[0] + 2 * (fields[1] + fields[2]), halo = 2 * (RADIUS + rho);
    const rows = Math.max(LEAST, Math.floor(this.room / (4 * components * W)) - halo), held = Math.min(H, rows + halo);
    const storage = (planes, high, ...uses) => this.buffer(4 * planes * high * W, "STORAGE", ...uses);
    this.streams = [storage(C, H), storage(C, H)];
    this.fields = [storage(components, held), storage(components, held)];
    this.picture = storage(channels, H, "COPY_DST");
    this.result = storage(channels, H, "COPY_SRC");
    this.reading = this.buffer(4 * channels * H * W, "MAP_READ", "COPY_DST");
    // The rows of each strip: those that it changes, and those of its gated fields and of its fields.
    this.strips = Array.from({ length: Math.ceil(H / rows) }, (_, k) => {
      const around = (reach) => [Math.max(0, k * rows - reach), Math.min(H, (k + 1) * rows + reach)];
      return { own: around(0), gated: around(RADIUS), found: around(RADIUS + rho) };
    });
    this.parts = new Map();
    this.size = [H, W];
  }

  release() {
    for (const buffer of [...this.streams, ...(this.fields ?? []), this.picture, this.result, this.reading, ...(this.parts?.values() ?? [])]) buffer?.destroy();
    this.size = [0, 0];
  }

  // Which rows are read, computed and written: a small buffer for each case.
  part(read, computed, written) {
    const [H, W] = this.size, values = Int32Array.of(H, W, ...[read, computed, written].flatMap(([first, last]) => [first, last - first]));
    const key = values.join();
    if (!this.parts.has(key)) this.parts.set(key, this.uploaded(values, "UNIFORM"));
    return this.parts.get(key);
  }

  // One part of the network: so many workgroups share the computation of a tile.
  dispatch(pass, name, weights, rows, shares, resources) {
    const pipeline = this.pipelines[name], bound = [this.part(...rows), this.weights[weights], ...resources];
    const entries = bound.map((resource, binding) => ({ binding, resource: resource.buffer ? resource : { buffer: resource } }));
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, this.device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries }));
    pass.dispatchWorkgroups(Math.ceil(this.size[1] / TILE.across), Math.ceil((rows[1][1] - rows[1][0]) / TILE.down), shares);
  }

  submit(work, after = () => {}) {
    const encoder = this.device.createCommandEncoder(), pass = encoder.beginComputePass();
    work(pass);
    pass.end();
    after(encoder);
    this.device.queue.submit([encoder.finish()]);
  }

  // The network applied to planes f of a size; `breath(share)` is called between two applications and may throw.
  async apply(f, H, W, level, breath) {
    this.fit(H, W);
    const { blocks, repetitions, fields, count } = this.places, { numbers, device } = this, whole = [0, H], under = [];
    const step = Math.ceil((8 * count) / ALIGNED) * ALIGNED, gate = new Float32Array((step / 4) * blocks.length * repetitions);
    blocks.forEach((block, b) => {
      for (let k = 0; k < repetitions; ++k)
        gate.set(joined([offsets(numbers, block, count, k, level), scales(numbers, block, count, level)]), (step / 4) * (b * repetitions + k));
    });
    const gating = this.uploaded(gate, "UNIFORM"), [v, flux] = this.fields;
    try {
      device.queue.writeBuffer(this.picture, 0, joined(f));
      let [u, next] = this.streams;
      this.submit((pass) => this.dispatch(pass, "lift", "lift", [whole, whole, whole], 1, [this.picture, u]));
      for (let k = 0; k < blocks.length * repetitions; ++k) {
        const b = Math.floor(k / repetitions), own = { buffer: gating, offset: step * k, size: 8 * count };
        this.submit((pass) => {
          for (const strip of this.strips) {
            this.dispatch(pass, "analysis", `analysis${b}`, [whole, strip.found, strip.found], fields.length, [u, v]);
            this.dispatch(pass, "gates", `gates${b}`, [strip.found, strip.gated, strip.gated], gateShares(count), [v, flux, own]);
            this.dispatch(pass, "synthesis", `synthesis${b}`, [strip.gated, strip.own, whole], 1, [flux, next, u]);
          }
        });
        [u, next] = [next, u];
        under.push(device.queue.onSubmittedWorkDone());
        if (under.length > AHEAD) await under.shift();
        await breath(k / (blocks.length * repetitions));
      }
      this.submit((pass) => this.dispatch(pass, "projection", "projection", [whole, whole, whole], 1, [u, this.result, this.picture]),
        (encoder) => encoder.copyBufferToBuffer(this.result, 0, this.reading, 0, this.reading.size));
      await this.reading.mapAsync(GPUMapMode.READ);
      const values = new Float32Array(this.reading.getMappedRange().slice(0));
      this.reading.unmap();
      return f.map((_, c) => values.slice(c * H * W, (c + 1) * H * W));
    } finally {
      gating.destroy();
    }
  }
}
