// One explicit step of every model, u - tau K^T Phi(K u), written with the planes of the WebAssembly kernel.

import { gaussian, directionWeights } from "./stencils.js";

export const DIFFUSIVITIES = ["homogeneous", "exponential", "rational", "charbonnier"];

export async function loadKernel(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The kernel could not be loaded (${response.status}).`);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer());
  return instance.exports;
}

// Filter an image given as one Float32Array per channel. `plan` comes from models.js; channels that are not coupled are
// filtered one after the other.
export function diffuse(kernel, planes, height, width, plan) {
  if (!plan.joint && planes.length > 1)
    return planes.flatMap((plane) => diffuse(kernel, [plane], height, width, plan));
  kernel.release();
  const space = workspace(kernel, height, width);
  const images = planes.map((plane) => space.copy(plane));
  const step = STEPS[plan.operator](kernel, space, images, plan);
  for (let n = 0; n < plan.steps; ++n) step();
  return images.map((address) => space.read(address));
}

// Planes in the kernel's memory, addressed by number.
function workspace(kernel, H, W) {
  const plane = (count) => {
    const address = kernel.plane(count);
    if (address === 0) throw new Error("This browser gave no memory for a picture of that size.");
    return address;
  };
  const write = (values) => {
    const address = plane(values.length);
    new Float32Array(kernel.memory.buffer, address, values.length).set(values);
    return address;
  };
  // Smoothings are shared between planes; sigma 0 is the identity and costs nothing.
  const smoothing = (sigma) => {
    if (sigma === 0) return (from) => from;
    const weights = gaussian(sigma), radius = weights.length - 1;
    const taps = write(weights), column = plane(W + 2 * radius);
    return (from, to) => { kernel.smooth(to, from, column, H, W, taps, radius); return to; };
  };
  return {
    H, W, plane, write, smoothing,
    image: () => plane(H * W),
    frame: () => plane((H + 2) * (W + 2)),
    copy: write,
    read: (address) => new Float32Array(kernel.memory.buffer, address, H * W).slice(),
  };
}

// Models on the cell gradient: second order, one scale or many, with or without presmoothed structure.
function cells(kernel, space, images, plan) {
  const { H, W } = space, n = (H + 1) * (W + 1);
  const J = [space.plane(n), space.plane(n), space.plane(n)];
  const frame = space.frame(), rows = space.plane(6 * (W + 1));
  const flux = space.image(), back = space.image(), sum = space.image(), blurred = space.image();
  const scales = plan.scales.map(({ sigma, weight }) => ({ weight, smooth: space.smoothing(sigma) }));
  const smoothed = images.map(() => scales.map(() => space.image()));
  const presmooth = plan.structureSigma > 0 ? space.smoothing(plan.structureSigma) : null;

  return () => {
    for (const plane of J) kernel.fill(plane, n, 0);
    const fine = images.map((u, c) => scales.map(({ smooth }, l) => smooth(u, smoothed[c][l])));
    for (const [c, u] of images.entries()) {
      if (presmooth) {
        kernel.extend(frame, presmooth(u, blurred), H, W);
        kernel.structure(...J, frame, H, W, 0.5, 1); // no detail: the steering gradient is a vector
      } else {
        scales.forEach(({ weight }, l) => {
          kernel.extend(frame, fine[c][l], H, W);
          kernel.structure(...J, frame, H, W, plan.alpha, weight);
        });
      }
    }
    kernel[plan.coupling](...J, n, plan.diffusivity, plan.contrast);
    for (const [c, u] of images.entries()) {
      kernel.fill(sum, H * W, 0);
      scales.forEach(({ weight, smooth }, l) => {
        kernel.extend(frame, fine[c][l], H, W);
        kernel.minus_divergence(flux, frame, ...J, rows, H, W, plan.alpha, plan.gamma);
        kernel.add(sum, smooth(flux, back), H * W, weight);
      });
      kernel.add(u, sum, H * W, -plan.tau);
    }
  };
}

// You and Kaveh: the Laplacian in place of the gradient.
function laplacian(kernel, space, images, plan) {
  const { H, W } = space, n = H * W;
  const frame = space.frame(), s2 = space.image(), out = space.image();
  const responses = images.map(() => space.image());
  return () => {
    kernel.fill(s2, n, 0);
    images.forEach((u, c) => {
      kernel.extend(frame, u, H, W);
      kernel.laplacian(responses[c], frame, H, W, plan.alpha);
      kernel.add_square(s2, responses[c], n, 1);
    });
    kernel.scalar(s2, n, plan.diffusivity, plan.contrast);
    images.forEach((u, c) => {
      kernel.multiply(responses[c], s2, n);
      kernel.extend(frame, responses[c], H, W);
      kernel.laplacian(out, frame, H, W, plan.alpha);
      kernel.add(u, out, n, -plan.tau);
    });
  };
}

// Lysaker, Lundervold and Tai: the Hessian in place of the gradient.
function hessian(kernel, space, images, plan) {
  const { H, W } = space, n = H * W;
  // The mixed entry reaches two pixels far, hence the broad frame.
  const broad = space.plane((H + 4) * (W + 4)), frames = [space.frame(), broad, space.frame()];
  const s2 = space.image(), out = space.image();
  const responses = images.map(() => [space.image(), space.image(), space.image()]);
  const alone = (plane) => { // an entry that is activated for itself
    kernel.fill(s2, n, 0);
    kernel.add_square(s2, plane, n, 1);
    kernel.scalar(s2, n, plan.diffusivity, plan.contrast);
  };
  return () => {
    kernel.fill(s2, n, 0);
    images.forEach((u, c) => {
      kernel.extend_two(broad, u, H, W, 1);
      kernel.hessian(...responses[c], broad, H, W);
      [1, 2, 1].forEach((weight, k) => kernel.add_square(s2, responses[c][k], n, weight));
    });
    if (plan.coupling === "isotropic") kernel.scalar(s2, n, plan.diffusivity, plan.contrast);
    images.forEach((u, c) => {
      responses[c].forEach((plane, k) => {
        if (plan.coupling === "uncoupled") alone(plane);
        kernel.multiply(plane, s2, n);
        if (k === 1) kernel.extend_two(broad, plane, H, W, -1);
        else kernel.extend(frames[k], plane, H, W);
      });
      kernel.hessian_adjoint(out, ...frames, H, W);
      kernel.add(u, out, n, -plan.tau);
    });
  };
}

// Weickert's integration model: one derivative and one diffusivity per direction.
function directional(kernel, space, images, plan) {
  const { H, W } = space, n = (H + 3) * (W + 3);
  const wide = space.plane((H + 6) * (W + 6)), v = space.plane(n), s2 = space.plane(n);
  const structure = space.plane((H + 6) * (W + 6)), sum = space.image(), blurred = space.image();
  const presmooth = space.smoothing(plan.structureSigma);
  const stencils = directionWeights(plan.directions).map((weights) => space.write(weights));
  return () => {
    for (const u of images) {
      kernel.extend_wide(wide, u, H, W);
      kernel.extend_wide(structure, presmooth(u, blurred), H, W);
      kernel.fill(sum, H * W, 0);
      for (const weights of stencils) {
        kernel.directional(v, structure, H + 6, W + 6, weights);
        kernel.fill(s2, n, 0);
        kernel.add_square(s2, v, n, plan.structureWeight);
        kernel.scalar(s2, n, plan.diffusivity, plan.contrast);
        kernel.directional(v, wide, H + 6, W + 6, weights);
        kernel.multiply(v, s2, n);
        kernel.directional_adjoint(sum, v, H, W, weights);
      }
      kernel.add(u, sum, H * W, -plan.tau);
    }
  };
}

const STEPS = { cells, laplacian, hessian, directional };
