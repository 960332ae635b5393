// Visits that compute: the page's modules in a document of the same origin that does nothing itself.

const BLANK = "favicon.svg";

// Filter one picture by many models.
export async function filterAll(page, { address, planes, height, width, runs }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async ({ planes, height, width, runs }) => {
    const { Pool } = await import(new URL("js/pool.js", location));
    const { makePlan, makePair } = await import(new URL("js/models.js", location));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const encode = (plane) => btoa(Array.from(new Uint8Array(plane.buffer), (b) => String.fromCharCode(b)).join(""));
    const pool = new Pool(1), answers = [];
    for (const { name, twin, values } of runs) {
      const plan = twin ? makePair(name, values)[1].plan : makePlan(name, values);
      const answer = await pool.ask("filter", { planes: planes.map(decode), height, width, plan });
      answers.push({ planes: answer.planes.map(encode), steps: plan.steps, tau: plan.tau });
    }
    return answers;
  }, { planes, height, width, runs });
}

// Both ways round at one angle, for a model and its uncoupled twin.
export async function bothWays(page, { address, angle, noise, model, values }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async ({ angle, noise, model, values }) => {
    const { Pool } = await import(new URL("js/pool.js", location));
    const { makePair } = await import(new URL("js/models.js", location));
    const encode = (plane) => btoa(Array.from(new Uint8Array(plane.buffer), (b) => String.fromCharCode(b)).join(""));
    const pool = new Pool(1), answers = [];
    await pool.ask("take", { scene: "whorl", seed: 20 });
    const { noisy } = await pool.ask("view", { noise: { level: noise } });
    for (const { plan } of makePair(model, values)) {
      const { input, output, turned, error, size } = await pool.ask("turn", { angle, noise: { level: noise }, plan, images: true });
      answers.push({ input: encode(input[0]), output: encode(output[0]), turned: encode(turned[0]), error, size });
    }
    return { noisy: encode(noisy[0]), answers };
  }, { angle, noise, model, values });
}

// The names the kernel has numbers for.
export async function kernelNames(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const { loadKernel } = await import(new URL("js/filter.js", location));
    const { kinds, laws } = await loadKernel(new URL("kernel.wasm", location));
    return { diffusivities: Object.keys(kinds), laws: Object.keys(laws) };
  });
}

export async function offeredModels(page, { address }) {
  await page.goto(address);
  return page.evaluate(() => [...document.querySelectorAll("#model option")].map((option) => option.value));
}

// The noise that the page measures in several pictures, and the settings it chooses beside what it is told.
export async function automaticAll(page, { address, pictures, runs }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async ({ pictures, runs }) => {
    const load = (name) => import(new URL(`js/${name}.js`, location));
    const [{ Pool }, { automaticSettings, measureNoise, weighs }, { samplesOf }, { cut }] = await Promise.all(["pool", "automatic", "samples", "draft"].map(load));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const pool = new Pool(2), answers = [];
    for (const { planes, height, width } of pictures) {
      const whole = planes.map(decode), samples = samplesOf({ height, width, read: (part) => cut(whole, width, part) });
      const [white, traced] = [await measureNoise(pool, samples, false), await measureNoise(pool, samples, true)], { model } = await pool.ask("noise", { samples }), settings = [];
      for (const { name, told } of runs) settings.push(await automaticSettings(pool, samples, weighs(name, told) ? traced : white, name, told));
      answers.push({ noise: white.level, traced, model, settings });
    }
    return answers;
  }, { pictures, runs });
}

// A picture with its masked pixels filled in by each of the page's methods.
export async function fillAll(page, { address, planes, mask, height, width, tolerance }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async ({ planes, mask, height, width, tolerance }) => {
    const { Pool } = await import(new URL("js/pool.js", location));
    const { METHODS, fillPlan } = await import(new URL("js/fill.js", location));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const encode = (plane) => btoa(Array.from(new Uint8Array(plane.buffer), (b) => String.fromCharCode(b)).join(""));
    const pool = new Pool(1), found = {};
    for (const [name, { start }] of Object.entries(METHODS)) {
      const values = fillPlan(name, start);
      const { planes: out } = await pool.ask("fill", { planes: planes.map(decode), mask: decode(mask), height, width, plan: values, tolerance });
      found[name] = { planes: out.map(encode), plan: values };
    }
    return found;
  }, { planes, mask, height, width, tolerance });
}

// The same picture filtered whole and in bands on several workers.
export async function inBands(page, { address, planes, height, width, runs }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async ({ planes, height, width, runs }) => {
    const { Pool } = await import(new URL("js/pool.js", location));
    const { filterInBands } = await import(new URL("js/bands.js", location));
    const { sharing } = await import(new URL("js/neighbours.js", location));
    const { makePlan } = await import(new URL("js/models.js", location));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const pool = new Pool(3), image = planes.map(decode), found = [];
    for (const { name, values } of runs) {
      const plan = makePlan(name, values);
      const whole = await pool.ask("filter", { planes: image, height, width, plan });
      const parts = await filterInBands(pool, { planes: image, height, width, plan });
      const same = whole.planes.every((plane, c) => plane.every((value, i) => Object.is(value, parts.planes[c][i])));
      const { count, every } = sharing(height, plan, 3);
      found.push({ bands: count, exchanges: Math.ceil(plan.steps / every) - 1, same });
    }
    return found;
  }, { planes, height, width, runs });
}

