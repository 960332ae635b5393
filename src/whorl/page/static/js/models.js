// Plans: what the kernel needs to run a model, from the library's own description of it.

import catalogue from "./catalogue.js";
import { radius } from "./stencils.js";
import { START, WORDS } from "./words.js";

// Networks stand beside the models: they have a level of noise in the place of contrast and time.
const networks = Object.entries(catalogue.networks.offered).map(([name, kinds]) => [name, { options: {}, diffusivities: [], kinds }]);
export const MODELS = { ...catalogue.models, ...Object.fromEntries(networks) };
export const DIFFUSIVITIES = Object.keys(catalogue.diffusivities);
export const CELLS = ["compact", "wide"];
const ONE = [{ sigma: 0, weight: 1 }];

// Step sizes are known for the positions of the slider and for each model's default: other values take the nearest.
export function knownAlpha(name, alpha) {
  return MODELS[name].alphas.reduce((best, one) => (Math.abs(one - alpha) < Math.abs(best - alpha) ? one : best));
}

// A model with its parameters resolved and its steps counted; a network by its name for so many channels.
export function makePlan(name, values, channels = 1) {
  const { kinds } = MODELS[name];
  return kinds ? networkPlan(networkName(name, channels), values) : complete(MODELS[name], MODELS[name], values);
}

export const networkName = (name, channels) => MODELS[name].kinds?.[channels === 3 ? "colour" : "grey"];

function networkPlan(network, { level }) {
  const { noise: range, channels, reach, parameters } = catalogue.networks.structures[network];
  return { network, level, range, parameters, channels, joint: channels > 1, steps: level > 0 ? 1 : 0, reach };
}

// The model in use with coupling and without: the same operators, scales and parameters, only the activation differs.
// The Laplacian has one channel and the integration model is uncoupled by design, so they meet a relative of theirs.
const RELATIVES = { "you-kaveh": "lysaker", "weickert-integration": "perona-malik" };

export function makePair(name, values, channels = 1) {
  if (MODELS[name].kinds) return beside(name, values, channels);
  const coupled = name === "uncoupled" ? "perona-malik" : name, twin = MODELS[RELATIVES[name] ?? name];
  return [
    { kind: "coupled", name: WORDS[coupled].title, plan: makePlan(coupled, values) },
    { kind: "uncoupled", name: "The same, uncoupled", plan: complete(twin, twin.twin, { ...twin.options, ...values }) },
  ];
}

// A network meets the uncoupled filter, whose contrast follows from the noise.
function beside(name, values, channels) {
  const { options, rule } = MODELS.uncoupled, { time } = START.uncoupled, contrast = rule.contrast * Math.max(values.level, 0.5);
  return [
    { kind: "coupled", name: WORDS[name].title, plan: makePlan(name, values, channels) },
    { kind: "uncoupled", name: "The uncoupled filter", plan: makePlan("uncoupled", { ...options, contrast, time }) },
  ];
}

// `model` has the options and the reach, `parts` the operator, the coupling and the steps, of itself or of its twin.
function complete(model, parts, { contrast, time, diffusivity = "exponential", cell = "compact", alpha = 0, gamma = 0, sigma = 0, rho = 0 }) {
  const at = model.alphas.indexOf(alpha), { operator, law, aligned, joint } = parts;
  const largest = (parts.steps[cell] ?? model.steps[cell])[at < 0 ? 0 : at] / contrast ** catalogue.diffusivities[diffusivity].maximum;
  // The fewest equal steps, none above the largest, that sum to the time.
  const steps = Math.ceil((time / largest) * (1 - 1e-12));
  return {
    operator, law, aligned, joint, diffusivity, cell, contrast, alpha, gamma, structureSigma: sigma, rho,
    scales: parts.multiscale ? catalogue.scales : ONE,
    directions: operator === "directional" ? catalogue.directions : [],
    largest, steps, tau: steps ? time / steps : 0, reach: model.reach[cell] + radius(sigma) + radius(rho),
  };
}
