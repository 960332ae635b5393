// The mode that fills in: what is painted over goes, and diffusion from around it takes its place.

import catalogue from "./catalogue.js";
import { makePlan } from "./models.js";

export const TOLERANCE = 0.05; // grey values that a cycle may still change

// Edge-enhancing diffusion with Charbonnier's diffusivity continues edges; the homogeneous one only fills smoothly.
export const METHODS = {
  eed: {
    title: "Edge-enhancing diffusion", text: "Continues edges and lines into what is missing, and joins them across it.",
    start: { contrast: 2, sigma: 1 },
    plan: ({ contrast, sigma }) => coupled("eed", { ...catalogue.models.eed.options, contrast, sigma, diffusivity: "charbonnier" }),
  },
  homogeneous: {
    title: "Homogeneous diffusion", text: "As smooth as can be: right for shading, blurred where an edge went through.",
    start: {},
    plan: () => coupled("gerig", { contrast: 1, alpha: 0.17, diffusivity: "homogeneous" }),
  },
};

// Colour channels share one tensor, and a step is as long as the model allows.
function coupled(name, values) {
  const plan = makePlan(name, { ...values, time: 1 });
  const largest = catalogue.models[name].steps[catalogue.models[name].alphas.indexOf(plan.alpha)];
  return { ...plan, joint: true, tau: largest };
}

// { planes, milliseconds, filled }: how many pixels were filled.
export async function fill(pool, { planes, mask, height, width }, method, values) {
  const filled = mask.reduce((sum, one) => sum + one, 0);
  if (filled === 0) return { planes, milliseconds: 0, filled };
  if (filled === mask.length) throw new Error("All of the picture is painted over, so there is nothing to fill it in from. Undo a stroke.");
  const answer = await pool.ask("fill", { planes, mask, height, width, plan: METHODS[method].plan(values), tolerance: TOLERANCE });
  return { ...answer, filled };
}
