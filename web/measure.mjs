// How fast the page is, in a real Chromium: what a visitor waits for, and the kernel beside other ways to compute.
//
//   node web/measure.mjs                    moves of a slider on a 500 x 500 colour picture, networks (on the processor and,
//                                           where there is one, on the graphics card), curves, a stroke of the brush
//   node web/measure.mjs --quick            the same on small pictures, to see that it runs
//   node web/measure.mjs --peer /tmp/peer   also the kernel, plain JavaScript and onnxruntime-web, step by step
//
// For --peer: npm install --prefix /tmp/peer onnxruntime-web, and
//   for m in perona-malik eed multiscale-anisotropic; do whorl export /tmp/peer/$m.onnx -m $m -c 20 --steps 10; done
//
// Writes one JSON document to standard output: { browser, cases: { name: [{ method, best_s, median_s, ... }] } }.
// `python -m benchmarks page` runs this and keeps the result.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";

const quick = process.argv.includes("--quick"), sides = quick ? [96, 80] : [500, 512];
const at = process.argv.indexOf("--peer"), peer = at < 0 ? null : process.argv[at + 1];
const page = fileURLToPath(new URL("../src/whorl/page/static/", import.meta.url));
const { chromium } = createRequire(import.meta.url)("playwright-core");
const types = { ".js": "text/javascript", ".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".wasm": "application/wasm" };

const server = createServer(async ({ url }, response) => {
  const file = new URL(url, "http://x").pathname.replace(/\/$/, "/index.html");
  const path = peer && file.startsWith("/peer/") ? join(peer, file.slice(6)) : join(page, file);
  const body = await readFile(path).catch(() => null);
  response.writeHead(body === null ? 404 : 200, { "content-type": types[extname(path)] ?? "text/html" }).end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
// Without a graphics card, so that every time is the processor's; networks are measured again in a browser that has one.
const launch = (more) => chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-background-networking", "--disable-component-update", ...more],
});
const visited = async (browser) => {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce" }), tab = await context.newPage();
  tab.setDefaultTimeout(300000);
  return tab;
};
const browser = await launch(["--disable-gpu"]);
const address = `http://127.0.0.1:${server.address().port}/`;
let tab = await visited(browser);

const row = (method, times, more = {}) => {
  const sorted = [...times].sort((a, b) => a - b);
  return { method, best_s: sorted[0] / 1000, median_s: sorted[Math.floor(sorted.length / 2)] / 1000, repeats: times.length, ...more };
};
const ready = () => tab.waitForFunction(() => {
  const facts = document.querySelector("#facts"), verdicts = document.querySelector("#verdicts");
  const compared = document.querySelector(".proof").hidden || (verdicts.dataset.wanted && verdicts.dataset.wanted === verdicts.dataset.shown);
  return facts.dataset.wanted && facts.dataset.of === facts.dataset.wanted && compared;
});

// A picture of shapes, shading and fine stripes with noise of 20, opened like a visitor's own.
async function openPicture(side, colour = true) {
  await tab.evaluate(async ({ side, colour }) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: side, height: side }), context = canvas.getContext("2d");
    const image = context.createImageData(side, side), { normal } = await import(new URL("js/scenes.js", location));
    const next = normal(1);
    for (let y = 0, k = 0; y < side; ++y)
      for (let x = 0; x < side; ++x, k += 4) {
        const disc = Math.hypot(x - 0.4 * side, y - 0.5 * side) < 0.25 * side, stripes = x > 0.7 * side ? 30 * Math.sin((x + y) / 3) : 0;
        [disc ? 200 : 60 + y / 6, 90 + 60 * Math.sin(x / 40) + stripes, disc ? 70 : 190 - x / 5].forEach((v, c) => { image.data[k + c] = colour || c === 0 ? v + 20 * next() : image.data[k]; });
        image.data[k + 3] = 255;
      }
    context.putImageData(image, 0, 0);
    const blob = await new Promise((resolve) => canvas.toBlob(resolve)), transfer = new DataTransfer();
    transfer.items.add(new File([blob], "picture.png", { type: "image/png" }));
    document.body.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
  }, { side, colour });
  await tab.waitForFunction((side) => document.querySelector("#facts").innerText.includes(`${side} × ${side}`), side);
  await ready();
}

