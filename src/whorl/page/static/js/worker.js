// All computation happens here, off the page's thread. Messages are { id, task, ... }; answers { id, ... }, { id, failure }
// or { id, dropped }, after a message { drop: id }; before them, { id, done } may say how much is done.

import { rowsOf } from "./bands.js";
import { cut } from "./draft.js";
import { fillIn } from "./filling.js";
import { diffuse, loadKernel } from "./filter.js";
import { drawNoise, drawScene, fromSquare } from "./master.js";
import { measuring } from "./measuring.js";
import { discMask, psnr, rootMeanSquare } from "./measures.js";
import { exchange, meet, stir } from "./neighbours.js";
import { denoise, onProcessor } from "./network.js";
import { Dropped } from "./pool.js";
import { loadNetwork } from "./trained.js";
import { record, turnImage } from "./turning.js";

const kernel = loadKernel(new URL("../kernel.wasm", import.meta.url));
let master = null; // { size, view, fine, planes, noise }, and the disc in which errors are measured
const straight = new Map(); // outputs of the picture as it stands, by what was asked
const turns = new Map(); // recordings of the picture and of its noise, by angle

const MARGIN = 24; // pixels left out at the border of the disc: the mirror there turns with the frame, not with the picture
const KEPT = 6, KEPT_TURNS = 24;
const PIECE = 24, ALIKE = 1e-4; // side of the piece that a card is tried on, and how far it may be off, of a range of 1
const MIDDLE = 127.5; // of the grey values
const PATIENCE = 8; // milliseconds of computing between two looks at new messages

const tasks = {
  ...measuring(kernel, breath),

  // Take a new picture: a scene by name, or a square given as planes.
  async take({ scene, planes, side, seed }) {
    const k = await kernel;
    master = scene ? drawScene(k, scene) : fromSquare(k, planes, side);
    master.noise = drawNoise(k, master.size, master.planes.length, seed);
    straight.clear();
    turns.clear();
    return { view: master.view };
  },

  // The picture as it stands, clean and with noise.
  async view({ noise }) { // { level, grain }
    const clean = (await recorded(0)).clean.map((plane) => plane.slice());
    return { clean, noisy: await withNoise(noise, 0), size: master.view };
  },

  // Any image through any model; of a band only the rows to keep have to be right.
  async filter({ planes, height, width, plan, keep, band }) {
    const start = performance.now(), output = await filtered(planes, height, width, plan, keep, band);
    return { planes: output, milliseconds: performance.now() - start, card: Boolean(plan.network) && byCard };
  },

  // The masked pixels filled in from the others.
  async fill({ planes, mask, height, width, plan, tolerance }) {
    const k = await kernel, start = performance.now();
    const output = fillIn(k, planes, mask, height, width, plan, tolerance);
    return { planes: output, milliseconds: performance.now() - start };
  },

  // Both ways round: filter the turned picture, turn the filtered one.
  async turn({ angle, noise, plan, images, floor }) {
    const k = await kernel, size = master.view;
    master.disc ??= discMask(size, Math.min(MARGIN, size / 8));
    const still = await unturned(noise, plan), mask = master.disc;
    const { clean } = await recorded(angle), input = await withNoise(noise, angle), turned = turnImage(k, still, size, angle);
    const output = angle === 0 ? still.map((plane) => plane.slice()) : await filtered(input, size, size, plan);
    const measured = {
      angle,
      error: rootMeanSquare(output, turned, mask),
      ...(floor ? { floor: rootMeanSquare(turnImage(k, turned, size, -angle), still, mask) } : {}),
      psnr: psnr(rootMeanSquare(output, clean, mask)),
    };
    return images ? { ...measured, size, input, output, turned } : measured;
  },
};

// Of a band, cut out of a picture, the rows to keep alone come back.
async function filtered(planes, height, width, plan, keep = [0, height], band = null) {
  const k = await kernel;
  if (plan.network) return rowsOf(await denoise((f, level) => applied(f, height, width, plan, level, keep), planes, plan), width, keep);
  return rowsOf(await diffuse(k, planes, height, width, plan, breath, band && exchange(band, height, width, stillWanted)), width, band?.keep ?? keep);
}

