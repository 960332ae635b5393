// What noise leaves in a picture, in numbers, and which noise that is, by the library's rule and with the weights that it has
// learned (whorl.automatic.traces).

import catalogue from "./catalogue.js";
import { fetched } from "./fetched.js";
import { blank, box, endsOf, joined, slackOf } from "./noise.js";
import { onPaper } from "./paper.js";
import { sortedIn } from "./variance.js";

const { window: side, bins, shares, most, flat, filters, reference: place } = catalogue.noise.traces;
const { free } = catalogue.noise;

// { level, neighbours } of samples { planes, height, width }, of one channel or three colours; null where they are too small to
// tell. The layers are those of `loadLayers`.
export function traced(samples, layers) {
  const colours = samples[0].planes.length === 3;
  const images = colours ? samples : samples.flatMap(({ planes, ...size }) => planes.map((plane) => ({ planes: [plane], ...size })));
  const found = tracesOf(images);
  if (!found) return null;
  if (!found.numbers) return { level: 0, neighbours: 0 };
  const { mean, deviation, steps } = layers[colours ? 3 : 1];
  let u = found.numbers.map((value, k) => Math.min(Math.max((value - mean[k]) / deviation[k], -3), 3));
  steps.forEach(({ weight, bias }, n) => {
    const sums = Array.from(bias, (start, row) => u.reduce((sum, value, k) => sum + weight[row * u.length + k] * value, 0) + start);
    u = n < steps.length - 1 ? sums.map((x) => x / (1 + Math.exp(-x))) : sums;
  });
  const [first, ...rest] = u, neighbours = rest.pop(), middle = rest.slice(0, rest.length / 2); // up to the median
  const logarithm = middle.reduce((sum, step) => sum + (step > 20 ? step : Math.log1p(Math.exp(step))), first);
  const level = Math.exp(logarithm + 0.5 * found.reference), most = onPaper(images, level);
  return { level: most, neighbours: most === level ? neighbours : 0 };
}

// The weights, by the number of channels; fetched once.
let layers = null;
export const loadLayers = () => (layers ??= fetchLayers());

async function fetchLayers() {
  const file = await fetched(new URL("../measure.safetensors", import.meta.url), "The weights of the noise measure"), length = Number(new DataView(file).getBigUint64(0, true)), begin = 8 + length;
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(file, 8, length)));
  const read = (name) => { const [from, to] = header[name].data_offsets; return new Float32Array(file.slice(begin + from, begin + to)); };
  return Object.fromEntries([1, 3].map((c) => [c, {
    mean: read(`${c}.mean`), deviation: read(`${c}.deviation`),
    steps: [0, 1, 2].map((k) => ({ weight: read(`${c}.layers.${k}.weight`), bias: read(`${c}.layers.${k}.bias`) })),
  }]));
}

// The numbers and the logarithm of a variance; null without windows, and no numbers where many of them are flat.
function tracesOf(images) {
  const [black, white] = endsOf(images), tiny = (1e-9 * Math.max(Math.abs(black), Math.abs(white))) ** 2 + 1e-300;
  const every = Math.max(1, Math.ceil(Math.sqrt(images.reduce((sum, { height, width }) => sum + height * width, 0) / most)));
  const slack = slackOf(images), found = images.map((image) => windows(image, black, white, every, tiny, slack)).filter(Boolean);
  if (!found.length) return null;
  const strengths = found[0].groups.map((rows, g) => rows.map((_, f) => joined(found.map(({ groups }) => groups[g][f]))));
  const [mean, cut] = ["mean", "cut"].map((key) => joined(found.map((one) => one[key])));
  if (mean.length < bins) return null;
  if (strengths[0][0].filter((value) => value <= 2 * tiny).length / mean.length >= flat) return {};
  const allowed = Math.max(free, cut.slice().sort()[cut.length >> 2]), uncut = (column) => column.filter((_, k) => cut[k] <= allowed);
  const kept = strengths.map((rows) => rows.map(uncut)), means = uncut(mean), places = sortedIn(means, bins);
  const numbers = kept.map((rows) => {
    const quantiles = places.map((bin) => quantilesOf(rows.map((row) => Float64Array.from(bin, (k) => row[k]))));
    return quantiles[0].map((_, k) => quantiles.reduce((sum, one) => sum + one[k], 0) / quantiles.length);
  });
  const reference = numbers[0][place], average = sumOf(means) / means.length;
  const variance = means.reduce((sum, value) => sum + (value - average) ** 2, 0) / (means.length - 1);
  const rest = [Math.log(Math.max(variance, 1e-300)) - reference, sumOf(cut) / cut.length, Math.log(means.length * every ** 2)];
  const relative = numbers.flatMap((row) => row.map((value, k) => (k < filters * shares.length ? value - reference : value)));
  return { numbers: [...relative, ...rest.map(Math.fround)], reference };
}

