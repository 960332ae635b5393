// The mode that fills in: what is painted over goes, and diffusion from around it takes its place.

import catalogue from "./catalogue.js";

export const TOLERANCE = 0.05; // grey values that a cycle may still change

// The library's settings for each way to fill in, and what the page says of it.
export const METHODS = {
  eed: {
    title: "Edge-enhancing diffusion", text: "Continues edges and lines into what is missing, and joins them across it.",
    start: { contrast: catalogue.filling.eed.contrast },
  },
  homogeneous: {
    title: "Homogeneous diffusion", text: "As smooth as can be: right for shading, blurred where an edge went through.",
    start: {},
  },
};

// A plan whose steps are as long as the model allows. A law without diffusivity takes any.
export function fillPlan(method, values) {
  const { sigma, step, ...settings } = catalogue.filling[method];
  return { diffusivity: "rational", contrast: 1, gamma: 0, rho: 0, ...settings, ...values, structureSigma: sigma ?? 0, tau: step };
}

// { planes, milliseconds, filled }: how many pixels were filled.
export async function fill(pool, { planes, mask, height, width }, method, values) {
  const filled = mask.reduce((sum, one) => sum + one, 0);
  if (filled === 0) return { planes, milliseconds: 0, filled };
  if (filled === mask.length) throw new Error("All of the picture is painted over, so there is nothing to fill it in from. Undo a stroke.");
  const plan = fillPlan(method, values), start = performance.now();
  const groups = plan.joint ? [planes] : planes.map((plane) => [plane]); // channels that are not coupled are shared out
  const answers = await Promise.all(groups.map((group) => pool.ask("fill", { planes: group, mask, height, width, plan, tolerance: TOLERANCE })));
  return { planes: answers.flatMap((answer) => answer.planes), milliseconds: performance.now() - start, filled };
}