// Milliseconds from the move of a slider until the picture that belongs to it, or its draft, is painted.
const move = (up) => tab.evaluate(async (up) => {
  const range = document.querySelector("#parameters .parameter:not([hidden]) input[type=range]"), facts = document.querySelector("#facts");
  range.value = String(Number(range.value) + (up ? 6 : -6));
  const start = performance.now();
  range.dispatchEvent(new Event("input", { bubbles: true }));
  await new Promise((resolve) => {
    const done = () => { if ([facts.dataset.of, facts.dataset.draft].includes(facts.dataset.wanted)) { watch.disconnect(); resolve(); } };
    const watch = new MutationObserver(done);
    watch.observe(facts, { attributes: true });
    done();
  });
  return performance.now() - start;
}, up);

async function sliders(side, moves) {
  await tab.goto(address);
  await ready();
  await openPicture(side);
  const rows = [], models = await tab.evaluate(() => [...document.querySelectorAll("#model option")].map((option) => option.value));
  for (const model of models) {
    await tab.selectOption("#model", model);
    await ready();
    const times = [], whole = [];
    for (let k = 0; k < moves; ++k) {
      times.push(await move(k % 2 === 0));
      await ready();
      whole.push(await tab.evaluate(() => document.querySelector("#facts").innerText.match(/Computed in\s+([\d.]+) (ms|s)/)));
    }
    const full = whole.slice(2).map(([, value, unit]) => (unit === "s" ? 1 : 0.001) * Number(value));
    const draft = await tab.evaluate(() => { const f = document.querySelector("#facts"); return f.dataset.draft === f.dataset.of; });
    const steps = await tab.evaluate(() => Number(document.querySelector("#facts").innerText.match(/Steps\s+(\d+)/)?.[1] ?? 1));
    rows.push(row(model, times.slice(2), { steps, draft, full_best_s: Math.min(...full), ...((await place()) ? { note: await place() } : {}) })); // the first moves compile the kernel
    process.stderr.write(`slider ${model} ${(1000 * rows.at(-1).best_s).toFixed(0)} ms\n`);
  }
  return rows;
}

// Where the page says that it computed.
const place = () => tab.evaluate(() => document.querySelector("#facts").innerText.match(/on the [a-z ]+/)?.[0]);

// The networks once more where Chromium finds a graphics card; a card that is only a program does not count.
async function onCard(side) {
  const other = await launch(["--enable-unsafe-webgpu", "--enable-features=Vulkan"]), before = tab;
  tab = await visited(other);
  await tab.goto(`${address}favicon.svg`);
  const card = await tab.evaluate(async () => {
    const adapter = await navigator.gpu?.requestAdapter();
    return adapter && !adapter.info.isFallbackAdapter ? `${adapter.info.vendor} ${adapter.info.architecture}` : null;
  });
  const rows = card ? (await networks(side)).map((each) => ({ ...each, method: `${each.method}, graphics card`, card })) : [];
  if (!card) process.stderr.write("no graphics card: networks are measured on the processor alone\n");
  await other.close();
  tab = before;
  return rows;
}

// From the choice of a network until its picture is painted, with the page's workers or the graphics card.
async function networks(side) {
  await tab.goto(`${address}?networks`);
  await ready();
  await openPicture(side, false);
  const rows = [];
  for (const model of ["small-network", "network"]) {
    const times = [];
    for (let k = 0; k < 4; ++k) {
      await tab.selectOption("#model", "perona-malik");
      await ready();
      const start = performance.now();
      await tab.selectOption("#model", model);
      await tab.waitForFunction(() => { const f = document.querySelector("#facts"); return f.dataset.of === f.dataset.wanted; }, null, { polling: 20 });
      times.push(performance.now() - start);
    }
    rows.push(row(model, times.slice(1), { workers: await tab.evaluate(async () => (await import(new URL("js/pool.js", location))).workerCount()), note: await place() }));
    process.stderr.write(`network ${model} ${(1000 * rows.at(-1).best_s).toFixed(0)} ms\n`);
  }
  return rows;
}

