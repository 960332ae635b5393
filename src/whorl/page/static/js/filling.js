// Filling in: the steady state of diffusion where the mask is set, with the known values around it put back in every step.
// Cycles of the fast semi-iterative scheme, from coarse to fine: a coarse picture fills large holes at little cost.

import { workspace } from "./filter.js";
import { radius } from "./stencils.js";

const CYCLE = 24; // steps between two looks at the change
const MOST = 120; // cycles on one level, where the tolerance is not met before
const SMALLEST = 12; // pixels along the shorter side of the coarsest level

// `planes` with the pixels of `mask` (1 where to fill) filled in; `plan` comes from models.js, `tolerance` in grey values
// is what a cycle may still change on the finest level.
export function fillIn(kernel, planes, mask, height, width, plan, tolerance) {
  if (!plan.joint && planes.length > 1) return planes.flatMap((plane) => fillIn(kernel, [plane], mask, height, width, plan, tolerance));
  if (plan.near) plan = following(plan, depth(mask, height, width, plan.farthest));
  const margin = 2 + radius(plan.structureSigma) + radius(plan.rho), part = crop(planes, mask, height, width, margin);
  if (part === null) return planes.map((plane) => plane.slice());
  const filled = level(kernel, part, plan, tolerance);
  return planes.map((plane, c) => {
    const out = plane.slice();
    for (let y = 0; y < part.height; ++y)
      for (let x = 0; x < part.width; ++x) {
        const at = (part.top + y) * width + part.left + x, from = y * part.width + x;
        if (mask[at]) out[at] = filled[c][from];
      }
    return out;
  });
}

// The plan with the widths of its Gaussians for gaps so deep.
export function following({ near, ...plan }, deep) {
  const width = ([share, least], most) => Math.min(Math.max(share * deep, least), most);
  return { ...plan, structureSigma: width(near.sigma, plan.structureSigma), rho: width(near.rho, plan.rho) };
}

// The mean distance of what is to be filled from what is known, each rounded up; none counts more than `farthest`.
export function depth(mask, height, width, farthest) {
  const offsets = [];
  for (let dy = 1 - farthest; dy < farthest; ++dy)
    for (let dx = 1 - farthest; dx < farthest; ++dx)
      if (dy * dy + dx * dx <= (farthest - 1) ** 2) offsets.push([dy, dx, Math.ceil(Math.hypot(dy, dx))]);
  offsets.sort((a, b) => a[2] - b[2]);
  let sum = 0, count = 0;
  for (let y = 0, i = 0; y < height; ++y)
    for (let x = 0; x < width; ++x, ++i) {
      if (!mask[i]) continue;
      const near = offsets.find(([dy, dx]) => y + dy >= 0 && y + dy < height && x + dx >= 0 && x + dx < width && !mask[i + dy * width + dx]);
      sum += near ? near[2] : farthest;
      ++count;
    }
  return sum / count;
}

// The smallest rectangle around the mask, with a margin as wide as a step looks.
function crop(planes, mask, height, width, margin) {
  let top = height, bottom = 0, left = width, right = 0;
  for (let y = 0, i = 0; y < height; ++y)
    for (let x = 0; x < width; ++x, ++i)
      if (mask[i]) [top, bottom, left, right] = [Math.min(top, y), y + 1, Math.min(left, x), Math.max(right, x + 1)];
  if (bottom === 0) return null;
  [top, left] = [Math.max(0, top - margin), Math.max(0, left - margin)];
  [bottom, right] = [Math.min(height, bottom + margin), Math.min(width, right + margin)];
  const cut = (plane) => {
    const out = new Float32Array((bottom - top) * (right - left));
    for (let y = top; y < bottom; ++y) out.set(plane.subarray(y * width + left, y * width + right), (y - top) * (right - left));
    return out;
  };
  return { planes: planes.map(cut), mask: cut(mask), height: bottom - top, width: right - left, top, left };
}

// Solve on one level, from what the next coarser one gives.
function level(kernel, { planes, mask, height, width }, plan, tolerance) {
  const coarse = halved(planes, mask, height, width);
  const deeper = Math.min(height, width) >= 2 * SMALLEST && coarse.mask.includes(0);
  // A coarse solution is a start only: a tenth of a grey value is enough there.
  const start = deeper ? doubled(level(kernel, coarse, plan, Math.max(tolerance, 0.1)), coarse, height, width) : means(planes, mask);
  const first = planes.map((plane, c) => plane.map((value, i) => (mask[i] ? start[c][i] : value)));
  return settle(kernel, first, mask, height, width, plan, tolerance);
}

// The coarse pixels that a pixel belongs to, and its weight there. Of an odd number every second pixel is kept, beginning
// with the first, so that either end looks the same.
const coarser = (i, size) => size % 2 === 0 ? [[i >> 1, 1]] : i % 2 === 0 ? [[i / 2, 2]] : [[(i - 1) / 2, 1], [(i + 1) / 2, 1]];

