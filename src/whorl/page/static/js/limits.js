// The automatic step of each model: the max-min limit where there is one, or 0.8 of the L2 limit, whichever is smaller.

import { directionWeights, gaussian } from "./stencils.js";

const SAFETY = 0.8;
const OVERSAMPLING = 16;

// ||K||^2 of the cell gradient with unit pixels.
const cellNorm = (alpha) => 4 * Math.max(1, 2 * (1 - 2 * alpha));

export function automaticStep(plan) {
  const l2 = 2 / squaredNorm(plan);
  const single = plan.operator === "cells" && plan.scales.length === 1;
  const gentle = single && (plan.coupling === "isotropic" || (plan.coupling === "uncoupled" && plan.alpha === 0));
  return gentle ? Math.min(SAFETY * l2, 1 / (4 * (1 - plan.alpha))) : SAFETY * l2;
}

// The fewest equal steps, none above the automatic one, that sum to the time.
export function equalSteps(time, largest) {
  const steps = Math.ceil((time / largest) * (1 - 1e-12));
  return { steps, tau: steps ? time / steps : 0 };
}

const remembered = new Map();

function squaredNorm({ operator, alpha, scales, directions }) {
  if (operator === "hessian") return 16;
  if (operator === "laplacian") return cellNorm(alpha) ** 2;
  if (operator === "cells" && scales.length === 1) return cellNorm(alpha);
  const key = `${operator} ${alpha} ${scales?.length} ${directions}`;
  if (!remembered.has(key)) remembered.set(key, operator === "cells" ? scalesNorm(alpha, scales) : directionsNorm(directions));
  return remembered.get(key);
}

// The maximum of a trigonometric polynomial over nodes, raised by the factor of Ehlich and Zeller to a proven bound.
function bound(largest) {
  return largest / Math.cos(Math.PI / (2 * OVERSAMPLING)) ** 2;
}

const nodes = (degree) =>
  Array.from({ length: OVERSAMPLING * degree + 1 }, (_, k) => (k * Math.PI) / (OVERSAMPLING * degree));

// sum_l omega_l G_l^2 * 4 (X + Y - 4 alpha X Y) over all frequencies; symmetric in both axes.
function scalesNorm(alpha, scales) {
  const kernels = scales.map(({ sigma }) => gaussian(sigma));
  const theta = nodes(1 + 2 * Math.max(...kernels.map((w) => w.length - 1)));
  const squares = kernels.map((w) =>
    theta.map((t) => w.reduce((sum, weight, k) => sum + (k ? 2 * weight * Math.cos(k * t) : weight), 0) ** 2));
  const sines = theta.map((t) => Math.sin(t / 2) ** 2);
  let largest = 0;
  for (let j = 0; j < theta.length; ++j) {
    const row = squares.map((s, l) => scales[l].weight * s[j]);
    for (let i = 0; i <= j; ++i) {
      let transfer = 0;
      for (let l = 0; l < row.length; ++l) transfer += row[l] * squares[l][i];
      largest = Math.max(largest, transfer * 4 * (sines[i] + sines[j] - 4 * alpha * sines[i] * sines[j]));
    }
  }
  return bound(largest);
}

// The same for derivatives along many directions: opposite taps at distance d contribute 2 sin(d . theta).
function directionsNorm(count) {
  const stencils = directionWeights(count), theta = nodes(3);
  const gain = (weights, y, x) =>
    weights.reduce((sum, w, k) => sum + 2 * w * Math.sin((1.5 - Math.floor(k / 4)) * y + (1.5 - (k % 4)) * x), 0);
  let largest = 0;
  for (const y of theta)
    for (const x of theta)
      largest = Math.max(largest, stencils.reduce((sum, w) => sum + 0.5 * (gain(w, y, x) ** 2 + gain(w, y, -x) ** 2), 0));
  return bound(largest);
}
