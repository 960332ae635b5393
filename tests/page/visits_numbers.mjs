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
    const { noisy } = await pool.ask("view", { noise });
    for (const { plan } of makePair(model, values)) {
      const { input, output, turned, error, size } = await pool.ask("turn", { angle, noise, plan, images: true });
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
