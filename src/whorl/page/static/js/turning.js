// Pictures under turns. A master is a square picture, finer than the view, blurred by a round spot and wide enough to fill
// the view at every angle. Turning samples the master; so a turned input is a new recording of the same picture and not a
// resampled image. Positive angles turn counterclockwise, like numpy.rot90.

// Width of the recording spot in view pixels: round, so that the recording itself prefers no direction, and wide
// enough that sampling at one pixel folds back little of what is finer than a pixel.
export const SPOT = 0.7;

// Four weights of cubic convolution (Keys 1981) for a point t in [0, 1) between the second and the third sample.
function keys(t, w) {
  w[0] = ((-0.5 * t + 1) * t - 0.5) * t;
  w[1] = (1.5 * t - 2.5) * t * t + 1;
  w[2] = ((-1.5 * t + 2) * t + 0.5) * t;
  w[3] = (0.5 * t - 0.5) * t * t;
}

// Uniform cubic B-spline weights, for coefficients prepared by `splineCoefficients`.
function spline(t, w) {
  const s = 1 - t;
  w[0] = (s * s * s) / 6;
  w[1] = 2 / 3 - t * t * (1 - t / 2);
  w[2] = 2 / 3 - s * s * (1 - s / 2);
  w[3] = (t * t * t) / 6;
}

// Sample `plane` (width w, height h) at the pixels of a size x size view, turned by `angle` degrees about both centres.
// `fine` is how many samples of the plane span one view pixel.
function sample(plane, w, h, size, angle, fine, weights) {
  const out = new Float32Array(size * size);
  const cos = Math.cos((angle * Math.PI) / 180) * fine, sin = Math.sin((angle * Math.PI) / 180) * fine;
  const wx = [0, 0, 0, 0], wy = [0, 0, 0, 0], middle = (size - 1) / 2;
  for (let y = 0; y < size; ++y) {
    for (let x = 0; x < size; ++x) {
      const dx = x - middle, dy = y - middle;
      const sx = cos * dx - sin * dy + (w - 1) / 2, sy = sin * dx + cos * dy + (h - 1) / 2;
      const ix = Math.floor(sx), iy = Math.floor(sy);
      weights(sx - ix, wx);
      weights(sy - iy, wy);
      let sum = 0;
      if (ix >= 1 && iy >= 1 && ix + 2 < w && iy + 2 < h) {
        for (let k = 0, row = (iy - 1) * w + ix - 1; k < 4; ++k, row += w)
          sum += wy[k] * (wx[0] * plane[row] + wx[1] * plane[row + 1] + wx[2] * plane[row + 2] + wx[3] * plane[row + 3]);
      } else {
        for (let k = 0; k < 4; ++k)
          for (let l = 0; l < 4; ++l) sum += wy[k] * wx[l] * plane[mirrored(iy - 1 + k, h) * w + mirrored(ix - 1 + l, w)];
      }
      out[y * size + x] = sum;
    }
  }
  return out;
}

function mirrored(i, n) {
  const j = ((i % (2 * n)) + 2 * n) % (2 * n);
  return j < n ? j : 2 * n - 1 - j;
}

// A new recording of the master under a turn: one view per channel.
export function record(master, size, angle) {
  return master.planes.map((plane) => sample(plane, master.size, master.size, size, angle, master.fine, keys));
}

// An image turned by cubic spline interpolation, the closest one gets to turning the samples themselves.
export function turnImage(planes, size, angle) {
  return planes.map((plane) => {
    if (angle % 360 === 0) return plane.slice();
    return sample(splineCoefficients(plane, size, size), size, size, size, angle, 1, spline);
  });
}

// Coefficients c with sum c_k B3(x - k) = u at the samples, half-sample mirror: two recursions per line (Unser 1999).
export function splineCoefficients(plane, w, h) {
  const out = Float64Array.from(plane, (v) => 36 * v);
  for (let y = 0; y < h; ++y) recursion(out, y * w, 1, w);
  for (let x = 0; x < w; ++x) recursion(out, x, w, h);
  return out;
}

function recursion(c, start, step, n) {
  const z = Math.sqrt(3) - 2;
  let sum = 0, power = z;
  for (let k = 0; k < Math.min(n, 40); ++k, power *= z) sum += power * c[start + k * step];
  let previous = c[start] + sum;
  c[start] = previous;
  for (let k = 1; k < n; ++k) previous = c[start + k * step] += z * previous;
  const last = start + (n - 1) * step;
  previous = c[last] = (z / (z - 1)) * c[last];
  for (let k = n - 2; k >= 0; --k) {
    const i = start + k * step;
    previous = c[i] = z * (previous - c[i]);
  }
}
