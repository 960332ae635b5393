// Weights of smoothing and of directional derivatives, by the same formulas as in Python.

export const TRUNCATE = 4;

// w_0, ..., w_R of the sampled Gaussian, R = ceil(4 sigma), w_0 + 2 (w_1 + ... + w_R) = 1.
export function gaussian(sigma) {
  if (sigma === 0) return [1];
  const radius = Math.ceil(TRUNCATE * sigma);
  const weights = Array.from({ length: radius + 1 }, (_, k) => Math.exp(-(k * k) / (2 * sigma * sigma)));
  const total = weights.reduce((sum, w, k) => sum + (k === 0 ? w : 2 * w), 0);
  return weights.map((w) => w / total);
}

// Scales 0.1 * 100^((l-1)/8) with the steps between them as weights.
export function scales(count = 8, smallest = 0.1, largest = 10) {
  const node = (l) => smallest * Math.exp((Math.log(largest / smallest) * l) / count);
  return Array.from({ length: count }, (_, l) => ({ sigma: node(l), weight: node(l + 1) - node(l) }));
}

// Cubic convolution weights of the samples at -1, 0, 1, 2 for a point at t.
function cubic(t) {
  return [((-0.5 * t + 1) * t - 0.5) * t, (1.5 * t - 2.5) * t * t + 1, ((-1.5 * t + 2) * t + 0.5) * t, (0.5 * t - 0.5) * t * t];
}

// Eight weights per direction theta_j = pi j / m: one for each pair of taps that lie opposite each other.
export function directionWeights(m) {
  return Array.from({ length: m }, (_, j) => {
    const theta = (Math.PI * j) / m;
    const across = cubic(0.5 + 0.5 * Math.cos(theta)), down = cubic(0.5 + 0.5 * Math.sin(theta));
    const weights = [];
    for (let row = 0; row < 2; ++row)
      for (let column = 0; column < 4; ++column)
        weights.push(Math.sqrt(2 / m) * (down[3 - row] * across[3 - column] - down[row] * across[column]));
    return weights;
  });
}
