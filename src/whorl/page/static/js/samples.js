// Parts that stand for a picture when something is measured on it (whorl.automatic.samples).

import catalogue from "./catalogue.js";

const { longest: { 2: whole }, count, blank } = catalogue.automatic.samples;

// All of a picture, or windows spread evenly, the same for its mirror images.
export function samplePlaces(height, width) {
  const spread = (size) => {
    if (size <= whole) return [[0, size]];
    const side = Math.floor(whole / count), left = Array.from({ length: count / 2 }, (_, k) => Math.floor((k * (size - side)) / (count - 1)));
    return [...left, ...left.toReversed().map((start) => size - side - start)].map((start) => [start, start + side]);
  };
  return places(spread(height), spread(width));
}

const places = (rows, columns) => rows.flatMap(([top, bottom]) => columns.map(([left, right]) => ({ top, left, height: bottom - top, width: right - left })));

// Blocks along an axis, the same from both of its ends; the middle of an odd axis may be left out.
export function blocksAlong(size, side) {
  const number = Math.max(1, Math.floor(size / side)), half = number >> 1;
  const ends = Array.from({ length: half + 1 }, (_, k) => Math.floor((k * size) / number));
  const left = ends.slice(1).map((end, k) => [ends[k], end]), middle = number % 2 ? [[ends[half], size - ends[half]]] : [];
  return [...left, ...middle, ...left.toReversed().map(([start, end]) => [size - end, size - start])];
}

// The samples { planes, height, width } of a picture whose parts `read(part)` gives. Where they show nothing but blank paper, the
// whole is read, window by window, and those that show most come after.
export function samplesOf({ height, width, read }) {
  const taken = (part) => ({ ...part, planes: read(part) }), samples = samplePlaces(height, width).map(taken);
  const size = ({ planes, height, width }) => planes.length * height * width, sum = (values) => values.reduce((total, value) => total + value, 0);
  if (Math.max(height, width) <= whole || sum(samples.map(shown)) >= blank * sum(samples.map(size))) return samples;
  const [rows, columns] = [height, width].map((length) => blocksAlong(length, Math.min(length, Math.floor(whole / count))));
  let best = [];
  for (const part of places(rows, columns).map(taken)) {
    best.push({ part, key: [shown(part), sum(part.planes.map((plane) => plane.reduce((total, value) => total + value, 0)))] });
    best = best.sort((a, b) => a.key[0] - b.key[0] || a.key[1] - b.key[1]).slice(-(count ** 2));
  }
  return [...samples, ...best.filter(({ part, key }) => key[0] > blank * size(part)).map(({ part }) => part)];
}

// How many pixels differ from the one before, in the mean over the axes.
function shown({ planes, width }) {
  let differ = 0;
  for (const plane of planes)
    for (let i = 1; i < plane.length; ++i) differ += (i % width && plane[i] !== plane[i - 1] ? 1 : 0) + (i >= width && plane[i] !== plane[i - width] ? 1 : 0);
  return Math.floor(differ / 2);
}
