// whorl in JavaScript: the page's kernel and its rules for noise and settings, without the page. Types: index.d.ts.

import { automaticSettings, measureNoise, weighs } from "./build/js/automatic.js";
import { cut } from "./build/js/draft.js";
import { METHODS, TOLERANCE, fillPlan } from "./build/js/fill.js";
import { fillIn } from "./build/js/filling.js";
import { diffuse as steps, loadKernel } from "./build/js/filter.js";
import { measuring } from "./build/js/measuring.js";
import { MODELS, knownAlpha, makePlan, networkName } from "./build/js/models.js";
import { denoise as scaled, onProcessor } from "./build/js/network.js";
import { samplesOf } from "./build/js/samples.js";
import { loadNetwork } from "./build/js/trained.js";

const PATIENCE = 8; // milliseconds of computing after which others get a turn
const NETWORKS = Object.keys(MODELS).filter((name) => MODELS[name].kinds);

export const models = Object.keys(MODELS).filter((name) => !MODELS[name].kinds);
export const networks = [...new Set(NETWORKS.flatMap((name) => Object.values(MODELS[name].kinds)))];
export const methods = Object.keys(METHODS);

// The kernel has one memory: one task after the other.
let kernel = null, queue = Promise.resolve();
function inTurn(task) {
  kernel ??= loadKernel(new URL("./build/kernel.wasm", import.meta.url));
  const answer = queue.then(task);
  queue = answer.catch(() => {});
  return answer;
}

// Between two steps: others get a turn, and who does not want to go on says so by `signal`.
function breather(signal) {
  let since = performance.now();
  return async () => {
    signal?.throwIfAborted();
    if (performance.now() - since < PATIENCE) return;
    await new Promise((resolve) => setTimeout(resolve));
    since = performance.now();
    signal?.throwIfAborted();
  };
}

// What the page's workers do, in this thread.
const workers = (signal) => ({ ask: (task, message) => inTurn(() => measuring(kernel, breather(signal))[task](message)) });

export async function noise(picture, { signal } = {}) {
  const samples = checked(picture), pool = workers(signal);
  const [{ level, neighbours }, { model }] = [await measureNoise(pool, samples, true), await pool.ask("noise", { samples })];
  return { level, neighbours, ...model };
}

export async function diffuse(picture, { model = "weickert-brox", signal, ...told } = {}) {
  known("model", model, models);
  const { options, diffusivities, reach } = MODELS[model], samples = checked(picture), pool = workers(signal);
  const takes = ["contrast", "time", ...Object.keys(options), ...(diffusivities.length ? ["diffusivity"] : []), ...(reach.wide ? ["cell"] : [])];
  for (const [key, value] of Object.entries(told)) {
    known(`option of ${model}`, key, takes);
    if (key === "diffusivity") known(key, value, diffusivities);
    else if (key === "cell") known(key, value, ["compact", "wide"]);
    else if (!(value >= 0) || (key === "contrast" && value === 0)) throw new RangeError(`${key}=${value}: give a number above 0.`);
  }
  const measured = "contrast" in told ? { level: 0 } : await measureNoise(pool, samples, weighs(model, told));
  const settings = await automaticSettings(pool, samples, measured, model, told);
  const values = { cell: "compact", ...(diffusivities.length ? { diffusivity: diffusivities[0] } : {}), ...options, ...settings };
  if ("alpha" in values) values.alpha = knownAlpha(model, values.alpha);
  const { planes, height, width } = picture, plan = makePlan(model, values, planes.length);
  return { height, width, planes: await inTurn(async () => steps(await kernel, planes, height, width, plan, breather(signal))), settings: { model, ...values } };
}

export async function denoise(picture, { noise: level, network, signal } = {}) {
  const samples = checked(picture), { planes, height, width } = picture;
  network ??= networkName("network", planes.length);
  known("network", network, networks);
  const offered = NETWORKS.find((name) => networkName(name, planes.length) === network);
  if (!offered) throw new RangeError(`${network} is not for pictures with ${planes.length} channel${planes.length > 1 ? "s" : ""}.`);
  if (level !== undefined && !(level >= 0)) throw new RangeError(`noise=${level}: give the standard deviation of the noise, 0 or more.`);
  level ??= (await measureNoise(workers(signal), samples, false)).level;
  const plan = makePlan(offered, { level }, planes.length), numbers = await loadNetwork(network), breath = breather(signal);
  const apply = async (f, at) => onProcessor(await kernel, network, numbers, f, height, width, at, [0, height], breath);
  return { height, width, planes: await inTurn(() => scaled(apply, planes, plan)), settings: { network, noise: level } };
}

export async function inpaint(picture, mask, { method = "eed", contrast, tolerance = TOLERANCE } = {}) {
  known("method", method, methods);
  checked(picture);
  const { planes, height, width } = picture, hole = Float32Array.from(mask, (value) => (value ? 1 : 0)), missing = hole.includes(1);
  if (hole.length !== height * width) throw new RangeError(`The mask has ${hole.length} values, the picture ${height * width} pixels.`);
  if (!hole.includes(0)) throw new RangeError("The mask covers all of the picture: there is nothing to fill it in from.");
  const plan = fillPlan(method, contrast === undefined ? METHODS[method].start : { contrast });
  const task = async () => (missing ? fillIn(await kernel, planes, hole, height, width, plan, tolerance) : planes.map((plane) => plane.slice()));
  return { height, width, planes: await inTurn(task), settings: { method, ...METHODS[method].start, ...(contrast === undefined ? {} : { contrast }) } };
}

// Pictures as a canvas has them. What is transparent stays as its colour is; a grey picture has one plane.
export function fromImageData({ data, height, width }) {
  const plane = (c) => Float32Array.from({ length: height * width }, (_, i) => data[4 * i + c]), planes = [0, 1, 2].map(plane);
  const grey = planes[0].every((value, i) => value === planes[1][i] && value === planes[2][i]);
  return { planes: grey ? planes.slice(0, 1) : planes, height, width };
}

export function toImageData({ planes, height, width }) {
  const data = new Uint8ClampedArray(4 * height * width).fill(255); // clamps, and rounds half to even
  for (let c = 0; c < 3; ++c) (planes[c] ?? planes[0]).forEach((value, i) => { data[4 * i + c] = value; });
  return { data, height, width };
}

// The samples on which a picture is measured, if it is one.
function checked({ planes, height, width }) {
  const right = Array.isArray(planes) && [1, 3].includes(planes.length) && height > 0 && width > 0
    && planes.every((plane) => plane instanceof Float32Array && plane.length === height * width);
  if (!right) throw new TypeError("A picture is { planes, height, width } with one or three planes, each a Float32Array of height * width values from 0 to 255.");
  if (!planes.every((plane) => plane.every(Number.isFinite))) throw new RangeError("The picture has values that are no numbers. Replace them first.");
  return samplesOf({ height, width, read: (part) => cut(planes, width, part) });
}

function known(what, value, all) {
  if (!all.includes(value)) throw new RangeError(`There is no ${what} “${value}”. Choose among ${all.join(", ")}.`);
}
