// Stein's estimate of the error that a flow leaves, by the library's rule (whorl.automatic.risk and weighed).

import catalogue from "./catalogue.js";
import { stepper } from "./filter.js";
import { blank, noisePresent, slackOf } from "./noise.js";
import { blocksAlong } from "./samples.js";
import { gaussian } from "./stencils.js";

const { most, block, longest: widest, temperature, over, later } = catalogue.automatic.weighed;

// What every estimate on these samples { planes, height, width } needs: { parts, present }. Parts are { images, signs, height,
// width }, with the same channels in each image; `present` is the noise that was not cut off. `neighbours` is its correlation.
export function prepared(kernel, samples, noise, neighbours) {
  const parts = batches(thinned(samples)), flat = parts.map(({ images, ...size }) => ({ planes: images.flat(), ...size }));
  const blur = gaussian(Math.min(widthOf(neighbours), widest)), slack = slackOf(flat);
  const signed = parts.map((part) => ({ ...part, signs: signsOf(kernel, part, blur, slack) })), signs = signed.flatMap((part) => part.signs.flat());
  const count = (counts) => signs.reduce((sum, plane) => sum + plane.reduce((part, sign) => part + (counts(sign) ? 1 : 0), 0), 0);
  const share = count((sign) => sign !== 0) / count(() => true); // what is blank does not count
  return { parts: signed, present: noisePresent(flat, noise) / Math.sqrt(Math.max(share, 1e-9)) };
}

// Blocks of the samples that are not blank, taken evenly in the order of their values; small samples as they are.
function thinned(samples) {
  const sizes = (parts) => parts.reduce((sum, { planes, height, width }) => sum + planes.length * height * width, 0);
  if (sizes(samples) <= most) return samples;
  const blocks = samples.flatMap(({ planes, height, width }) => blocksAlong(height, block).flatMap(([top, bottom]) => blocksAlong(width, block).map(([left, right]) => {
    const cut = planes.map((plane) => Float32Array.from({ length: (bottom - top) * (right - left) }, (_, i) =>
      plane[(top + Math.floor(i / (right - left))) * width + left + (i % (right - left))]));
    const all = Float32Array.from(cut.flatMap((plane) => [...plane])).sort();
    const [sum, squares] = all.reduce(([one, two], value) => [one + value, two + value * value], [0, 0]);
    return { planes: cut, height: bottom - top, width: right - left, key: [all[(all.length - 1) >> 1], all.at(-1), all[0], sum, squares] };
  })));
  const seen = blocks.filter(({ key }) => key[1] > key[2]).sort((a, b) => a.key.reduce((found, value, k) => found || value - b.key[k], 0));
  const shown = seen.length ? seen : blocks.slice(0, 1), every = Math.ceil(sizes(shown) / most);
  return shown.filter((_, k) => k % every === 0);
}

// Parts of the same shape together.
function batches(parts) {
  const found = new Map();
  for (const { planes, height, width } of parts) {
    const key = `${height} ${width}`;
    if (!found.has(key)) found.set(key, { images: [], height, width });
    found.get(key).images.push(planes);
  }
  return [...found.values()];
}

// The width of the Gaussian that makes neighbours so correlated; 0 where they are hardly so.
const widthOf = (neighbours) => (neighbours > 0.05 ? 1 / (2 * Math.sqrt(-Math.log(Math.min(neighbours, 0.9)))) : 0);

// + 1 and - 1 that turn with the picture, 0 where it is blank, with the correlation of the noise.
function signsOf(kernel, { images, height, width }, blur, slack) {
  const size = height * width, all = new Float32Array(images.length * images[0].length * size);
  images.flat().forEach((plane, k) => all.set(plane, k * size));
  const sorted = all.slice().sort(), radius = blur.length - 1, gain = blur.reduce((sum, w, k) => sum + (k ? 2 : 1) * w * w, 0);
  return images.map((planes) => planes.map((plane) => {
    kernel.release();
    const [from, to, taps, rows] = [size, size, radius + 1, kernel.smooth_room(width, radius)].map((count) => kernel.plane(count));
    const view = (address) => new Float32Array(kernel.memory.buffer, address, size), empty = blank(Float64Array.from(plane), [height, width], slack);
    view(from).set(plane.map((value) => smaller(sorted, value)));
    kernel.signs(from, height, width);
    view(from).forEach((sign, i) => { if (empty[i]) view(from)[i] = 0; });
    if (!radius) return view(from).slice();
    new Float32Array(kernel.memory.buffer, taps, radius + 1).set(blur);
    kernel.smooth(to, from, rows, height, width, taps, radius, 0, 0, 0, height);
    const [signs, smooth] = [view(from), view(to)];
    return smooth.map((value, i) => (signs[i] ? value / gain : 0));
  }));
}

// How many of the sorted values are smaller.
function smaller(sorted, value) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1; else high = middle;
  }
  return low;
}

// The least risk of a plan and the mean of the times that have nearly so little, of their logarithms; or those at `time`.
export async function leastRisk(kernel, { parts, present }, plan, time, longest, breath) {
  const count = Math.ceil((time ?? longest) / plan.largest), tau = time === undefined ? plan.largest : time / Math.max(count, 1);
  const square = present * present, unit = temperature * square, rows = [[square, 0]], flows = started(kernel, parts, { ...plan, tau }, present / 10);
  let best = 0, total = 0;
  for (const { signs } of flows) for (const sign of signs) for (const value of sign) if (value !== 0) ++total;
  for (let n = 1; n <= count; ++n) {
    await breath();
    const risk = advanced(flows, present / 10, square, total);
    rows.push([risk, n * tau]);
    if (risk < rows[best][0]) best = n;
    if (time === undefined && risk > rows[best][0] + over * unit) break;
  }
  if (time !== undefined) return rows.at(-1);
  const [least, first] = rows[best];
  if (first === 0) return [least, first];
  let sum = 0, weights = 0;
  for (const [risk, now] of rows.slice(1)) {
    const weight = Math.exp((least - risk) / unit) * now ** later;
    sum += weight * Math.log(now);
    weights += weight;
  }
  return [least, Math.exp(sum / weights)];
}

// Two flows of every group of channels that belongs together, of what is there and of a little more noise.
function started(kernel, parts, plan, small) {
  kernel.release();
  return parts.flatMap(({ images, signs, height, width }) => images.flatMap((planes, k) => {
    const groups = plan.joint ? [planes.map((_, c) => c)] : planes.map((_, c) => [c]);
    return groups.map((channels) => {
      const chosen = channels.map((c) => planes[c]), b = channels.map((c) => signs[k][c]);
      const more = chosen.map((plane, c) => plane.map((value, i) => value + Math.fround(Math.fround(small) * b[c][i])));
      return { planes: chosen, signs: b, flow: stepper(kernel, chosen, height, width, plan), other: stepper(kernel, more, height, width, plan), height };
    });
  }));
}

// The estimated error after one more step.
function advanced(flows, small, square, total) {
  let removed = 0, divergence = 0;
  for (const { planes, signs, flow, other, height } of flows) {
    flow.step(0, height);
    other.step(0, height);
    planes.forEach((plane, c) => {
      const [one, two, sign] = [flow.view(c), other.view(c), signs[c]];
      for (let i = 0; i < plane.length; ++i) {
        removed += (one[i] - plane[i]) ** 2;
        divergence += (two[i] - one[i]) * sign[i];
      }
    });
  }
  return removed / total - square + (2 * square * divergence) / small / total;
}
