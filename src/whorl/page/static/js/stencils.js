// Weights of Gaussian smoothing, by the same formula as in Python; scales and directions come from the library itself.

import catalogue from "./catalogue.js";

// w_0, ..., w_R of the sampled Gaussian, R = ceil(4 sigma), w_0 + 2 (w_1 + ... + w_R) = 1.
export function gaussian(sigma) {
  if (sigma === 0) return [1];
  const weights = Array.from({ length: radius(sigma) + 1 }, (_, k) => Math.exp(-(k * k) / (2 * sigma * sigma)));
  const total = weights.reduce((sum, w, k) => sum + (k === 0 ? w : 2 * w), 0);
  return weights.map((w) => w / total);
}

export const radius = (sigma) => Math.ceil(catalogue.truncate * sigma);