// Known values averaged over the pixels that a coarse one covers; it is unknown where all of them are.
function halved(planes, mask, height, width) {
  const h = Math.ceil(height / 2), w = Math.ceil(width / 2), unknown = new Float32Array(h * w).fill(1);
  const known = new Float32Array(h * w), sums = planes.map(() => new Float32Array(h * w));
  const columns = Array.from({ length: width }, (_, x) => coarser(x, width));
  for (let y = 0, i = 0; y < height; ++y)
    for (let x = 0; x < width; ++x, ++i) {
      if (mask[i]) continue;
      for (const [j, below] of coarser(y, height))
        for (const [k, beside] of columns[x]) {
          const at = j * w + k, weight = below * beside;
          known[at] += weight;
          unknown[at] = 0;
          planes.forEach((plane, c) => { sums[c][at] += weight * plane[i]; });
        }
    }
  return { planes: sums.map((sum) => sum.map((value, i) => value / Math.max(1, known[i]))), mask: unknown, height: h, width: w };
}

// Linear interpolation of a coarse picture.
function doubled(planes, { height: h, width: w }, height, width) {
  const place = (i, size) => (size % 2 ? i : i - 0.5) / 2;
  const at = (i, n, size) => { const t = Math.min(n - 1, Math.max(0, place(i, size))), k = Math.min(Math.floor(t), Math.max(0, n - 2)); return [k, t - k]; };
  return planes.map((plane) => {
    const out = new Float32Array(height * width);
    for (let y = 0, i = 0; y < height; ++y) {
      const [j, s] = at(y, h, height), below = Math.min(j + 1, h - 1) * w;
      for (let x = 0; x < width; ++x, ++i) {
        const [k, t] = at(x, w, width), right = Math.min(k + 1, w - 1);
        out[i] = (1 - s) * ((1 - t) * plane[j * w + k] + t * plane[j * w + right]) + s * ((1 - t) * plane[below + k] + t * plane[below + right]);
      }
    }
    return out;
  });
}

function means(planes, mask) {
  return planes.map((plane) => {
    let sum = 0, count = 0;
    for (let i = 0; i < plane.length; ++i) if (!mask[i]) { sum += plane[i]; ++count; }
    return new Float32Array(plane.length).fill(count ? sum / count : 128);
  });
}

// Cycles u <- a (u + tau F(u)) + (1 - a) u_before with the known values put back, until one changes less than the tolerance.
// Within a cycle the tensor stays that of its start, and all channels share it.
function settle(kernel, planes, mask, H, W, plan, tolerance) {
  kernel.release();
  const space = workspace(kernel, H, W), count = planes.length, n = count * H * W, whole = new Float32Array(n);
  planes.forEach((plane, c) => whole.set(plane, c * H * W));
  const known = space.write(whole), unknown = space.write(Array.from({ length: count }, () => [...mask]).flat());
  const kind = kernel.kinds[plan.diffusivity], law = kernel.laws[plan.law];
  const cells = (H + 1) * (W + 1), { raw, smooth: J, smoothTensor } = space.tensor(plan.rho, law);
  const rows = space.plane(kernel.cell_room(1, W)), flux = space.image(), ones = space.write(new Float32Array(count).fill(1));
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const start = space.plane(n), seenAlpha = presmooth ? 0.5 : plan.alpha, at = (image, c) => image + 4 * c * H * W;
  let u = space.write(whole), before = space.plane(n), next = space.plane(n);
  for (let cycle = 0; cycle < MOST; ++cycle) {
    space.view(start, n).set(space.view(u, n));
    space.view(before, n).set(space.view(u, n));
    for (let c = 0; presmooth && c < count; ++c) presmooth(at(u, c), at(blurred, c));
    kernel.structure(...raw, blurred ?? u, ones, count, rows, H, W, seenAlpha, law, 0, H + 1);
    smoothTensor();
    kernel.diffusion_tensor(...J, cells, law, kind, plan.contrast);
    for (let k = 0; k < CYCLE; ++k) {
      space.view(next, n).set(space.view(u, n));
      for (let c = 0; c < count; ++c) {
        kernel.minus_divergence(flux, at(u, c), ...J, rows, H, W, plan.alpha, plan.gamma, 0, H);
        kernel.add(at(next, c), flux, H * W, -plan.tau);
      }
      kernel.extrapolate(next, before, known, unknown, n, (4 * k + 2) / (2 * k + 3));
      [before, u, next] = [u, next, before];
    }
    if (kernel.largest_change(u, start, n) < tolerance) break;
  }
  return planes.map((_, c) => space.view(at(u, c), H * W).slice());
}
