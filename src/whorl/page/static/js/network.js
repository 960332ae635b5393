// A trained network for photographs: the picture scaled as it was trained, and its application by the kernel,
// u0 = L f, then u - K2* Phi(K1 u) many times, then f - P* u.

import { workspace } from "./filter.js";
import { COEFFICIENTS, PROFILES, RADIUS, levelOf, offsets, placesOf, scales } from "./trained.js";

const MIDDLE = 127.5;
const PARTS = 8, ROWS = [32, 64]; // an eighth of the rows at a time, or so many; a few more are computed at either end

// An image with values from 0 to 255, one Float32Array per channel, without noise of the plan's level. Networks for grey
// pictures take channels one by one. `apply(f, level)` carries the network out.
export async function denoise(apply, planes, plan) {
  if (!plan.steps) return planes.map((plane) => plane.slice()); // no noise to remove
  if (planes.length !== plan.channels) {
    const done = [];
    for (const plane of planes) done.push(...await denoise(apply, [plane], plan));
    return done;
  }
  // The picture is scaled so that its noise is of a level that the network was trained for; one that knows many levels is
  // blended out below the smallest of them.
  const [smallest, largest] = plan.range, least = smallest < largest ? 0 : smallest;
  const factor = Math.min(Math.max(plan.level, least), largest) / plan.level, level = factor * plan.level;
  const f = planes.map((plane) => plane.map((value) => (factor * (value - MIDDLE)) / 255));
  const result = await apply(f, levelOf(Math.max(level, smallest)));
  const found = result.map((plane) => plane.map((value) => MIDDLE + (255 * value) / factor));
  if (level >= smallest) return found;
  const share = (level / smallest) ** 2;
  return found.map((plane, c) => plane.map((value, k) => planes[c][k] + share * (value - planes[c][k])));
}

// By the kernel. Only the rows of `keep`, [first, last), have to be right. There is a breath after every part of an
// application, in which other messages may arrive: who wants something else waits for no more.
export async function onProcessor(kernel, network, numbers, f, H, W, level, keep = [0, H], breath = () => {}) {
  const { width: C, fields, blocks, repetitions, rho, reach, count, lift, projection } = placesOf(network);
  kernel.release();
  const space = workspace(kernel, H, W), all = space.write(numbers), frame = space.frame(RADIUS), response = space.image();
  const picture = space.images(f.length), at = (start, k) => start + 4 * k * H * W;
  const room = space.plane(kernel.block_room(C, ...fields, rho)), offset = space.plane(count), scale = space.plane(count);
  let u = space.images(C), next = space.images(C);
  const stencil = ({ taps }, p) => all + 4 * (taps + COEFFICIENTS * p);
  const weight = ({ matrices }, c, p, k) => numbers[matrices[0] + (c * PROFILES[0] + p) * C + k];

  f.forEach((plane, c) => space.view(at(picture, c), H * W).set(plane));
  kernel.fill(u, C * H * W, 0);
  f.forEach((_, c) => {
    kernel.extend(frame, at(picture, c), H, W, RADIUS);
    for (let p = 0; p < PROFILES[0]; ++p) {
      kernel.fill(response, H * W, 0);
      kernel.add_even_stencil(response, frame, stencil(lift, p), H, W);
      for (let k = 0; k < C; ++k) kernel.add(at(u, k), response, H * W, weight(lift, c, p, k));
    }
  });

  const part = Math.min(Math.max(Math.ceil(H / PARTS), ROWS[0]), ROWS[1]);
  let left = reach - RADIUS; // how far the applications that are still to come look, with the projection
  for (const [number, block] of blocks.entries()) {
    space.view(scale, count).set(scales(numbers, block, count, level));
    for (let k = 0; k < repetitions; ++k) {
      left -= 2 * RADIUS + rho;
      space.view(offset, count).set(offsets(numbers, block, count, k, level));
      const last = Math.min(H, keep[1] + left);
      for (let top = Math.max(0, keep[0] - left); top < last; top += part) {
        await breath((number + k / repetitions) / blocks.length);
        kernel.fill(room, kernel.block_room(C, ...fields, rho), 0);
        kernel.gated_block(next, u, all + 4 * block.analysis.taps, offset, scale, room, C, H, W, top, Math.min(last, top + part), ...fields, rho);
      }
      [u, next] = [next, u];
    }
  }

  f.forEach((_, c) => {
    kernel.fill(at(next, 0), H * W, 0);
    for (let p = 0; p < PROFILES[0]; ++p) {
      kernel.fill(response, H * W, 0);
      for (let k = 0; k < C; ++k) kernel.add(response, at(u, k), H * W, weight(projection, c, p, k));
      kernel.extend(frame, response, H, W, RADIUS);
      kernel.add_even_stencil(at(next, 0), frame, stencil(projection, p), H, W);
    }
    kernel.add(at(picture, c), at(next, 0), H * W, -1);
  });
  return f.map((_, c) => space.view(at(picture, c), H * W).slice());
}
