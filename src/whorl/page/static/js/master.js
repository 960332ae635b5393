// Masters: fine, wide square pictures to record turned views from (see turning.js).

import { SCENES, VIEW, normal } from "./scenes.js";
import { gaussian } from "./stencils.js";
import { SPOT } from "./turning.js";

const FINE = 2; // master samples per view pixel
const MARGIN = 8; // view pixels beyond the farthest corner, for the spot and the interpolation

// The clean master of a scene: one sample per master pixel, which the spot then makes round.
export function drawScene(kernel, name) {
  const value = SCENES[name].value, size = masterSize(VIEW), plane = new Float32Array(size * size), middle = (size - 1) / 2;
  for (let y = 0; y < size; ++y)
    for (let x = 0; x < size; ++x) plane[y * size + x] = value((x - middle) / FINE, (y - middle) / FINE);
  return { size, view: VIEW, fine: FINE, planes: [blur(kernel, plane, size)] };
}

// The clean master of a square picture given as planes; its inner part fills the view at every angle.
export function fromSquare(kernel, planes, side) {
  const view = Math.max(16, Math.min(VIEW, Math.floor((side / FINE - 2 * MARGIN) / Math.SQRT2)));
  return { size: side, view, fine: FINE, planes: planes.map((plane) => blur(kernel, plane, side)) };
}

// How large a square picture may be to be used at full sharpness.
export const masterSize = (view) => FINE * Math.ceil(Math.SQRT2 * view + 2 * MARGIN);

// Noise that belongs to the picture and turns with it: normal deviates seen through the same spot, with standard
// deviation 1 in the view.
export function drawNoise(kernel, size, channels, seed) {
  const gain = 2 * Math.sqrt(Math.PI) * SPOT * FINE;
  return Array.from({ length: channels }, (_, c) => {
    const next = normal(seed + c);
    return blur(kernel, Float32Array.from({ length: size * size }, () => gain * next()), size);
  });
}

function blur(kernel, plane, size) {
  kernel.release();
  const weights = gaussian(SPOT * FINE), radius = weights.length - 1;
  const [from, to, taps, rows] = [size * size, size * size, radius + 1, kernel.smooth_room(size, radius)].map((n) => kernel.plane(n));
  new Float32Array(kernel.memory.buffer, taps, radius + 1).set(weights);
  new Float32Array(kernel.memory.buffer, from, size * size).set(plane);
  kernel.smooth(to, from, rows, size, size, taps, radius, 0, 0, 0, size);
  return new Float32Array(kernel.memory.buffer, to, size * size).slice();
}