// From the opening of the page until both curves are complete; then again after a change.
async function curves(repeats) {
  const rows = [];
  for (const model of ["eed", "weickert-brox", "multiscale-anisotropic", "ced", "weickert-integration", "lysaker"]) {
    const times = [];
    await tab.goto(`${address}?${model}#model=${model}`);
    for (let k = 0; k < repeats; ++k) {
      await tab.waitForFunction(() => { const c = document.querySelector("#curves"), v = document.querySelector("#verdicts"); return c.dataset.complete && c.dataset.complete === v.dataset.wanted; });
      const start = performance.now();
      await move(k % 2 === 0);
      await tab.waitForFunction(() => { const c = document.querySelector("#curves"), v = document.querySelector("#verdicts"); return c.dataset.complete === v.dataset.wanted; }, null, { polling: 20 });
      times.push(performance.now() - start);
    }
    rows.push(row(model, times));
    process.stderr.write(`curves ${model} ${(1000 * rows.at(-1).best_s).toFixed(0)} ms\n`);
  }
  return rows;
}

// A stroke across the picture, from the release of the mouse until it is filled in.
async function strokes(side) {
  await tab.goto(`${address}?fill`);
  await ready();
  await openPicture(side);
  await tab.locator("input[value=fill]").press("Space");
  await ready();
  const rows = [];
  for (const method of ["homogeneous", "eed"]) {
    await tab.selectOption("#model", method);
    await tab.click("#clear");
    await ready();
    const box = await tab.locator("#frame").boundingBox(), times = [];
    for (let k = 0; k < 4; ++k) {
      const y = box.y + box.height * (0.2 + 0.15 * k);
      await tab.mouse.move(box.x + box.width * 0.2, y);
      await tab.mouse.down();
      await tab.mouse.move(box.x + box.width * 0.8, y + 20, { steps: 8 });
      const start = performance.now();
      await tab.mouse.up();
      await tab.waitForFunction(() => { const f = document.querySelector("#facts"); return f.dataset.of === f.dataset.wanted; }, null, { polling: 20 });
      times.push(performance.now() - start);
      await tab.click("#clear");
      await ready();
    }
    rows.push(row(method, times));
  }
  return rows;
}

