// Pictures under turns. A master is a square picture, finer than the view, blurred by a round spot and wide enough to fill
// the view at every angle. Turning samples the master; so a turned input is a new recording of the same picture and not a
// resampled image. Positive angles turn counterclockwise, like numpy.rot90.

import { workspace } from "./filter.js";

// Width of the recording spot in view pixels: round, so that the recording itself prefers no direction, and wide
// enough that sampling at one pixel folds back little of what is finer than a pixel.
export const SPOT = 0.7;

// Sample the square `plane` of `side` pixels at those of a size x size view, turned by `angle` degrees about both centres.
// `fine` is how many samples of the plane span one view pixel.
function sample(kernel, plane, side, size, angle, fine, bySpline) {
  kernel.release();
  const space = workspace(kernel, size, size), from = space.write(plane), out = space.image(), turn = (angle * Math.PI) / 180;
  if (bySpline) kernel.spline_coefficients(from, side, side);
  kernel.sample(out, from, side, side, size, fine * Math.cos(turn), fine * Math.sin(turn), bySpline ? 1 : 0);
  return space.view(out, size * size).slice();
}

// A new recording of the master under a turn, by cubic convolution: one view per channel.
export function record(kernel, master, size, angle) {
  return master.planes.map((plane) => sample(kernel, plane, master.size, size, angle, master.fine, false));
}

// An image turned by cubic spline interpolation, the closest one gets to turning the samples themselves.
export function turnImage(kernel, planes, size, angle) {
  return planes.map((plane) => (angle % 360 === 0 ? plane.slice() : sample(kernel, plane, size, size, angle, 1, true)));
}
