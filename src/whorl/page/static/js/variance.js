// The noise of a picture as it is, by the library's rule (whorl.automatic.variance): its variance over the grey value, and how
// far neighbours are correlated.

import catalogue from "./catalogue.js";
import { allVotes, atQuantile, colouredness, degreesOfFreedom, endsOf, enough, joined, quantileOfNoise, ratioOf, unevenness } from "./noise.js";
import { onPaper } from "./paper.js";

const { quantile, free, least_cut, window: longest, ring: ringSide, variance: { bins: count, few, widest } } = catalogue.noise;
const ROUNDS = 40; // halvings

// { gain, offset, correlation } of every channel, the ends of the range, and by which share the deviation may be wrong.
export function noiseModel(samples) {
  const [black, white] = endsOf(samples);
  const lines = samples[0].planes.map((_, c) => {
    const channel = samples.map(({ planes, height, width }) => ({ planes: [planes[c]], height, width }));
    return lineOnPaper(channel, lineOf(binsOf(channel)));
  });
  const [gain, offset, correlation, doubts] = [0, 1, 2, 3].map((k) => lines.map((line) => line[k]));
  return { gain, offset, correlation, black, white: white > black ? white : black + 1, uncertainty: Math.max(...doubts) };
}

// Of one channel the mean and the variance of every bin of grey values, the width of the correlation, and the error that comes
// from the number of windows.
function binsOf(parts) {
  const thick = parts.filter(({ height, width }) => Math.min(height, width) >= 3), all = thick.length ? allVotes(thick) : [[], [], [], []], cut = all[3];
  if (!cut.length) return { means: [0], variances: [0], width: 0, sampling: Infinity };
  const most = cut.filter((share) => share <= free).length >= few * cut.length ? free : atQuantile(cut, least_cut);
  const [narrow, ring, mean] = all.slice(0, 3).map((column) => column.filter((_, k) => cut[k] <= most));
  const shape = [thick[0].height, thick[0].width], degrees = degreesOfFreedom(shape), bins = sortedIn(mean, count), pick = (column, bin) => Float64Array.from(bin, (k) => column[k]);
  let share = 0, ratio = 1;
  if (enough(cut.length, shape) && narrow.every((value) => value > 0)) {
    ratio = ratioOf(ring, narrow, degrees);
    share = colouredness(ratio, bins.map((bin) => unevenness(pick(ring, bin))).sort((a, b) => a - b)[bins.length >> 1]);
  }
  const pixels = shape.reduce((product, size) => product * Math.min(longest, size), 1);
  const [whites, any] = [[narrow, degrees], [ring, pixels]].map(([column, number]) => bins.map((bin) => atQuantile(pick(column, bin), quantile) / quantileOfNoise(number) ** 2));
  return {
    means: bins.map((bin) => pick(mean, bin).reduce((sum, value) => sum + value, 0) / bin.length),
    variances: whites.map((value, k) => value ** (1 - share) * any[k] ** share),
    width: widthOf(ratio ** share), sampling: Math.sqrt(1 / (2 * degrees * Math.max(narrow.length / pixels, 1e-9) * quantile)),
  };
}

// The windows of each bin, of equal counts; windows of one mean share a bin, however it was rounded.
export function sortedIn(mean, count) {
  const ordered = mean.slice().sort(), ends = Array.from({ length: count - 1 }, (_, k) => ordered[Math.floor((ordered.length * (k + 1)) / count)]);
  const bins = Array.from({ length: count }, () => []), slack = 1e-9 * (ordered.at(-1) - ordered[0]);
  mean.forEach((value, k) => bins[ends.findLastIndex((end) => end - slack <= value) + 1].push(k));
  return bins.filter((bin) => bin.length);
}

// Gain and offset of the line through the bins, whose errors are proportional to their variances.
function lineOf({ means, variances, width, sampling }) {
  const seen = means.map((mean, k) => [mean, variances[k]]).filter(([, variance]) => variance > 0), sorted = seen.map(([, v]) => v).sort((a, b) => a - b);
  if (!seen.length) return [0, 0, 0, sampling];
  const grey = seen.map(([mean]) => mean);
  if (Math.max(...grey) - Math.min(...grey) < 2 * Math.sqrt(sorted[0])) return [0, sorted[(sorted.length - 1) >> 1], width, sampling]; // tells nothing of a slope
  const sum = (value) => seen.reduce((total, [m, v]) => total + value(m, v), 0), number = sum((m, v) => 1 / v ** 2), middle = sum((m, v) => m / v ** 2) / number;
  const gain = sum((m, v) => (m - middle) / v) / sum((m, v) => ((m - middle) / v) ** 2), offset = sum((m, v) => 1 / v) / number - gain * middle;
  const deviation = (m, v) => 0.5 * Math.min(Math.max(1 - (gain * m + offset) / v, -1), 1);
  return [gain, offset, width, Math.hypot(Math.sqrt(sum((m, v) => deviation(m, v) ** 2) / seen.length), sampling)];
}

// The line, or where white paper shows that the noise is weaker, one level without correlation.
function lineOnPaper(channel, [gain, offset, width, doubt]) {
  const values = joined(channel.map(({ planes: [plane] }) => plane)), mean = values.reduce((sum, v) => sum + v, 0) / values.length;
  const level = Math.sqrt(Math.max(gain * mean + offset, 0)), most = onPaper(channel, level);
  return most === level ? [gain, offset, width, doubt] : [0, most ** 2, 0, doubt];
}

// The width of the Gaussian after which white noise is stronger to the ring by this ratio.
function widthOf(ratio) {
  if (ratio <= 1) return 0;
  let [low, high] = [0, widest];
  for (let round = 0; round < ROUNDS; ++round) {
    const middle = (low + high) / 2;
    if (strength(middle) < ratio) low = middle; else high = middle;
  }
  return low;
}

function strength(width) {
  const reach = Math.max(1, Math.ceil(4 * width)), raw = Array.from({ length: 2 * reach + 1 }, (_, k) => Math.exp(-0.5 * ((k - reach) / Math.max(width, 1e-3)) ** 2));
  const norm = raw.reduce((sum, w) => sum + w * w, 0);
  const along = Array.from({ length: ringSide }, (_, shift) => raw.slice(shift).reduce((sum, w, k) => sum + w * raw[k], 0) / norm);
  const narrow = ((6 * along[0] - 8 * along[1] + 2 * along[2]) / 6) ** 2, half = ringSide >> 1, span = (from, to) => Array.from({ length: to - from }, (_, k) => from + k);
  const around = span(-half, half + 1), places = around.flatMap((y) => around.map((x) => [y, x])).filter((place) => Math.max(...place.map(Math.abs)) > 1);
  const near = places.reduce((sum, [y, x]) => sum + along[Math.abs(y)] * along[Math.abs(x)], 0) / places.length;
  const pairs = (one, two) => one.reduce((sum, i) => sum + two.reduce((part, j) => part + along[Math.abs(i - j)], 0), 0) ** 2;
  const square = span(0, ringSide), hole = span(half - 1, half + 2), among = (pairs(square, square) - 2 * pairs(square, hole) + pairs(hole, hole)) / places.length ** 2;
  return Math.sqrt((1 - 2 * near + among) / (1 + 1 / places.length) / narrow);
}
