// How strong the noise of a picture is, by the library's rule (whorl.automatic): measured in every window, believed where
// there is least detail.

import catalogue from "./catalogue.js";
import { onPaper } from "./paper.js";

const { window: longest, ring: ringSide, quantile, normal_quantile, least_cut, free, rounds, largest, least, spread_of_ratio,
  white: whiteUpTo, coloured, even, uneven, largest_ratio, blank: blankSide, nearly, near: nearShare, busy, patch, cut: { rounds: cutRounds, grey_values } } = catalogue.noise;

// The level that the narrow filter sees, as if the noise were white, and the whole of it, in parts { planes, height, width } of
// a picture; 0 where they are too small to tell.
export function levels(all) {
  const parts = all.filter(({ height, width }) => Math.min(height, width) >= 3);
  if (!parts.length) return [0, 0];
  const [black, white] = endsOf(parts), shape = [parts[0].height, parts[0].width];
  let [narrow, ring, mean, cut] = allVotes(parts);
  if (!narrow.length) return [0, 0];
  const many = enough(narrow.length, shape);
  const allowed = Math.max(free, atQuantile(cut, least_cut)), believed = cut.map((share) => share <= allowed);
  [narrow, ring, mean, cut] = [narrow, ring, mean, cut].map((column) => column.filter((_, k) => believed[k]));
  const degrees = degreesOfFreedom(shape), spread = narrow.map(Math.sqrt), usual = quantileOfNoise(degrees);
  let level = atQuantile(spread, quantile) / usual;
  const first = level;
  if (level <= 1e-9 * Math.max(Math.abs(black), Math.abs(white))) return [0, 0]; // what is left of a flat picture is rounding
  if (cut.some((share) => share > free / 2))
    for (let round = 0; round < rounds; ++round) {
      const left = remainingVariance(level, black, white);
      const scaled = spread.map((value, k) => value / (cut[k] > free / 2 ? Math.sqrt(left(mean[k])) : level));
      level = Math.min(level * (atQuantile(scaled, quantile) / usual) ** 1.5, largest * first);
    }
  let every = level;
  if (many) {
    const ratio = ratioOf(ring, narrow, degrees);
    every = level * ratio ** colouredness(ratio, unevenness(ring));
  }
  const most = onPaper(parts, every);
  return [Math.min(level, most), most];
}

// The root mean square of the noise that is still there, of noise that had this level before it was cut off.
export function noisePresent(parts, level) {
  const [black, white] = endsOf(parts);
  if (black === white) return level;
  const left = remainingVariance(level, black, white);
  const slack = slackOf(parts);
  let total = 0, count = 0;
  for (const { planes, height, width } of parts)
    for (const plane of planes) {
      const values = Float64Array.from(plane), shape = [height, width], sums = box(values, shape, [patch, patch]), empty = blank(values, shape, slack);
      for (let i = 0; i < sums.length; ++i) if (!empty[i]) total += left(sums[i] / patch ** 2);
      count += sums.length;
    }
  return Math.sqrt(total / count);
}

// The smallest and the largest value.
export function endsOf(parts) {
  let black = Infinity, white = -Infinity;
  for (const { planes } of parts) for (const plane of planes) for (const v of plane) { if (v < black) black = v; if (v > white) white = v; }
  return [black, white];
}

export function joined(parts) {
  const all = new Float64Array(parts.reduce((sum, part) => sum + part.length, 0));
  parts.reduce((start, part) => (all.set(part, start), start + part.length), 0);
  return all;
}

// Where two mirrors at the borders show the place of an axis of that size.
const mirrored = (place, size) => {
  const folded = ((place % (2 * size)) + 2 * size) % (2 * size);
  return Math.min(folded, 2 * size - 1 - folded);
};

// Goes along both axes: `join` fills a row of the result from one that has so many mirrored values more at either end, and
// `before` more in front.
function alongBoth(values, shape, sides, margin, before, join) {
  let [height, width] = shape;
  for (const [axis, side] of sides.entries()) {
    const [size, across] = axis ? [width, height] : [height, width], reach = (side >> 1) + margin, long = size + 2 * margin;
    const step = axis ? 1 : width, row = new Float64Array(before + size + 2 * reach), found = new Float64Array(long);
    const places = Int32Array.from(row, (_, k) => mirrored(k - reach - before, size) * step), result = new Float64Array(long * across);
    for (let k = 0; k < across; ++k) {
      const start = axis ? k * width : k;
      for (let j = 0; j < row.length; ++j) row[j] = values[start + places[j]];
      join(row, found, side);
      for (let j = 0; j < long; ++j) result[axis ? k * long + j : j * width + k] = found[j];
    }
    if (axis) width = long; else height = long;
    values = result;
  }
  return values;
}

// The sums over windows of these odd sides around every pixel; with a margin there are more windows on every side. They are
// differences of sums from the first value on, as in Python: what rounding leaves in flat windows is the same.
export const box = (values, shape, sides, margin = 0) => alongBoth(values, shape, sides, margin, 1, (row, found, side) => {
  for (let j = 1; j < row.length; ++j) row[j] += row[j - 1];
  for (let j = 0; j < found.length; ++j) found[j] = row[j + side] - row[j];
});

