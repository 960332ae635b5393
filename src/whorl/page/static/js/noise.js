// How strong the noise of a picture is, by the library's rule (whorl.automatic): measured where the picture has least detail.

import catalogue from "./catalogue.js";

const { block, quantile, normalQuantile, leastCut, free, rounds, patch, bins } = catalogue.noise;

// The standard deviation of white noise; 0 where the picture is too small to tell.
export function noiseLevel(planes, height, width) {
  if (Math.min(height, width) < 3) return 0;
  const [black, white] = ends(planes);
  const all = planes.flatMap((plane) => blocks(plane, height, width, black, white));
  const allowed = Math.max(free, atQuantile(all.map(({ cut }) => cut), leastCut));
  const spreads = all.filter(({ cut }) => cut <= allowed)
    .map(({ spread, mean, cut }) => (cut > free / 2 ? uncut(mean, spread, black, white) : spread));
  const level = atQuantile(spreads, quantile) / quantileOfNoise([height, width].map((side) => Math.min(block, side - 2)));
  return level > 1e-9 ? level : 0; // what is left of a flat picture is rounding
}

// The root mean square of the noise that is still there, of noise that had this level before it was cut off.
export function noisePresent(planes, height, width, level) {
  const [black, white] = ends(planes), high = Math.min(patch, height), wide = Math.min(patch, width);
  if (black === white) return level;
  const counts = new Float64Array(bins);
  for (const plane of planes)
    for (let top = 0; top + high <= height; top += high)
      for (let left = 0; left + wide <= width; left += wide) {
        let sum = 0;
        for (let y = top; y < top + high; ++y) for (let x = left; x < left + wide; ++x) sum += plane[y * width + x];
        ++counts[Math.min(bins - 1, Math.floor((bins * (sum / (high * wide) - black)) / (white - black)))];
      }
  let total = 0, variances = 0;
  counts.forEach((count, k) => {
    if (!count) return;
    const centre = black + ((k + 0.5) * (white - black)) / bins;
    let mu = centre, cut;
    for (let round = 0; round < rounds; ++round) {
      cut = cutMoments(mu, level, black, white);
      mu += centre - cut.mean;
    }
    total += count;
    variances += count * cut.variance;
  });
  return Math.sqrt(variances / total);
}

// The smallest and the largest value.
function ends(planes) {
  let black = Infinity, white = -Infinity;
  for (const plane of planes) for (const v of plane) { if (v < black) black = v; if (v > white) white = v; }
  return [black, white];
}

// Of every block: root mean square of the second difference along both axes, mean, and the share of samples cut off.
function blocks(plane, height, width, black, white) {
  const [inner, across] = [height - 2, width - 2], high = Math.min(block, inner), wide = Math.min(block, across), found = [];
  const along = (i) => plane[i - 1] - 2 * plane[i] + plane[i + 1];
  for (let top = 0; top + high <= inner; top += high)
    for (let left = 0; left + wide <= across; left += wide) {
      let squares = 0, sum = 0, outside = 0;
      for (let y = top + 1; y <= top + high; ++y)
        for (let x = left + 1, i = y * width + left + 1; x <= left + wide; ++x, ++i) {
          const d = (along(i - width) - 2 * along(i) + along(i + width)) / 6;
          squares += d * d;
          sum += plane[i];
          if (plane[i] <= black || plane[i] >= white) ++outside;
        }
      const count = high * wide;
      found.push({ spread: Math.sqrt(squares / count), mean: sum / count, cut: outside / count });
    }
  return found;
}

// Linear between the two nearest values.
function atQuantile(values, share) {
  const sorted = Float64Array.from(values).sort(), at = share * (sorted.length - 1), low = Math.floor(at);
  return sorted[low] + (at - low) * (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]);
}

// What the quantile of the blocks is for white noise of strength 1 (Wilson and Hilferty).
function quantileOfNoise(sides) {
  const correlated = (1 + 2 * (4 / 9 + 1 / 36)) ** sides.length;
  const degrees = Math.max(sides[0] * sides[1] / correlated, 1);
  return Math.max(1 - 2 / (9 * degrees) + normalQuantile * Math.sqrt(2 / (9 * degrees)), 0.1) ** 1.5;
}

// The standard deviation before samples were cut off at black and white.
function uncut(mean, spread, black, white) {
  let mu = mean, sigma = Math.max(spread, 1e-12);
  for (let k = 0; k < rounds; ++k) {
    const cut = cutMoments(mu, sigma, black, white);
    sigma = Math.max(Math.min((sigma * spread) / Math.sqrt(Math.max(cut.variance, 1e-24)), 4 * spread), 1e-12);
    mu += mean - cut.mean;
  }
  return sigma;
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
function normalBelow(x) {
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