// One step of a 256 x 256 grey image in the kernel, in onnxruntime-web and, for one model, in plain JavaScript.
async function peers() {
  await tab.goto(`${address}favicon.svg`);
  const table = await tab.evaluate(async () => {
    const size = 256, steps = 10, image = Float32Array.from({ length: size * size }, () => 255 * Math.random());
    const { diffuse, loadKernel } = await import("/js/filter.js");
    const { MODELS, makePlan } = await import("/js/models.js");
    const ort = await import("/peer/node_modules/onnxruntime-web/dist/ort.wasm.min.mjs");
    Object.assign(ort.env.wasm, { wasmPaths: "/peer/node_modules/onnxruntime-web/dist/", numThreads: 1 });
    const kernel = await loadKernel("/kernel.wasm");
    async function measured(run) {
      const times = [];
      for (let k = 0; k < 20; ++k) {
        const start = performance.now();
        await run();
        times.push((performance.now() - start) / steps);
      }
      return times;
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
    const found = {};
    for (const model of ["perona-malik", "eed", "multiscale-anisotropic"]) {
      const plan = { ...makePlan(model, { ...MODELS[model].options, contrast: 20, time: 1 }), steps };
      const session = await ort.InferenceSession.create(`/peer/${model}.onnx`);
      const feeds = { image: new ort.Tensor("float32", image, [1, 1, size, size]) };
      found[`${model}, kernel`] = await measured(() => diffuse(kernel, [image], size, size, plan));
      found[`${model}, onnxruntime-web`] = await measured(() => session.run(feeds));
    }
    found["perona-malik, plain JavaScript"] = await measured(() => plain(image.slice(), size, 20, 0.4, 0.18));
    return found;
  });
  return Object.entries(table).map(([method, times]) => row(method, times));
}

// The page's modules and its kernel in node: one thread, without a browser around it, so that processor time can be
// measured, which other load on the machine does not change.
async function inNode(names) {
  globalThis.fetch = async (url) => ({ ok: true, arrayBuffer: async () => new Uint8Array(await readFile(url)).buffer });
  const load = (name) => import(new URL(`../src/whorl/page/static/js/${name}.js`, import.meta.url));
  const [{ loadKernel }, ...modules] = await Promise.all(["filter", ...names].map(load));
  return { kernel: await loadKernel(join(page, "kernel.wasm")), ...Object.assign({}, ...modules) };
}

async function processorTimes(repeats, run) {
  const times = [];
  for (let k = 0; k < repeats; ++k) {
    const start = process.cpuUsage().user;
    await run();
    times.push((process.cpuUsage().user - start) / 1000);
  }
  return times;
}

// Of the pictures that the sliders move.
async function processorTime(side) {
  const { kernel, diffuse, MODELS, makePlan, normal, automaticSettings } = await inNode(["filter", "models", "scenes", "automatic"]), next = normal(1);
  const planes = [0, 1, 2].map((c) => Float32Array.from({ length: side * side }, (_, i) => {
    const x = i % side, y = Math.floor(i / side), disc = Math.hypot(x - 0.4 * side, y - 0.5 * side) < 0.25 * side;
    return (disc ? 200 - 40 * c : 60 + y / 6 + 30 * c + (x > 0.7 * side ? 30 * Math.sin((x + y) / 3) : 0)) + 20 * next();
  }));
  const rows = [];
  for (const model of Object.keys(MODELS).filter((name) => MODELS[name].rule)) {
    const options = { ...MODELS[model].options, diffusivity: "exponential" };
    const plan = makePlan(model, { ...options, ...await automaticSettings(kernel, planes, side, side, model, options, () => {}) });
    rows.push(row(model, await processorTimes(7, () => diffuse(kernel, planes, side, side, plan)), { steps: plan.steps }));
  }
  return rows;
}

// Of the networks on a grey picture.
async function networkTime(side) {
  const { kernel, denoise, onProcessor, loadNetwork, makePlan, normal } = await inNode(["network", "trained", "models", "scenes"]), next = normal(1), rows = [];
  const plane = Float32Array.from({ length: side * side }, (_, i) => 128 + 60 * Math.sin((i % side) / 9) + 20 * next());
  for (const model of ["small-network", "network"]) {
    const plan = makePlan(model, { level: 20 }), numbers = await loadNetwork(plan.network);
    const apply = (f, level) => onProcessor(kernel, plan.network, numbers, f, side, side, level);
    rows.push(row(model, await processorTimes(3, () => denoise(apply, [plane], plan))));
  }
  return rows;
}

const [colour, grey] = sides, moves = quick ? 3 : 9;
const cases = {
  "kernel 500x500 colour, processor time": await processorTime(colour),
  "network 512x512 grey, processor time": await networkTime(grey),
  "slider 500x500 colour": await sliders(colour, moves),
  "network 512x512 grey": [...await networks(grey), ...await onCard(grey)],
  "curves 256x256": await curves(quick ? 1 : 4),
  "brush 500x500 colour": await strokes(colour),
  ...(peer ? { "step 256x256 grey": await peers() } : {}),
};
console.log(JSON.stringify({ browser: browser.version(), cases }, null, 1));
await browser.close();
server.close();
