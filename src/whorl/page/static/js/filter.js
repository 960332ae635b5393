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
// filtered one after the other. Between two steps there is a breath, in which other messages may arrive.
export async function diffuse(kernel, planes, height, width, plan, breath = () => {}) {
  if (!plan.joint && planes.length > 1) {
    const done = [];
    for (const plane of planes) done.push(...await diffuse(kernel, [plane], height, width, plan, breath));
    return done;
  }
  kernel.release();
  const space = workspace(kernel, height, width);
  const image = space.images(planes.length);
  planes.forEach((plane, c) => space.view(image + 4 * c * height * width, height * width).set(plane));
  const kind = kernel.kinds[plan.diffusivity];
  if (kind === undefined) throw new Error(`The kernel has no diffusivity “${plan.diffusivity}”.`);
  const model = plan.scales.length > 1 ? multiscale : plan.rho > 0 || plan.aligned ? smoothedTensor : STEPS[plan.operator];
  const result = await model(kernel, space, image, planes.length, { ...plan, kind }, breath);
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
    const taps = write(weights), rows = plane(kernel.smooth_room(W, radius));
    return (from, to, factor = 0) => kernel.smooth(to, from, rows, H, W, taps, radius, factor);
  };
  // The structure tensor on the cells: `raw`, to be written, and `smooth`, by sigma, after smoothTensor(). A law that does
  // not see the trace needs two of its planes, and with the axes alone only the first; the mixed entry is odd.
  const tensor = (sigma, law, aligned = false) => {
    const n = (H + 1) * (W + 1), smooth = [plane(n), plane(n), plane(n)];
    if (sigma === 0) return { raw: smooth, smooth, smoothTensor() {} };
    const weights = gaussian(sigma), radius = weights.length - 1, high = H + 1, wide = W + 1;
    if (radius > kernel.largest_radius()) throw new Error(`A smoothing of ${sigma} pixels is too wide for this page.`);
    const taps = write(weights), column = plane(wide + 2 * radius), room = radius * wide;
    const raw = smooth.map(() => plane(n + 2 * room) + 4 * room); // rows of their mirror image around them
    const seen = [0, 1, 2].filter((k) => (k !== 1 || !aligned) && (k !== 2 || kernel.sees_trace(law)));
    return {
      raw, smooth,
      smoothTensor() {
        for (const k of seen) kernel.smooth_cells(smooth[k], raw[k], column, high, wide, taps, radius, k === 1 ? -1 : 1);
      },
    };
  };
  return {
    H, W, plane, view, write, smoothing, tensor,
    images: (count) => plane(count * H * W), // one behind the other
    image: () => plane(H * W),
    frame: (width) => plane((H + 2 * width) * (W + 2 * width)),
  };
}

// Models on the cell gradient, second order and one scale, with or without presmoothed structure.
async function cells(kernel, space, u, count, { kind, ...plan }, breath) {
  const { H, W } = space, law = kernel.laws[plan.law];
  const rows = space.plane(kernel.cell_room(count, W));
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const alpha = presmooth ? 0.5 : plan.alpha; // presmoothed there is no detail: the steering gradient is a vector
  for (let n = 0; n < plan.steps; ++n) {
    await breath();
    for (let c = 0; presmooth && c < count; ++c) presmooth(u + 4 * c * H * W, blurred + 4 * c * H * W);
    kernel.step(u, blurred ?? u, rows, count, H, W, plan.alpha, alpha, plan.gamma, law, kind, plan.contrast, plan.tau);
  }
  return u;
}

// Models whose structure tensor is smoothed (rho), and shared by the channels.
async function smoothedTensor(kernel, space, u, count, { kind, ...plan }, breath) {
  const { H, W } = space, n = (H + 1) * (W + 1), law = kernel.laws[plan.law], rows = space.plane(kernel.cell_room(count, W));
  const { raw, smooth, smoothTensor } = space.tensor(plan.rho, law, plan.aligned);
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const ones = space.write(Array.from({ length: count }, () => 1));
  for (let step = 0; step < plan.steps; ++step) {
    await breath();
    for (let c = 0; presmooth && c < count; ++c) presmooth(u + 4 * c * H * W, blurred + 4 * c * H * W);
    kernel.structure(...raw, blurred ?? u, ones, count, rows, H, W, presmooth ? 0.5 : plan.alpha, law);
    smoothTensor();
    if (plan.aligned) kernel.fill(smooth[1], n, 0); // the law sees the axes alone
    kernel.tensor_step(u, ...smooth, rows, count, H, W, plan.alpha, plan.gamma, law, kind, plan.contrast, plan.tau);
  }
  return u;
}

