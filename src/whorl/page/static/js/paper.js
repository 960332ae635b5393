// Pages of text and drawings on paper of one tone, by the library's rule (whorl.automatic.paper): how strong noise can be at most.

import catalogue from "./catalogue.js";
import { atQuantile, blank, box, endsOf, joined, normalBelow } from "./noise.js";

const { window: side, patch, paper: {
  suspect, partly: [least, most], enough, weakest, weaker, free, least_ink, darkest, ink: leastDark, flattest, usual } } = catalogue.noise;

// The noise of parts { planes, height, width } of a picture that was measured as `level`, or less.
export function onPaper(parts, level) {
  const [black, white] = endsOf(parts);
  if (level <= suspect * (white - black)) return level;
  const planes = parts.flatMap(({ planes, height, width }) => planes.map((plane) => ({ values: Float64Array.from(plane), shape: [height, width] })));
  const mirrored = planes.map(({ values, shape }) => ({ values: values.map((v) => black + white - v), shape }));
  for (const shown of [planes, mirrored]) {
    const inked = isWritten(shown, black, white);
    if (shown === mirrored && !inked) continue;
    const found = shownBy(shown, black, white, level, inked);
    if (found < level) return found;
  }
  return level;
}

// Whether dark ink lies on bright paper: there is more paper, and much of the ink is as dark as it gets.
function isWritten(planes, black, white) {
  const pixels = planes.reduce((sum, { values }) => sum + values.length, 0);
  const [dark, ink] = [0.5, darkest].map((share) => {
    const end = black + share * (white - black);
    return planes.reduce((sum, { values }) => sum + values.reduce((count, v) => count + (v < end ? 1 : 0), 0), 0);
  });
  return least_ink * pixels <= dark && dark <= pixels / 2 && ink >= leastDark * dark;
}

// The level, or less where bright paper shows less.
function shownBy(planes, black, white, level, inked) {
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
  if (without < free * drawn) return 0;
  const spreads = inked ? joined(planes.map(({ values, shape }) => spreadsOf(values, shape, 0.5 * (black + white)))) : [];
  const weak = spreads.length ? atQuantile(spreads, flattest) / usual : level;
  return weaker * weak < level ? weak : level;
}

// The standard deviations of the patches of paper, which are brighter than the middle.
function spreadsOf(values, shape, middle) {
  const sides = [patch, patch], count = patch ** 2, found = [];
  const means = box(values, shape, sides).map((sum) => sum / count), squares = box(values.map((v) => (v - middle) ** 2), shape, sides);
  means.forEach((mean, i) => {
    if (mean > middle) found.push(Math.sqrt(Math.max(((squares[i] / count - (mean - middle) ** 2) * count) / (count - 1), 0)));
  });
  return Float64Array.from(found);
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
