// Pages of text and drawings on white paper, by the library's rule (whorl.automatic.paper): how strong noise can be at most.

import catalogue from "./catalogue.js";
import { atQuantile, blank, box, endsOf, joined, normalBelow } from "./noise.js";

const { window: side, patch, paper: { suspect, partly: [least, most], enough, weakest, weaker, free } } = catalogue.noise;

// The noise of parts { planes, height, width } of a picture that was measured as `level`, or less.
export function onPaper(parts, level) {
  const [black, white] = endsOf(parts);
  if (level <= suspect * (white - black)) return level;
  const planes = parts.flatMap(({ planes, height, width }) => planes.map((plane) => ({ values: Float64Array.from(plane), shape: [height, width] })));
  const strengths = joined(planes.map(({ values, shape }) => strengthsOf(values, shape, white)));
  if (strengths.length && strengths.length >= enough * planes.reduce((sum, { values }) => sum + values.length, 0)) {
    const weak = atQuantile(strengths, weakest);
    if (weaker * weak < level) return weak;
  }
  let drawn = 0, without = 0;
  for (const { values, shape } of planes) {
    const empty = blank(values, shape), counted = box(values.map((v, i) => (empty[i] && v > black ? 0 : 1)), shape, [side, side]);
    for (const count of counted) {
      if (count >= side ** 2 / 2) ++drawn;
      if (count === side ** 2) ++without;
    }
  }
  return without < free * drawn ? 0 : level;
}

// The standard deviations that patches tell of which a part is white.
function strengthsOf(values, shape, white) {
  const sides = [patch, patch], shares = box(values.map((v) => (v >= white ? 1 : 0)), shape, sides).map((sum) => sum / patch ** 2);
  const below = box(values.map((v) => white - v), shape, sides).map((sum) => sum / patch ** 2), found = [], known = new Map();
  shares.forEach((share, i) => {
    if (share < least || share > most) return;
    if (!known.has(share)) known.set(share, takenFromMean(share));
    found.push(below[i] / known.get(share));
  });
  return Float64Array.from(found);
}

// By how much noise of strength 1 comes down in the mean where this share of it is white.
function takenFromMean(share) {
  let [low, high] = [-8, 8];
  for (let round = 0; round < 60; ++round) {
    const middle = (low + high) / 2;
    if (normalBelow(middle) < share) low = middle; else high = middle;
  }
  return Math.exp(-0.5 * low * low) / Math.sqrt(2 * Math.PI) - low * normalBelow(-low);
}
