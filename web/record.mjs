// What the page tells a graphics card to do for a network, written down: buffers, shaders, numbers and dispatches, in their
// order, and what the WebAssembly kernel makes of the same picture. Whatever can run WGSL can then do the same without a
// browser; `python -m benchmarks.gpu.page FOLDER` does it with wgpu-native.
//
//   node web/record.mjs FOLDER

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const [folder] = process.argv.slice(2), js = new URL("../src/whorl/page/static/js/", import.meta.url);
const SIZES = [["photo-8k", 100], ["photo-8k", 512], ["photo-grey", 512], ["photo-colour", 512]], ROOM = 2 ** 25, NOISE = 25;
globalThis.fetch = async (url) => ({ ok: true, arrayBuffer: async () => new Uint8Array(await readFile(url)).buffer });
globalThis.GPUBufferUsage = { UNIFORM: 1, STORAGE: 2, COPY_DST: 4, COPY_SRC: 8, MAP_READ: 16 };
globalThis.GPUMapMode = { READ: 1 };
const [{ CardNetwork }, { loadNetwork, levelOf }, { onProcessor }, { loadKernel }, { normal }, { joined }] = await Promise.all(
  ["cardnetwork", "trained", "network", "filter", "scenes", "bands"].map((name) => import(new URL(`${name}.js`, js))));
const text = ({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength).toString("base64");

// A device that computes nothing and remembers everything.
function recorder() {
  const said = { buffers: [], shaders: [], writes: [], dispatches: [], result: null };
  const device = {
    limits: { maxBufferSize: 2 ** 28, maxStorageBufferBindingSize: 2 ** 27 },
    createBuffer({ size }) {
      said.buffers.push(size);
      return { number: said.buffers.length - 1, size, destroy() {}, unmap() {}, mapAsync: async () => {}, getMappedRange: () => new ArrayBuffer(size) };
    },
    createShaderModule: ({ code }) => code,
    async createComputePipelineAsync({ compute: { module } }) {
      said.shaders.push(module);
      return { number: said.shaders.length - 1, getBindGroupLayout: () => null };
    },
    createBindGroup: ({ entries }) => entries.map(({ resource: { buffer, offset = 0, size = buffer.size } }) => [buffer.number, offset, size]),
    createCommandEncoder: () => ({
      beginComputePass() {
        let shader, bound;
        return {
          setPipeline: (pipeline) => { shader = pipeline.number; }, setBindGroup: (_, group) => { bound = group; }, end() {},
          dispatchWorkgroups: (...groups) => said.dispatches.push({ shader, bound, groups }),
        };
      },
      copyBufferToBuffer: (from) => { said.result = from.number; }, finish() {},
    }),
    queue: { writeBuffer: (buffer, _, values) => said.writes.push([buffer.number, text(values)]), submit() {}, onSubmittedWorkDone: async () => {} },
  };
  return { device, said };
}

await mkdir(folder, { recursive: true });
const kernel = await loadKernel(new URL("../kernel.wasm", js));
for (const [name, side] of SIZES) {
  const numbers = await loadNetwork(name), level = levelOf(NOISE), next = normal(1), { device, said } = recorder();
  const compiled = (code) => device.createComputePipelineAsync({ compute: { module: device.createShaderModule({ code }) } });
  const network = await CardNetwork.make(device, name, numbers, compiled, ROOM);
  const picture = Array.from({ length: network.places.channels }, (_, c) => Float32Array.from({ length: side * side },
    (_, i) => 0.25 * Math.sin((i % side) / 9 + c) * Math.cos(Math.floor(i / side) / 13) + 0.1 * next()));
  await network.apply(picture, side, side, level, () => {});
  const expected = text(joined(await onProcessor(kernel, name, numbers, picture, side, side, level)));
  await writeFile(join(folder, `${name}-${side}.json`), JSON.stringify({ name, side, expected, ...said }));
}