// Bands that wait for each other's rows: dropped, left alone by a neighbour that fails, and then as always.
export async function bandsLeft(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const { Dropped, Pool } = await import(new URL("js/pool.js", location));
    const { filterInBands } = await import(new URL("js/bands.js", location));
    const { MODELS, makePlan } = await import(new URL("js/models.js", location));
    const size = 96, plane = Float32Array.from({ length: size * size }, (_, i) => i % 7), pool = new Pool(2);
    const filter = (time, group) => {
      const plan = makePlan("ced", { ...MODELS.ced.options, contrast: 1, time });
      return filterInBands(pool, { planes: [plane], height: size, width: size, plan }, { group })
        .then(() => "done", (error) => (error instanceof Dropped ? "dropped" : error.message));
    };
    const asked = [filter(1e7, "gone"), filter(1e7, "gone"), filter(2, "kept")]; // hours, unless they are dropped
    await new Promise((resolve) => setTimeout(resolve, 100));
    pool.drop("gone");
    const found = await Promise.all(asked), ask = pool.ask.bind(pool);
    pool.ask = (task, message, options) => (options.worker === pool.workers[1] ? Promise.reject(new Error("no room")) : ask(task, message, options));
    found.push(await filter(1e7, null));
    pool.ask = ask;
    return [...found, await filter(2, null)];
  });
}

// Pictures through the networks, on one worker and in bands on three.
export async function denoiseAll(page, { address, runs }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async (runs) => {
    const { Pool } = await import(new URL("js/pool.js", location));
    const { filterInBands } = await import(new URL("js/bands.js", location));
    const { makePlan } = await import(new URL("js/models.js", location));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const encode = (plane) => btoa(Array.from(new Uint8Array(plane.buffer), (b) => String.fromCharCode(b)).join(""));
    const pool = new Pool(3), found = [];
    for (const { name, level, planes, height, width } of runs) {
      const image = planes.map(decode), plan = makePlan(name, { level }, image.length);
      const whole = await pool.ask("filter", { planes: image, height, width, plan });
      const told = [], parts = await filterInBands(pool, { planes: image, height, width, plan }, { progress: (share) => told.push(share) });
      const same = whole.planes.every((plane, c) => plane.every((value, i) => Object.is(value, parts.planes[c][i])));
      found.push({ network: plan.network, planes: whole.planes.map(encode), same, told });
    }
    return found;
  }, runs);
}

// A task that is dropped while it runs, one that is dropped while it waits, and one that is not.
export async function dropped(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const { Dropped, Pool } = await import(new URL("js/pool.js", location));
    const { MODELS, makePlan } = await import(new URL("js/models.js", location));
    const size = 64, plane = Float32Array.from({ length: size * size }, (_, i) => i % 7), pool = new Pool(1);
    const plan = (time) => makePlan("ced", { ...MODELS.ced.options, contrast: 1, time });
    const ask = (time, group) => pool.ask("filter", { planes: [plane], height: size, width: size, plan: plan(time) }, { group })
      .then(() => "done", (error) => (error instanceof Dropped ? "dropped" : error.message));
    await ask(1, "kept"); // the worker is there
    const asked = [ask(1e7, "gone"), ask(1e7, "gone"), ask(1, "kept")];
    await new Promise((resolve) => setTimeout(resolve, 100));
    pool.drop("gone");
    return Promise.all(asked);
  });
}

// A picture filtered in windows and written to a file, read again, and filtered at once.
export async function inWindows(page, { address, planes, height, width, values, model, pixels, bits }) {
  await page.goto(`${address}help.html`);
  return page.evaluate(async ({ planes, height, width, values, model, pixels, bits }) => {
    const load = (name) => import(new URL(`js/${name}.js`, location));
    const [{ Pool }, { filterWhole }, { filterInBands }, { makePlan }, { cut }, { readPicture }] = await Promise.all(["pool", "whole", "bands", "models", "draft", "files"].map(load));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const image = planes.map(decode), pool = new Pool(2), plan = makePlan(model, values, image.length), shares = [];
    const picture = { height, width, channels: image.length, bits, read: (part) => cut(image, width, part) };
    const file = await filterWhole(pool, picture, plan, { pixels, progress: (share) => shares.push(share) });
    const saved = await readPicture(new File([file], "saved.png")), found = saved.read({ top: 0, left: 0, height, width });
    const whole = (await filterInBands(pool, { planes: image, height, width, plan })).planes, step = bits === 16 ? 257 : 1;
    const cutOff = (value) => Math.min(Math.max(value, 0), 255);
    let worst = 0;
    whole.forEach((plane, c) => plane.forEach((value, i) => { worst = Math.max(worst, step * Math.abs(cutOff(value) - found[c][i])); }));
    return { windows: shares.length, worst, steps: plan.steps, channels: saved.channels, bits: saved.bits };
  }, { planes, height, width, values, model, pixels, bits });
}
