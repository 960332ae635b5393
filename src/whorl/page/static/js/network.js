// A trained network for photographs on the kernel: u0 = L f, then u - K2* Phi(K1 u) many times, then f - P* u.

import catalogue from "./catalogue.js";
import { workspace } from "./filter.js";

const { structures, gates } = catalogue.networks;
const MIDDLE = 127.5, PROFILES = [3, 2, 2], COEFFICIENTS = 6, RADIUS = 2;
const PART = 128; // rows at a time; a few more are computed at either end

// The trained numbers; each network is fetched once.
const loaded = new Map();
export function loadNetwork(name) {
  if (!loaded.has(name)) loaded.set(name, fetchNumbers(name));
  return loaded.get(name);
}

async function fetchNumbers(name) {
  const response = await fetch(new URL(`../networks/${name}.bin`, import.meta.url));
  if (!response.ok) throw new Error(`The network ${name} could not be loaded (${response.status}).`);
  return new Float32Array(await response.arrayBuffer());
}

// An image with values from 0 to 255, one Float32Array per channel, without noise of the plan's level. Networks for grey
// pictures take channels one by one. Only the rows of `keep`, [first, last), have to be right. There is a breath after
// every part of an application, in which other messages may arrive.
export async function denoise(kernel, numbers, planes, height, width, plan, keep = [0, height], breath = () => {}) {
  const { channels } = structures[plan.network];
  if (planes.length !== channels) {
    const done = [];
    for (const plane of planes) done.push(...await denoise(kernel, numbers, [plane], height, width, plan, keep, breath));
    return done;
  }
  // The picture is scaled so that its noise is of a level that the network was trained for.
  const factor = Math.min(Math.max(plan.level, plan.range[0]), plan.range[1]) / plan.level;
  const f = planes.map((plane) => plane.map((value) => (factor * (value - MIDDLE)) / 255));
  const level = Math.log((factor * plan.level) / gates.reference);
  const result = await applied(kernel, numbers, f, height, width, plan, level, keep, breath);
  return result.map((plane) => plane.map((value) => MIDDLE + (255 * value) / factor));
}

async function applied(kernel, numbers, f, H, W, plan, level, keep, breath) {
  const { width: C, fields, blocks, repetitions, rho, reach } = structures[plan.network], count = fields[0] + fields[1] + fields[2];
  kernel.release();
  const space = workspace(kernel, H, W), all = space.write(numbers), frame = space.frame(RADIUS), response = space.image();
  const picture = space.images(f.length), at = (start, k) => start + 4 * k * H * W;
  const room = space.plane(kernel.block_room(C, ...fields, rho)), offset = space.plane(count), scale = space.plane(count);
  let place = 0, u = space.images(C), next = space.images(C);
  const take = (size) => { place += size; return place - size; }; // the numbers in their order
  const stencil = (start, p) => all + 4 * (start + COEFFICIENTS * p);
  const lift = [take(COEFFICIENTS * PROFILES[0]), take(f.length * PROFILES[0] * C)];
  const projection = [take(COEFFICIENTS * PROFILES[0]), take(f.length * PROFILES[0] * C)];

  f.forEach((plane, c) => space.view(at(picture, c), H * W).set(plane));
  kernel.fill(u, C * H * W, 0);
  f.forEach((_, c) => {
    kernel.extend(frame, at(picture, c), H, W, RADIUS);
    for (let p = 0; p < PROFILES[0]; ++p) {
      kernel.fill(response, H * W, 0);
      kernel.add_even_stencil(response, frame, stencil(lift[0], p), H, W);
      for (let k = 0; k < C; ++k) kernel.add(at(u, k), response, H * W, numbers[lift[1] + (c * PROFILES[0] + p) * C + k]);
    }
  });

  let left = reach - RADIUS; // how far the applications that are still to come look, with the projection
  for (let block = 0; block < blocks; ++block) {
    const maps = take(2 * (sum(PROFILES) * COEFFICIENTS + sum(fields.map((number, m) => number * PROFILES[m])) * C) + count * count);
    const bias = take(repetitions * count), [slope, power, contrast] = [take(count), take(count), take(count)];
    space.view(scale, count).forEach((_, h, scales) => {
      const logarithm = numbers[contrast + h] + numbers[power + h] * level;
      scales[h] = Math.exp(-Math.min(Math.max(logarithm, -gates.largest), gates.largest));
    });
    for (let k = 0; k < repetitions; ++k) {
      left -= 2 * RADIUS + rho;
      space.view(offset, count).forEach((_, h, offsets) => { offsets[h] = numbers[bias + k * count + h] + numbers[slope + h] * level; });
      const last = Math.min(H, keep[1] + left);
      for (let top = Math.max(0, keep[0] - left); top < last; top += PART) {
        await breath((block + k / repetitions) / blocks);
        kernel.fill(room, kernel.block_room(C, ...fields, rho), 0);
        kernel.gated_block(next, u, all + 4 * maps, offset, scale, room, C, H, W, top, Math.min(last, top + PART), ...fields, rho);
      }
      [u, next] = [next, u];
    }
  }

  f.forEach((_, c) => {
    kernel.fill(at(next, 0), H * W, 0);
    for (let p = 0; p < PROFILES[0]; ++p) {
      kernel.fill(response, H * W, 0);
      for (let k = 0; k < C; ++k) kernel.add(response, at(u, k), H * W, numbers[projection[1] + (c * PROFILES[0] + p) * C + k]);
      kernel.extend(frame, response, H, W, RADIUS);
      kernel.add_even_stencil(at(next, 0), frame, stencil(projection[0], p), H, W);
    }
    kernel.add(at(picture, c), at(next, 0), H * W, -1);
  });
  return f.map((_, c) => space.view(at(picture, c), H * W).slice());
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
