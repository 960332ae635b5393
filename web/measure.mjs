// Why the page has a kernel of its own: the same filters in this kernel, in plain JavaScript and in onnxruntime-web.
//
//   npm install --prefix /tmp/peer onnxruntime-web
//   for m in perona-malik eed multiscale-anisotropic; do whorl export /tmp/peer/$m.onnx -m $m -c 20 --steps 10; done
//   node web/measure.mjs /tmp/peer
//
// Prints milliseconds per step of a 256 x 256 image (best of twenty runs of ten steps, which other load disturbs least) and sizes of what is loaded.

import { readFile, stat } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const peer = process.argv[2], page = fileURLToPath(new URL("../src/whorl/page/static/", import.meta.url));
const { chromium } = createRequire(import.meta.url)("playwright-core");
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm", ".html": "text/html" };

const server = createServer(async ({ url }, response) => {
  const path = url.startsWith("/peer/") ? join(peer, url.slice(6)) : join(page, url);
  const body = url === "/blank" ? "<!doctype html>" : await readFile(path).catch(() => null);
  response.writeHead(body === null ? 404 : 200, { "content-type": types[extname(path)] ?? "text/html" }).end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"],
});
const tab = await browser.newPage();
await tab.goto(`http://127.0.0.1:${server.address().port}/blank`);

const table = await tab.evaluate(async () => {
  const size = 256, steps = 10, image = Float32Array.from({ length: size * size }, () => 255 * Math.random());
  const { diffuse, loadKernel } = await import("/js/filter.js");
  const { MODELS, makePlan } = await import("/js/models.js");
  const ort = await import("/peer/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
  Object.assign(ort.env.wasm, { wasmPaths: "/peer/node_modules/onnxruntime-web/dist/", numThreads: 1 });
  const kernel = await loadKernel("/kernel.wasm");

  async function best(run) {
    let least = Infinity;
    for (let k = 0; k < 20; ++k) {
      const start = performance.now();
      await run();
      least = Math.min(least, (performance.now() - start) / steps);
    }
    return least;
  }

  // Perona and Malik as one would write it in JavaScript: cell by cell, typed arrays, no kernel.
  function plain(u, n, contrast, tau, e) {
    const w = n + 1, P = new Float32Array(w * w), Q = new Float32Array(w * w), R = new Float32Array(w * w);
    const at = (y, x) => u[Math.min(n - 1, Math.max(0, y)) * n + Math.min(n - 1, Math.max(0, x))];
    for (let k = 0; k < steps; ++k) {
      for (let j = 0; j < w; ++j)
        for (let i = 0; i < w; ++i) {
          const a = at(j - 1, i - 1), b = at(j - 1, i), c = at(j, i - 1), d = at(j, i), o = j * w + i;
          const p = (b - a + d - c) / 2, q = (c - a + d - b) / 2, r = (d - b - c + a) / 2;
          const g = Math.exp(-(p * p + q * q + 2 * e * r * r) / (2 * contrast * contrast));
          P[o] = g * p; Q[o] = g * q; R[o] = 2 * e * g * r;
        }
      for (let y = 0; y < n; ++y)
        for (let x = 0; x < n; ++x) {
          const o = y * w + x, s = o + w;
          const above = P[o] + Q[o] + R[o] + Q[o + 1] - P[o + 1] - R[o + 1];
          u[y * n + x] -= (tau / 2) * (above + P[s] - Q[s] - R[s] + R[s + 1] - P[s + 1] - Q[s + 1]);
        }
    }
  }

  const rows = {};
  for (const model of ["perona-malik", "eed", "multiscale-anisotropic"]) {
    const plan = { ...makePlan(model, { ...MODELS[model].start, contrast: 20, sigma: model === "eed" ? 1 : 0 }), steps };
    const session = await ort.InferenceSession.create(`/peer/${model}.onnx`);
    const feeds = { image: new ort.Tensor("float32", image, [1, 1, size, size]) };
    rows[model] = {
      kernel: await best(() => diffuse(kernel, [image], size, size, plan)),
      "onnxruntime-web": await best(() => session.run(feeds)),
    };
  }
  rows["perona-malik"].javascript = await best(() => plain(image.slice(), size, 20, 0.4, 0.18));
  return rows;
});
for (const row of Object.values(table)) for (const key of Object.keys(row)) row[key] = Number(row[key].toFixed(2));
console.table(table);
const runtime = join(peer, "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm");
console.log("kernel.wasm", (await stat(join(page, "kernel.wasm"))).size, "bytes; onnxruntime-web", (await stat(runtime)).size, "bytes");
await browser.close();
server.close();