// Many scales that share a tensor: every scale is smoothed before, and its flux is smoothed again.
async function multiscale(kernel, space, image, count, { kind, ...plan }, breath) {
  const { H, W } = space, n = (H + 1) * (W + 1), law = kernel.laws[plan.law], scales = plan.scales.length;
  const J = space.tensor(0, law).raw, rows = space.plane(kernel.cell_room(1, W)), flux = space.image(), sum = space.image();
  const smoothings = plan.scales.map(({ sigma }) => space.smoothing(sigma)), fine = space.images(count * scales);
  const weights = space.write(Array.from({ length: count }, () => plan.scales.map(({ weight }) => weight)).flat());
  const at = (start, k) => start + 4 * k * H * W;
  for (let step = 0; step < plan.steps; ++step) {
    await breath();
    for (let c = 0; c < count; ++c) smoothings.forEach((smooth, l) => smooth(at(image, c), at(fine, c * scales + l)));
    kernel.structure(...J, fine, weights, count * scales, rows, H, W, plan.alpha, law);
    kernel.diffusion_tensor(...J, n, law, kind, plan.contrast);
    for (let c = 0; c < count; ++c) {
      kernel.fill(sum, H * W, 0);
      smoothings.forEach((smooth, l) => {
        kernel.minus_divergence(flux, at(fine, c * scales + l), ...J, rows, H, W, plan.alpha, plan.gamma);
        smooth(flux, sum, plan.scales[l].weight);
      });
      kernel.add(at(image, c), sum, H * W, -plan.tau);
    }
  }
  return image;
}

// You and Kaveh: the Laplacian in place of the gradient, one channel at a time.
async function laplacian(kernel, space, u, _, { kind, ...plan }, breath) {
  const { H, W } = space, frame = space.frame(1), flux = space.frame(1), row = space.plane(W + 3);
  for (let step = 0; step < plan.steps; ++step) {
    await breath();
    kernel.extend(frame, u, H, W, 1);
    kernel.laplacian_flux(flux, frame, row, H, W, plan.alpha, kernel.laws.scalar, kind, plan.contrast);
    kernel.mirror_border(flux, H, W, 1, 1);
    kernel.laplacian_step(u, flux, H, W, plan.alpha, plan.tau);
  }
  return u;
}

// Lysaker, Lundervold and Tai: the Hessian in place of the gradient, one channel at a time. The mixed entry reaches two
// pixels far.
async function hessian(kernel, space, u, _, { kind, ...plan }, breath) {
  const { H, W } = space, frame = space.frame(2), squares = space.plane(3 * (W + 3)), alone = plan.law === "uncoupled" ? 1 : 0;
  const [xx, xy, yy] = [space.frame(1), space.frame(2), space.frame(1)];
  for (let step = 0; step < plan.steps; ++step) {
    await breath();
    kernel.extend(frame, u, H, W, 2);
    kernel.hessian_flux(xx, xy, yy, frame, squares, H, W, alone, kernel.laws.scalar, kind, plan.contrast);
    kernel.mirror_border(xx, H, W, 1, 1);
    kernel.mirror_border(xy, H, W, 2, -1);
    kernel.mirror_border(yy, H, W, 1, 1);
    kernel.hessian_step(u, xx, xy, yy, H, W, plan.tau);
  }
  return u;
}

// Weickert's integration model: one derivative and one diffusivity per direction. The step is written over its image, of
// which the frame is a copy.
async function directional(kernel, space, u, _, { kind, ...plan }, breath) {
  const { H, W } = space, count = plan.directions.length, weights = space.write(plan.directions.flat());
  const frame = space.frame(3), rows = space.plane(kernel.directional_room(count, W));
  const presmooth = space.smoothing(plan.structureSigma), blurred = space.image(), seen = presmooth ? space.frame(3) : frame;
  const inside = count / 2; // the quadrature weight 2 / m sits in the responses; inside g it must not count
  for (let step = 0; step < plan.steps; ++step) {
    await breath();
    kernel.extend(frame, u, H, W, 3);
    presmooth?.(u, blurred);
    if (presmooth) kernel.extend(seen, blurred, H, W, 3);
    kernel.directional_step(u, frame, seen, rows, H, W, weights, count, inside, kernel.laws.scalar, kind, plan.contrast, plan.tau);
  }
  return u;
}

const STEPS = { cells, laplacian, hessian, directional };
