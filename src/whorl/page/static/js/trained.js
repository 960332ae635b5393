// The numbers of a trained network: fetched once, and where each of them lies in the file (whorl.page.networks writes it).

import catalogue from "./catalogue.js";
import { fetched } from "./fetched.js";

const { structures, gates } = catalogue.networks;
export const PROFILES = [3, 2, 2], COEFFICIENTS = 6, RADIUS = 2; // stencils for each order, numbers of each, and their reach

const loaded = new Map();
export function loadNetwork(name) {
  if (!loaded.has(name)) loaded.set(name, fetched(new URL(`../networks/${name}.bin`, import.meta.url), `The network ${name}`).then((file) => new Float32Array(file)));
  return loaded.get(name);
}

// The structure of a network with the places of its numbers. Maps are { taps, matrices }; a matrix that is grouped holds, for
// four outputs after the other, the four numbers of each input.
export function placesOf(name) {
  const { channels, width: C, fields, blocks, repetitions } = structures[name], count = sum(fields);
  let place = 0;
  const take = (size) => { place += size; return place - size; };
  const end = () => ({ taps: take(COEFFICIENTS * PROFILES[0]), matrices: [take(channels * PROFILES[0] * C)] });
  const map = () => ({ taps: take(COEFFICIENTS * sum(PROFILES)), matrices: fields.map((number, m) => take(number * PROFILES[m] * C)) });
  const ends = { lift: end(), projection: end() };
  const block = () => ({
    analysis: map(), synthesis: map(), gate: take(count * count), bias: take(repetitions * count),
    slope: take(count), power: take(count), contrast: take(count),
  });
  return { ...structures[name], count, ...ends, blocks: Array.from({ length: blocks }, block) };
}

// The level of noise as gates take it.
export const levelOf = (noise) => Math.log(noise / gates.reference);

// What the gates of a block multiply every invariant with, and what they add in a repetition.
export function scales(numbers, { power, contrast }, count, level) {
  return Float32Array.from({ length: count }, (_, h) => {
    const logarithm = numbers[contrast + h] + numbers[power + h] * level;
    return Math.exp(-Math.min(Math.max(logarithm, -gates.largest), gates.largest));
  });
}

export function offsets(numbers, { bias, slope }, count, repetition, level) {
  return Float32Array.from({ length: count }, (_, h) => numbers[bias + repetition * count + h] + numbers[slope + h] * level);
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