// By how much the values differ in the square of so many pixels around every pixel, mirrored at the borders.
function spans(values, shape, margin) {
  const sides = [blankSide, blankSide], [high, low] = [Math.max, Math.min].map((choose) => alongBoth(values, shape, sides, margin, 0, (row, found, side) => {
    for (let j = 0; j < found.length; ++j) {
      let best = row[j];
      for (let i = 1; i < side; ++i) best = choose(best, row[j + i]);
      found[j] = best;
    }
  }));
  return high.map((value, i) => value - low[i]);
}

// Where a picture holds one value over a square of so many pixels, which a mirror at the border may complete; with a slack
// the values may differ by so much.
export function blank(values, shape, slack = 0) {
  const reach = (blankSide - 1) >> 1, [height, width] = shape, wide = width + 2 * reach;
  const constant = spans(values, shape, reach).map((span) => (span <= slack ? 1 : 0)), covered = box(constant, [height + 2 * reach, wide], [blankSide, blankSide]);
  return Uint8Array.from({ length: height * width }, (_, i) => covered[(Math.floor(i / width) + reach) * wide + (i % width) + reach] > 0);
}

// By how much the values of a blank part may differ: far less than in nearly all small squares of the busier parts. Whole values
// are equal, or differ by more.
export function slackOf(parts) {
  const [black, white] = endsOf(parts), reach = (blankSide - 1) >> 1;
  if (white - black < 1 / nearly && parts.every(({ planes }) => planes.every((plane) => plane.every((value) => value === Math.round(value))))) return 0;
  const within = (at, size) => at >= reach && at < size - reach;
  const each = parts.filter(({ height, width }) => Math.min(height, width) >= blankSide).flatMap(({ planes, height, width }) => planes.map((plane) =>
    atQuantile(spans(Float64Array.from(plane), [height, width], 0).filter((_, i) => within(Math.floor(i / width), height) && within(i % width, width)), busy)));
  return nearly * Math.max(0, ...each);
}

// The windows of all parts; those that are nearly blank count as blank, unless nothing is left then.
export function allVotes(parts) {
  const [black, white] = endsOf(parts), slack = slackOf(parts);
  const tried = (slack) => {
    const found = parts.flatMap(({ planes, height, width }) => planes.map((plane) => votes(Float64Array.from(plane), [height, width], black, white, slack)));
    return [0, 1, 2, 3].map((column) => joined(found.map((votes) => votes[column])));
  };
  const found = tried(slack);
  return found[0].length || !slack ? found : tried(0);
}

// Whether so many windows tell the two filters apart: in a picture of few they may differ by chance.
export const enough = (votes, shape) => Math.min(...shape) >= longest + 2 && votes >= (longest + 2) ** 2;

// Of every window that is not half blank: squares of narrow filter and ring, mean, share of samples cut off.
function votes(u, shape, black, white, slack) {
  const [height, width] = shape, within = [height - 2, width - 2], sides = windowSides(shape), whole = sides[0] * sides[1];
  const three = [3, 3], empty = blank(u, shape), nearlyEmpty = slack ? blank(u, shape, slack) : empty;
  const shown = Float64Array.from(nearlyEmpty, (hidden) => 1 - hidden), near = box(shown, shape, three);
  const only = slack ? box(Float64Array.from(nearlyEmpty, (hidden, i) => hidden - empty[i]), shape, sides) : null; // next to smooth edges without noise
  const hollow = (values) => { const inside = box(values, shape, three); return box(values, shape, [ringSide, ringSide]).map((sum, i) => sum - inside[i]); };
  const around = hollow(shown).map((number) => Math.max(number, 1)), ringSums = hollow(u.map((v, i) => shown[i] * v));
  const counted = near.map((number) => (number === 9 ? 1 : 0));
  const inner = new Float64Array(within[0] * within[1]), squares = new Float64Array(inner.length);
  const along = (i) => u[i - 1] - 2 * u[i] + u[i + 1];
  for (let y = 1, k = 0; y < height - 1; ++y)
    for (let i = y * width + 1; i < y * width + width - 1; ++i, ++k) {
      inner[k] = counted[i];
      squares[k] = counted[i] * ((along(i - width) - 2 * along(i) + along(i + width)) / 6) ** 2;
    }
  const count = box(counted, shape, sides), countInner = box(inner, within, sides, 1), sums = [
    box(squares, within, sides, 1),
    box(u.map((v, i) => (counted[i] * (v - ringSums[i] / around[i]) ** 2) / (1 + 1 / around[i])), shape, sides),
    box(u.map((v, i) => counted[i] * v), shape, sides),
    box(u.map((v, i) => (counted[i] && (v <= black || v >= white) ? 1 : 0)), shape, sides)];
  const chosen = [];
  count.forEach((number, i) => { if (Math.min(number, countInner[i]) >= whole / 2 && !(only && only[i] > nearShare * whole)) chosen.push(i); });
  const [narrow, ring, mean, cut] = sums.map((values, column) => Float64Array.from(chosen, (i) => values[i] / (column ? count : countInner)[i]));
  return [narrow.map((v) => Math.max(v, 0)), ring.map((v) => Math.max(v, 0)), mean, cut];
}