// A network by the graphics card, which the page's own thread has, or by the kernel.
let byCard = false; // who did it last
async function applied(f, height, width, { network }, level, keep) {
  const request = { network, planes: f, height, width, level };
  const result = await trusted(request) ? await onCard(request) : null;
  await breath();
  byCard = result !== null;
  return result ?? onProcessor(await kernel, network, await loadNetwork(network), f, height, width, level, keep, breath);
}

// Before the card is given a picture, it has to show on a small piece that it computes what the kernel does.
const trust = new Map(); // by network
async function trusted({ network, planes, height, width, level }) {
  if (trust.has(network) || cardless) return !cardless && trust.get(network);
  const part = { top: 0, left: 0, height: Math.min(height, PIECE), width: Math.min(width, PIECE) }, piece = cut(planes, width, part);
  const found = await onCard({ network, planes: piece, height: part.height, width: part.width, level, trial: true });
  if (found === null) return false;
  const right = await onProcessor(await kernel, network, await loadNetwork(network), piece, part.height, part.width, level);
  trust.set(network, rootMeanSquare(found, right) < ALIKE);
  if (!trust.get(network)) postMessage({ id: current, distrust: true });
  return trust.get(network);
}

let requests = 0, cardless = false;
const asked = new Map();
const onCard = (request) => new Promise((resolve) => {
  asked.set(++requests, resolve);
  postMessage({ id: current, graphics: { number: requests, ...request } });
});

function answered({ number, planes, never }) {
  cardless = never;
  asked.get(number)(planes);
  asked.delete(number);
}

// The picture and its noise under a turn. Neither depends on the model, so that another setting finds them again.
async function recorded(angle) {
  const k = await kernel;
  if (!turns.has(angle)) {
    if (turns.size >= KEPT_TURNS) turns.delete(turns.keys().next().value);
    const grain = record(k, { ...master, planes: master.noise }, master.view, angle);
    turns.set(angle, { clean: record(k, master, master.view, angle), grain });
  }
  return turns.get(angle);
}

// Noise of that level; that of photons is as strong in the middle of the range, and its variance grows with the brightness.
async function withNoise({ level, grain: kind }, angle) {
  const { clean, grain } = await recorded(angle), strength = (value) => (kind === "photons" ? level * Math.sqrt(Math.max(value, 0) / MIDDLE) : level);
  return level === 0 ? clean.map((plane) => plane.slice()) : clean.map((plane, c) => plane.map((value, i) => value + strength(value) * grain[c][i]));
}

async function unturned(noise, plan) {
  const key = JSON.stringify([noise, plan]);
  if (!straight.has(key)) {
    const size = master.view, input = await withNoise(noise, 0);
    if (straight.size >= KEPT) straight.delete(straight.keys().next().value);
    straight.set(key, await filtered(input, size, size, plan));
  }
  return straight.get(key);
}

// One task after the other, in the order they came: none may see a picture half exchanged.
let queue = Promise.resolve(), current = null, breathed = 0;
const unwanted = new Set(), wake = new MessageChannel();

// Long computations call this between two steps: it lets messages in, and ends a task that nobody waits for. Some say how
// much is done, from 0 to 1.
async function breath(done) {
  if (performance.now() - breathed > PATIENCE) {
    if (done !== undefined) postMessage({ id: current, done });
    await new Promise((resolve) => { wake.port1.onmessage = resolve; wake.port2.postMessage(null); });
    breathed = performance.now();
  }
  stillWanted();
}

function stillWanted() {
  if (unwanted.has(current)) throw new Dropped();
}

onmessage = ({ data }) => {
  if (data.port) return meet(data);
  if (data.drop) {
    unwanted.add(data.drop);
    return stir();
  }
  if (data.number) return answered(data);
  queue = queue.then(async () => {
    [current, breathed] = [data.id, performance.now()];
    try {
      await breath();
      const answer = await tasks[data.task](data);
      const buffers = Object.values(answer).flatMap((value) => (Array.isArray(value) ? value.map((plane) => plane.buffer).filter(Boolean) : []));
      postMessage({ id: data.id, ...answer }, [...new Set(buffers)]);
    } catch (error) {
      postMessage({ id: data.id, ...(error instanceof Dropped ? { dropped: true } : { failure: error.message }) });
    }
    unwanted.delete(data.id);
  });
};
