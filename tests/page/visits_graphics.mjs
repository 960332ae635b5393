// Networks on a graphics card, as far as the browser has one: their numbers, and what happens when it fails.

import { openPhoto, pixels, text } from "./visits_use.mjs";

const BLANK = "favicon.svg";

// Whether there is a card, and who takes it.
export async function hasCard(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const { CHOICES, Graphics } = await import(new URL("js/graphics.js", location)), adapter = await navigator.gpu?.requestAdapter();
    const taken = {};
    for (const choice of ["automatic", ...CHOICES]) taken[choice] = await new Graphics(choice).open();
    return { there: Boolean(adapter), program: adapter?.info.isFallbackAdapter ?? null, taken };
  });
}

// Pictures through the networks on the card; fields take `room` bytes of its memory.
export async function onCard(page, { address, runs }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async (runs) => {
    const load = (name) => import(new URL(`js/${name}.js`, location));
    const [{ Pool }, { Graphics }, { filterInBands }, { makePlan }] = await Promise.all(["pool", "graphics", "bands", "models"].map(load));
    const decode = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
    const encode = (plane) => btoa(Array.from(new Uint8Array(plane.buffer), (b) => String.fromCharCode(b)).join(""));
    const pools = new Map(), found = [];
    for (const { name, level, planes, height, width, room } of runs) {
      if (!pools.has(room)) pools.set(room, new Pool(1, new Graphics("graphics", room)));
      const image = planes.map(decode), plan = makePlan(name, { level }, image.length), told = [], pool = pools.get(room);
      const answer = await filterInBands(pool, { planes: image, height, width, plan }, { progress: (share) => told.push(share) });
      const strips = pool.graphics.networks?.get(plan.network)?.strips.length ?? 0;
      found.push({ network: plan.network, planes: answer.planes.map(encode), card: answer.card, said: pool.graphics.instead, told, strips });
    }
    return found;
  }, runs);
}

// A card that is lost between two pictures, then in the middle of one.
export async function loseCard(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const load = (name) => import(new URL(`js/${name}.js`, location));
    const [{ Pool }, { Graphics }, { filterInBands }, { makePlan }] = await Promise.all(["pool", "graphics", "bands", "models"].map(load));
    const height = 16, width = 32, planes = [Float32Array.from({ length: height * width }, (_, i) => 100 + 50 * Math.sin(i / 3))];
    const plan = makePlan("small-network", { level: 20 }), pool = new Pool(1, new Graphics("graphics")), processor = new Pool(1, new Graphics("processor"));
    const right = (await filterInBands(processor, { planes, height, width, plan })).planes[0];
    const worst = (plane) => plane.reduce((most, value, i) => Math.max(most, Math.abs(value - right[i])), 0);
    const lose = () => { const { device } = pool.graphics; device.destroy(); return device.lost; };
    const run = async (progress) => {
      const { planes: done, card } = await filterInBands(pool, { planes, height, width, plan }, { progress });
      return { card, worst: worst(done[0]), said: pool.graphics.instead, gone: pool.graphics.gone };
    };
    const found = [await run(() => {})];
    await lose();
    found.push(await run(() => {}));
    let once = true;
    found.push(await run(() => { if (once) lose(); once = false; }), await run(() => {}));
    return found;
  });
}

// A card that answers, but not what the kernel computes.
export async function wrongCard(page, { address }) {
  await page.goto(`${address}${BLANK}`);
  return page.evaluate(async () => {
    const load = (name) => import(new URL(`js/${name}.js`, location));
    const [{ Pool }, { Graphics }, { filterInBands }, { makePlan }] = await Promise.all(["pool", "graphics", "bands", "models"].map(load));
    class Wrong extends Graphics {
      async open() { return !this.gone; }
      async apply({ planes }) { return planes; }
    }
    const height = 30, width = 40, planes = [Float32Array.from({ length: height * width }, (_, i) => 100 + 50 * Math.sin(i / 3))];
    const plan = makePlan("small-network", { level: 20 }), found = [];
    for (const graphics of [new Wrong(), new Graphics("processor")]) {
      const answer = await filterInBands(new Pool(1, graphics), { planes, height, width, plan });
      found.push({ card: answer.card, values: [...answer.planes[0]], said: graphics.instead });
    }
    return found;
  });
}

// A network on a picture of one's own, on the card or on the processor as the address says.
export async function denoiseForced(page, { address, content, compute }) {
  await openPhoto(page, `${address}#model=perona-malik&compute=${compute}`, content);
  await page.selectOption("#model", "small-network");
  await page.waitForFunction(() => { const { of, wanted } = document.querySelector("#facts").dataset; return wanted.includes("small-network") && of === wanted; });
  const shown = { code: await text(page, "#python"), facts: await text(page, "#facts"), after: await pixels(page, "after") };
  return { ...shown, hash: new URL(page.url()).hash, failure: await page.locator("#failure").isVisible() };
}
