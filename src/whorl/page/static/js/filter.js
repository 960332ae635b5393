// One explicit step of every model, u - tau K^T Phi(K u), written with the planes of the WebAssembly kernel.

import { fetched } from "./fetched.js";
import { gaussian, radius } from "./stencils.js";

// The kernel with its numbers for the library's names of diffusivities and laws.
export async function loadKernel(url) {
  const { instance } = await WebAssembly.instantiate(await fetched(url, "The kernel"));
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
// filtered one after the other. Before every step there is a breath, in which other messages may arrive, and an exchange of
// rows with others who have the rest of the picture; it says which rows have to be right after the step.
export async function diffuse(kernel, planes, height, width, plan, breath = () => {}, exchange = null) {
  if (!plan.joint && planes.length > 1) {
    const done = [];
    for (const plane of planes) done.push(...await diffuse(kernel, [plane], height, width, plan, breath, exchange));
    return done;
  }
  kernel.release();
  const { step, view } = stepper(kernel, planes, height, width, plan);
  for (let n = 0; n < plan.steps; ++n) {
    await breath();
    step(...(await exchange?.(n, planes.length, view) ?? [0, height]));
  }
  return planes.map((_, c) => view(c).slice());
}

// Channels that are filtered together, in the kernel's memory beside what is there already: `step(first, last)` takes one
// step, `view(c)` shows a channel.
export function stepper(kernel, planes, height, width, plan) {
  const space = workspace(kernel, height, width);
  const image = space.images(planes.length), view = (c) => space.view(image + 4 * c * height * width, height * width);
  planes.forEach((plane, c) => view(c).set(plane));
  const kind = kernel.kinds[plan.diffusivity];
  if (kind === undefined) throw new Error(`The kernel has no diffusivity “${plan.diffusivity}”.`);
  const model = plan.scales.length > 1 ? multiscale : plan.cell === "wide" ? wideCells : plan.rho > 0 || plan.aligned ? smoothedTensor : STEPS[plan.operator];
  return { step: model(kernel, space, image, planes.length, { ...plan, kind }), view };
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
  // `smooth(from, to)` for one plane, or with a factor added to what is there; sigma 0 gives no smoothing at all. Planes of
  // cells are one wider and higher, and continue with parity 1, or -1 for the mixed entry of a tensor.
  const smoothing = (sigma, cells = 0) => {
    if (sigma === 0) return null;
    const weights = gaussian(sigma), far = radius(sigma);
    if (far > kernel.largest_radius()) throw new Error(`A smoothing of ${sigma} pixels is too wide for this page.`);
    const taps = write(weights), rows = plane(kernel.smooth_room(W + cells, far));
    return (from, to, factor = 0, parity = cells, first = 0, last = H + cells) =>
      kernel.smooth(to, from, rows, H + cells, W + cells, taps, far, factor, parity, first, last);
  };
  // The structure tensor on the cells: `raw`, to be written, and `smooth`, by sigma, after smoothTensor(). A law that does
  // not see the trace needs two of its planes, and with the axes alone only the first.
  const tensor = (sigma, law, aligned = false) => {
    const planes = () => [0, 1, 2].map(() => plane((H + 1) * (W + 1))), raw = planes(), blur = smoothing(sigma, 1);
    const smooth = blur ? planes() : raw, seen = [0, 1, 2].filter((k) => !(k === 1 && aligned) && !(k === 2 && !kernel.sees_trace(law)));
    return { raw, smooth, smoothTensor(first, last) { for (const k of seen) blur?.(raw[k], smooth[k], 0, k === 1 ? -1 : 1, first, last); } };
  };
  return {
    H, W, plane, view, write, smoothing, tensor,
    images: (count) => plane(count * H * W), // one behind the other
    image: () => plane(H * W),
    frame: (width) => plane((H + 2 * width) * (W + 2 * width)),
  };
}

// Models on the cell gradient, second order and one scale, with or without presmoothed structure.
function cells(kernel, space, u, count, { kind, ...plan }) {
  const { H, W } = space, law = kernel.laws[plan.law];
  const rows = space.plane(kernel.cell_room(count, W));
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const alpha = presmooth ? 0.5 : plan.alpha; // presmoothed there is no detail: the steering gradient is a vector
  return () => {
    for (let c = 0; presmooth && c < count; ++c) presmooth(u + 4 * c * H * W, blurred + 4 * c * H * W);
    kernel.step(u, blurred ?? u, rows, count, H, W, plan.alpha, alpha, plan.gamma, law, kind, plan.contrast, plan.tau);
  };
}

// The same on wide cells; the step is written over its image, of which the frames are copies.
function wideCells(kernel, space, u, count, { kind, ...plan }) {
  const { H, W } = space, law = kernel.laws[plan.law], rows = space.plane(kernel.wide_room(count, W)), size = (H + 6) * (W + 6);
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.image();
  const frames = space.plane(count * size), seen = presmooth ? space.plane(count * size) : frames, alpha = presmooth ? 0.5 : plan.alpha;
  return () => {
    for (let c = 0; c < count; ++c) {
      kernel.extend(frames + 4 * c * size, u + 4 * c * H * W, H, W, 3);
      presmooth?.(u + 4 * c * H * W, blurred);
      if (presmooth) kernel.extend(seen + 4 * c * size, blurred, H, W, 3);
    }
    kernel.wide_step(u, frames, seen, rows, count, H, W, plan.alpha, alpha, plan.gamma, plan.aligned ? 1 : 0, law, kind, plan.contrast, plan.tau);
  };
}

// Models whose structure tensor is smoothed (rho), and shared by the channels.
function smoothedTensor(kernel, space, u, count, { kind, ...plan }) {
  const { H, W } = space, n = (H + 1) * (W + 1), law = kernel.laws[plan.law], rows = space.plane(kernel.cell_room(count, W));
  const { raw, smooth, smoothTensor } = space.tensor(plan.rho, law, plan.aligned);
  const presmooth = space.smoothing(plan.structureSigma), blurred = presmooth && space.images(count);
  const ones = space.write(Array.from({ length: count }, () => 1)), far = radius(plan.rho);
  return (first, last) => {
    const [top, bottom] = [Math.max(0, first - far), Math.min(H, last + far)]; // between these rows of pixels J is needed
    for (let c = 0; presmooth && c < count; ++c)
      presmooth(u + 4 * c * H * W, blurred + 4 * c * H * W, 0, 0, Math.max(0, top - 1), Math.min(H, bottom + 1));
    kernel.structure(...raw, blurred ?? u, ones, count, rows, H, W, presmooth ? 0.5 : plan.alpha, law, top, bottom + 1);
    smoothTensor(first, last + 1);
    if (plan.aligned) kernel.fill(smooth[1], n, 0); // the law sees the axes alone
    kernel.tensor_step(u, ...smooth, rows, count, H, W, plan.alpha, plan.gamma, law, kind, plan.contrast, plan.tau, first, last);
  };
}

// Many scales that share a tensor: every scale is smoothed before, and its flux is smoothed again.
function multiscale(kernel, space, image, count, { kind, ...plan }) {
  const { H, W } = space, law = kernel.laws[plan.law], scales = plan.scales.length;
  const J = space.tensor(0, law).raw, rows = space.plane(kernel.cell_room(1, W)), flux = space.image(), sum = space.image();
  const smoothings = plan.scales.map(({ sigma }) => space.smoothing(sigma)), fine = space.images(count * scales);
  const weights = space.write(Array.from({ length: count }, () => plan.scales.map(({ weight }) => weight)).flat());
  const at = (start, k) => start + 4 * k * H * W, far = Math.max(...plan.scales.map(({ sigma }) => radius(sigma)));
  return (first, last) => {
    const [top, bottom] = [Math.max(0, first - far), Math.min(H, last + far)]; // between these rows the flux is needed
    for (let c = 0; c < count; ++c)
      smoothings.forEach((smooth, l) => smooth(at(image, c), at(fine, c * scales + l), 0, 0, Math.max(0, top - 1), Math.min(H, bottom + 1)));
    kernel.structure(...J, fine, weights, count * scales, rows, H, W, plan.alpha, law, top, bottom + 1);
    kernel.diffusion_tensor(...J.map((plane) => plane + 4 * top * (W + 1)), (bottom + 1 - top) * (W + 1), law, kind, plan.contrast);
    for (let c = 0; c < count; ++c) {
      kernel.fill(sum, H * W, 0);
      smoothings.forEach((smooth, l) => {
        kernel.minus_divergence(flux, at(fine, c * scales + l), ...J, rows, H, W, plan.alpha, plan.gamma, top, bottom);
        smooth(flux, sum, plan.scales[l].weight, 0, first, last);
      });
      kernel.add(at(image, c), sum, H * W, -plan.tau);
    }
  };
}

// You and Kaveh: the Laplacian in place of the gradient, one channel at a time.
function laplacian(kernel, space, u, _, { kind, ...plan }) {
  const { H, W } = space, frame = space.frame(1), flux = space.frame(1), row = space.plane(W + 3);
  return () => {
    kernel.extend(frame, u, H, W, 1);
    kernel.laplacian_flux(flux, frame, row, H, W, plan.alpha, kernel.laws.scalar, kind, plan.contrast);
    kernel.mirror_border(flux, H, W, 1, 1);
    kernel.laplacian_step(u, flux, H, W, plan.alpha, plan.tau);
  };
}

// Lysaker, Lundervold and Tai: the Hessian in place of the gradient, one channel at a time. The mixed entry reaches two
// pixels far.
function hessian(kernel, space, u, _, { kind, ...plan }) {
  const { H, W } = space, frame = space.frame(2), squares = space.plane(3 * (W + 3)), alone = plan.law === "uncoupled" ? 1 : 0;
  const [xx, xy, yy] = [space.frame(1), space.frame(2), space.frame(1)];
  return () => {
    kernel.extend(frame, u, H, W, 2);
    kernel.hessian_flux(xx, xy, yy, frame, squares, H, W, alone, kernel.laws.scalar, kind, plan.contrast);
    kernel.mirror_border(xx, H, W, 1, 1);
    kernel.mirror_border(xy, H, W, 2, -1);
    kernel.mirror_border(yy, H, W, 1, 1);
    kernel.hessian_step(u, xx, xy, yy, H, W, plan.tau);
  };
}

// Weickert's integration model: one derivative and one diffusivity per direction. The step is written over its image, of
// which the frame is a copy.
function directional(kernel, space, u, _, { kind, ...plan }) {
  const { H, W } = space, count = plan.directions.length, weights = space.write(plan.directions.flat());
  if (count !== kernel.directions()) throw new Error(`The kernel has ${kernel.directions()} directions, not ${count}.`);
  const frame = space.frame(3), rows = space.plane(kernel.directional_room(W));
  const presmooth = space.smoothing(plan.structureSigma), blurred = space.image(), seen = presmooth ? space.frame(3) : frame;
  const inside = count / 2; // the quadrature weight 2 / m sits in the responses; inside g it must not count
  return () => {
    kernel.extend(frame, u, H, W, 3);
    presmooth?.(u, blurred);
    if (presmooth) kernel.extend(seen, blurred, H, W, 3);
    kernel.directional_step(u, frame, seen, rows, H, W, weights, inside, kernel.laws.scalar, kind, plan.contrast, plan.tau);
  };
}

const STEPS = { cells, laplacian, hessian, directional };
