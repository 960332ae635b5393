// One explicit step of every model, u - tau K^T Phi(K u), written with the planes of the WebAssembly kernel.

import { gaussian } from "./stencils.js";

// The kernel with its numbers for the library's names of diffusivities and laws.
export async function loadKernel(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The kernel could not be loaded (${response.status}).`);
  const { instance } = await WebAssembly.instantiate(await response.arrayBuffer());
  const numbers = (name) => {
    const found = {};
    for (let k = 0, at; (at = instance.exports[name](k)); ++k) found[word(instance.exports.memory, at)] = k;
    return found;
  };
  return { ...instance.exports, kinds: numbers("diffusivity_name"), laws: numbers("law_name") };
}

function word(memory, at) {
  const bytes = new Uint8Array(memory.buffer, at);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}

// Filter an image given as one Float32Array per channel. `plan` comes from models.js; channels that are not coupled are
// filtered one after the other.
export function diffuse(kernel, planes, height, width, plan) {
  if (!plan.joint && planes.length > 1)
    return planes.flatMap((plane) => diffuse(kernel, [plane], height, width, plan));
  kernel.release();
  const space = workspace(kernel, height, width);
  const image = space.images(planes.length);
  planes.forEach((plane, c) => space.view(image + 4 * c * height * width, height * width).set(plane));
  const kind = kernel.kinds[plan.diffusivity];
  if (kind === undefined) throw new Error(`The kernel has no diffusivity “${plan.diffusivity}”.`);
  const model = plan.scales.length > 1 ? multiscale : STEPS[plan.operator];
  const result = model(kernel, space, image, planes.length, { ...plan, kind });
  return planes.map((_, c) => space.view(result + 4 * c * height * width, height * width).slice());
}

// Planes in the kernel's memory, addressed by number.
export function workspace(kernel, H, W) {
  const plane = (count) => {
    const address = kernel.plane(count);
    if (address === 0) throw new Error("This browser gave no memory for a picture of that size.");
    return address;
  };
  const view = (address, count) => new Float32Array(kernel.memory.buffer, address, count);
  const write = (values) => {
    const address = plane(values.length);
    view(address, values.length).set(values);
    return address;
  };
  // `smooth(from, to)` for one plane, or with a factor added to what is there; sigma 0 gives no smoothing at all.
  const smoothing = (sigma) => {
    if (sigma === 0) return null;
    const weights = gaussian(sigma), radius = weights.length - 1;
    if (radius > kernel.largest_radius()) throw new Error(`A smoothing of ${sigma} pixels is too wide for this page.`);
    const taps = write(weights), column = plane(2 * W + 2 * radius);
    return (from, to, factor = 0) => kernel.smooth(to, from, column, H, W, taps, radius, factor);
  };
  return {
    H, W, plane, view, write, smoothing,
    images: (count) => plane(count * H * W), // one behind the other
    image: () => plane(H * W),
    frame: () => plane((H + 2) * (W + 2)),
  };
}

// Models on the cell gradient, second order and one scale, with or without presmoothed structure: two images change places.
function cells(kernel, space, image, count, { kind, ...plan }) {
  const { H, W } = space, law = kernel.laws[plan.coupling];
  const rows = space.plane((6 * count + 6) * (W + 1));
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const alpha = presmooth ? 0.5 : plan.alpha; // presmoothed there is no detail: the steering gradient is a vector
  let u = image, next = space.images(count);
  for (let n = 0; n < plan.steps; ++n) {
    for (let c = 0; presmooth && c < count; ++c) presmooth(u + 4 * c * H * W, blurred + 4 * c * H * W);
    kernel.step(next, u, blurred ?? u, rows, count, H, W, plan.alpha, alpha, plan.gamma, law, kind, plan.contrast, plan.tau);
    [u, next] = [next, u];
  }
  return u;
}

// The same on many scales, which share one tensor: every scale is smoothed, and its flux is smoothed again.
function multiscale(kernel, space, image, count, { kind, ...plan }) {
  const { H, W } = space, n = (H + 1) * (W + 1), law = kernel.laws[plan.coupling];
  const J = [space.plane(n), space.plane(n), space.plane(n)], rows = space.plane(6 * (W + 1)), flux = space.image();
  const smoothings = plan.scales.map(({ sigma }) => space.smoothing(sigma));
  const fine = space.images(count * plan.scales.length), sum = space.image();
  const weights = space.write(Array.from({ length: count }, () => plan.scales.map(({ weight }) => weight)).flat());
  const at = (c, l) => fine + 4 * (c * plan.scales.length + l) * H * W;
  for (let step = 0; step < plan.steps; ++step) {
    for (let c = 0; c < count; ++c) smoothings.forEach((smooth, l) => smooth(image + 4 * c * H * W, at(c, l)));
    kernel.structure(...J, fine, weights, count * plan.scales.length, rows, H, W, plan.alpha);
    kernel.diffusion_tensor(...J, n, law, kind, plan.contrast);
    for (let c = 0; c < count; ++c) {
      kernel.fill(sum, H * W, 0);
      smoothings.forEach((smooth, l) => {
        kernel.minus_divergence(flux, at(c, l), ...J, rows, H, W, plan.alpha, plan.gamma);
        smooth(flux, sum, plan.scales[l].weight);
      });
      kernel.add(image + 4 * c * H * W, sum, H * W, -plan.tau);
    }
  }
  return image;
}

// g(s2) in place.
const activate = (kernel, s2, n, { kind, contrast }) => kernel.diffusion_tensor(s2, 0, 0, n, kernel.laws.scalar, kind, contrast);

// You and Kaveh: the Laplacian in place of the gradient, one channel at a time.
function laplacian(kernel, space, u, _, plan) {
  const { H, W } = space, n = H * W;
  const frame = space.frame(), s2 = space.image(), out = space.image(), response = space.image();
  for (let step = 0; step < plan.steps; ++step) {
    kernel.extend(frame, u, H, W);
    kernel.laplacian(response, frame, H, W, plan.alpha);
    kernel.fill(s2, n, 0);
    kernel.add_square(s2, response, n, 1);
    activate(kernel, s2, n, plan);
    kernel.multiply(response, s2, n);
    kernel.extend(frame, response, H, W);
    kernel.laplacian(out, frame, H, W, plan.alpha);
    kernel.add(u, out, n, -plan.tau);
  }
  return u;
}

// Lysaker, Lundervold and Tai: the Hessian in place of the gradient, one channel at a time.
function hessian(kernel, space, u, _, plan) {
  const { H, W } = space, n = H * W;
  // The mixed entry reaches two pixels far, hence the broad frame.
  const broad = space.plane((H + 4) * (W + 4)), frames = [space.frame(), broad, space.frame()];
  const s2 = space.image(), out = space.image(), responses = [space.image(), space.image(), space.image()];
  for (let step = 0; step < plan.steps; ++step) {
    kernel.extend_two(broad, u, H, W, 1);
    kernel.hessian(...responses, broad, H, W);
    kernel.fill(s2, n, 0);
    [1, 2, 1].forEach((weight, k) => kernel.add_square(s2, responses[k], n, weight));
    if (plan.coupling === "isotropic") activate(kernel, s2, n, plan);
    responses.forEach((plane, k) => {
      if (plan.coupling === "uncoupled") { // each entry for itself
        kernel.fill(s2, n, 0);
        kernel.add_square(s2, plane, n, 1);
        activate(kernel, s2, n, plan);
      }
      kernel.multiply(plane, s2, n);
      if (k === 1) kernel.extend_two(broad, plane, H, W, -1);
      else kernel.extend(frames[k], plane, H, W);
    });
    kernel.hessian_adjoint(out, ...frames, H, W);
    kernel.add(u, out, n, -plan.tau);
  }
  return u;
}

// Weickert's integration model: one derivative and one diffusivity per direction.
function directional(kernel, space, u, _, plan) {
  const { H, W } = space, n = (H + 3) * (W + 3);
  const wide = space.plane((H + 6) * (W + 6)), v = space.plane(n), s2 = space.plane(n);
  const structure = space.plane((H + 6) * (W + 6)), sum = space.image(), blurred = space.image();
  const presmooth = space.smoothing(plan.structureSigma);
  const stencils = plan.directions.map((weights) => space.write(weights));
  const inside = plan.directions.length / 2; // the quadrature weight 2 / m sits in the responses; inside g it must not count
  for (let step = 0; step < plan.steps; ++step) {
    kernel.extend_wide(wide, u, H, W);
    presmooth?.(u, blurred);
    kernel.extend_wide(structure, presmooth ? blurred : u, H, W);
    kernel.fill(sum, H * W, 0);
    for (const weights of stencils) {
      kernel.directional(v, structure, H + 6, W + 6, weights);
      kernel.fill(s2, n, 0);
      kernel.add_square(s2, v, n, inside);
      activate(kernel, s2, n, plan);
      kernel.directional(v, wide, H + 6, W + 6, weights);
      kernel.multiply(v, s2, n);
      kernel.directional_adjoint(sum, v, H, W, weights);
    }
    kernel.add(u, sum, H * W, -plan.tau);
  }
  return u;
}

const STEPS = { cells, laplacian, hessian, directional };