const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);

// The logarithms of the quantiles of every filter, and of the ratios of ring to narrow and of coarse to ring.
function quantilesOf(rows) {
  const ratio = (one, other) => rows[one].map((value, k) => value / rows[other][k]);
  return [...rows, ratio(3, 0), ratio(4, 3)].flatMap((row) => {
    const logarithms = row.sort().map(Math.log);
    return shares.map((share) => {
      const at = share * (row.length - 1), low = Math.floor(at), high = Math.min(low + 1, row.length - 1);
      return logarithms[low] + (at - low) * (logarithms[high] - logarithms[low]);
    });
  });
}

// Of windows that are not half blank: the strengths of the filters, by groups of colours, mean, share of samples cut off.
function windows({ planes, height, width }, black, white, every, tiny, slack) {
  if (Math.min(height, width) < side + 2) return null;
  const shape = [height, width], within = [height - 2, width - 2], size = within[0] * within[1], sides = [side, side];
  const u = planes.map((plane) => Float64Array.from(plane)), empty = u.map((plane) => blank(plane, shape, slack));
  const shown = Float64Array.from(u[0], (_, i) => (empty.some((each) => each[i]) ? 0 : 1)), near = box(shown, shape, [3, 3]);
  const inside = (value) => Float64Array.from({ length: size }, (_, k) => value((Math.floor(k / within[1]) + 1) * width + (k % within[1]) + 1));
  const counted = inside((i) => (near[i] === 9 ? 1 : 0)), count = box(counted, within, sides);
  const even = (at, length) => Math.floor(Math.abs(2 * at - length + 1) / 2) % every === 0, chosen = [];
  count.forEach((number, k) => { if (number >= side ** 2 / 2 && even(Math.floor(k / within[1]), within[0]) && even(k % within[1], within[1])) chosen.push(k); });
  if (!chosen.length) return null;
  const averaged = (values) => { const sums = box(values.map((value, k) => value * counted[k]), within, sides); return Float64Array.from(chosen, (k) => sums[k] / count[k]); };
  const mixed = (mix) => u[0].map((_, i) => mix(...u.map((plane) => plane[i])));
  const groups = u.length === 1 ? [u] : [[mixed((r, g, b) => (r + g + b) / 3 ** 0.5)], [mixed((r, g, b) => (r - b) / 2 ** 0.5), mixed((r, g, b) => (r - 2 * g + b) / 6 ** 0.5)]];
  return {
    groups: groups.map((group) => {
      const each = group.map((plane) => squares(plane, shape, inside).map(averaged));
      const [both, across, along, ...rest] = each[0].map((row, f) => row.map((_, k) => each.reduce((sum, rows) => sum + rows[f][k], 0) / each.length));
      const rows = [both, across.map((value, k) => Math.min(value, along[k])), across.map((value, k) => Math.max(value, along[k])), ...rest];
      return rows.map((row) => row.map((value) => Math.max(value, tiny)));
    }),
    mean: averaged(inside((i) => u.reduce((sum, plane) => sum + plane[i], 0) / u.length)),
    // Sums of whole numbers are the same in any order.
    cut: averaged(inside((i) => u.filter((plane) => plane[i] <= black || plane[i] >= white).length)).map((sum) => sum / u.length),
  };
}

// The squares of five filters, for white noise of variance 1 each with the mean 1: second differences along both axes, along
// one, along the other; a pixel less the ring around its neighbours; the mean of nine pixels less that of those around.
function squares(u, shape, inside) {
  const width = shape[1], [three, seven, nine] = [3, 7, 9].map((reach) => box(u, shape, [reach, reach]));
  const down = (i) => u[i - width] - 2 * u[i] + u[i + width], along = (i) => u[i - 1] - 2 * u[i] + u[i + 1];
  return [
    inside((i) => (down(i - 1) - 2 * down(i) + down(i + 1)) ** 2 / 36),
    inside((i) => down(i) ** 2 / 6),
    inside((i) => along(i) ** 2 / 6),
    inside((i) => (u[i] - (seven[i] - three[i]) / 40) ** 2 / (1 + 1 / 40)),
    inside((i) => (three[i] / 9 - (nine[i] - three[i]) / 72) ** 2 / (1 / 9 + 1 / 72)),
  ];
}