// Odd, and no longer than the picture without its border.
const windowSides = (shape) => shape.map((size) => Math.min(longest, size - 2 - ((size + 1) % 2)));

// Linear between the two nearest values: the one that so many others lie below, and the smallest of those above.
export function atQuantile(values, share) {
  const all = Float64Array.from(values), at = share * (all.length - 1), low = Math.floor(at);
  for (let left = 0, right = all.length - 1; left < right;) {
    const pivot = all[(left + right) >> 1];
    let i = left, j = right;
    while (i <= j) {
      while (all[i] < pivot) ++i;
      while (all[j] > pivot) --j;
      if (i <= j) { [all[i], all[j]] = [all[j], all[i]]; ++i; --j; }
    }
    if (low <= j) right = j; else if (low >= i) left = i; else break;
  }
  const next = low + 1 < all.length ? all.subarray(low + 1).reduce((a, b) => Math.min(a, b)) : all[low];
  return all[low] + (at - low) * (next - all[low]);
}

// How many independent squares vary like the mean of those of the narrow filter in a window of white noise.
export const degreesOfFreedom = (shape) => Math.max(windowSides(shape).reduce((product, side) =>
  product * (side ** 2 / (side + 2 * (((side - 1) * 4) / 9 + Math.max(side - 2, 0) / 36))), 1), 1);

// What the quantile of the windows is for white noise of strength 1 (Wilson and Hilferty).
export const quantileOfNoise = (degrees) => Math.max(1 - 2 / (9 * degrees) + normal_quantile * Math.sqrt(2 / (9 * degrees)), 0.1) ** 1.5;

// By how much noise is stronger to the ring than to the narrow filter in every window.
export function ratioOf(ring, narrow, degrees) {
  const ratios = ring.map((value, k) => value / narrow[k]).filter((_, k) => narrow[k] > 0);
  return Math.min(Math.max(Math.sqrt(atQuantile(ratios, least) / Math.exp(spread_of_ratio / Math.sqrt(degrees))), 1), largest_ratio);
}

// By how much the ring differs among the flattest windows.
export function unevenness(ring) {
  const lowest = atQuantile(ring, least);
  return lowest > 0 ? Math.sqrt(atQuantile(ring, quantile) / lowest) : uneven;
}

// From 0, for white noise and for texture, to 1, for noise of which the narrow filter sees a part only.
export function colouredness(ratio, unevenness) {
  const colour = Math.log(ratio / whiteUpTo) / Math.log(coloured / whiteUpTo), evenly = Math.log(uneven / unevenness) / Math.log(uneven / even);
  return Math.min(Math.max(colour, 0), 1) * Math.min(Math.max(evenly, 0), 1);
}

// The variance of noise of that level where it was cut off, for the mean after it.
function remainingVariance(level, black, white) {
  const last = grey_values - 1, variances = Float64Array.from({ length: grey_values }, (_, k) => {
    const seen = black + (k * (white - black)) / last;
    let mu = seen, cut;
    for (let round = 0; round < cutRounds; ++round) {
      cut = cutMoments(mu, level, black, white);
      mu += seen - cut.mean;
    }
    return cut.variance;
  });
  return (mean) => {
    const place = Math.min(Math.max(((mean - black) * last) / (white - black), 0), last), low = Math.min(Math.floor(place), last - 1);
    return variances[low] + (place - low) * (variances[low + 1] - variances[low]);
  };
}

// Mean and variance of a normal variable that is cut off at both ends.
function cutMoments(mu, sigma, black, white) {
  const a = (black - mu) / sigma, b = (white - mu) / sigma, below = normalBelow(a), above = normalBelow(-b);
  const density = (z) => Math.exp(-0.5 * z * z) / Math.sqrt(2 * Math.PI), atA = density(a), atB = density(b);
  const shift = sigma * (a * below + b * above + atA - atB);
  const square = sigma * sigma * (a * a * below + b * b * above + (1 - below - above) + a * atA - b * atB);
  return { mean: mu + shift, variance: Math.max(square - shift * shift, 0) };
}

// The share of a standard normal variable below x: a power series near 0, a continued fraction far out.
export function normalBelow(x) {
  const density = Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI), t = Math.abs(x);
  if (t > 38) return x < 0 ? 0 : 1;
  let tail;
  if (t < 4) {
    let term = t, sum = t;
    for (let k = 3; term > 1e-17 * sum; k += 2) sum += term *= (t * t) / k;
    tail = 0.5 - density * sum;
  } else {
    let fraction = t;
    for (let k = 60; k >= 1; --k) fraction = t + k / fraction;
    tail = density / fraction;
  }
  return x < 0 ? tail : 1 - tail;
}
