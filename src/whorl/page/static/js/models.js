// The models of the page, named as in Python: what each is made of, which parameters it has, where they start.

import { DIFFUSIVITIES } from "./filter.js";
import { automaticStep, equalSteps } from "./limits.js";
import { scales } from "./stencils.js";

const ONE = [{ sigma: 0, weight: 1 }];

// `joint`: image channels share one nonlinearity; otherwise each is filtered alone.
export const MODELS = {
  "multiscale-anisotropic": {
    title: "Multiscale, anisotropic", group: "Many scales",
    text: "Eight scales agree on one diffusion tensor: strong against noise, edges kept in every direction.",
    operator: "cells", coupling: "anisotropic", joint: true, many: true, start: { contrast: 28, time: 5, alpha: 0.41, gamma: 0 },
  },
  "multiscale-isotropic": {
    title: "Multiscale, isotropic", group: "Many scales",
    text: "Eight scales, from 0.1 to 5.6 pixels wide, decide together how much to smooth.",
    operator: "cells", coupling: "isotropic", joint: true, many: true, start: { contrast: 50, time: 2, alpha: 0.41 },
  },
  "perona-malik": {
    title: "Perona–Malik", group: "Second order",
    text: "Smooths inside regions and stops at edges, with one diffusivity for both directions.",
    operator: "cells", coupling: "isotropic", joint: false, start: { contrast: 32, time: 7, alpha: 0.41 },
  },
  gerig: {
    title: "Gerig et al.", group: "Second order",
    text: "Perona–Malik for colour: the channels share one diffusivity, so their edges stay together.",
    operator: "cells", coupling: "isotropic", joint: true, start: { contrast: 32, time: 7, alpha: 0.41 },
  },
  "weickert-brox": {
    title: "Weickert–Brox", group: "Second order",
    text: "A diffusion tensor g(J), shared by the channels: smooths along edges, not across.",
    operator: "cells", coupling: "anisotropic", joint: true, start: { contrast: 24, time: 10, alpha: 0.41, gamma: 0 },
  },
  eed: {
    title: "Edge-enhancing diffusion", group: "Second order",
    text: "Full smoothing along edges and little across, steered by a smoothed gradient.",
    operator: "cells", coupling: "anisotropic", joint: false, start: { contrast: 6, time: 20, alpha: 0.41, gamma: 0, sigma: 2 },
  },
  "weickert-integration": {
    title: "Weickert’s integration model", group: "Second order",
    text: "Diffusion along eight directions, each for itself, summed up: invariance by many directions.",
    operator: "directional", coupling: "uncoupled", joint: false, directions: 8, start: { contrast: 4, time: 30, sigma: 2 },
  },
  "you-kaveh": {
    title: "You–Kaveh", group: "Fourth order",
    text: "The Laplacian in place of the gradient: no staircases, but speckles.",
    operator: "laplacian", coupling: "isotropic", joint: false, start: { contrast: 64, time: 4, alpha: 1 / 6 },
  },
  lysaker: {
    title: "Lysaker et al.", group: "Fourth order",
    text: "The whole Hessian in place of the gradient: ramps stay ramps.",
    operator: "hessian", coupling: "isotropic", joint: false, start: { contrast: 28, time: 6 },
  },
  uncoupled: {
    title: "Uncoupled", group: "The counter-example",
    text: "Each direction decides for itself, as in a network with a plain activation.",
    operator: "cells", coupling: "uncoupled", joint: false, start: { contrast: 32, time: 7, alpha: 0.41 },
  },
};

// What the kernel needs to run a model: parameters resolved, steps counted.
export function makePlan(name, { contrast, time, alpha = 0, gamma = 0, sigma = 0, diffusivity = "exponential" }) {
  return complete({ ...MODELS[name], contrast, time, alpha, gamma, sigma, diffusivity });
}

// The model in use with coupling and without: the same operators, scales and parameters, only the activation differs.
// The Laplacian has one channel and the integration model is uncoupled by design, so they meet a relative of theirs.
export function makePair(name, values) {
  const twin = { ...MODELS[name], coupling: "uncoupled" };
  if (name === "you-kaveh") twin.operator = "hessian";
  if (name === "weickert-integration") twin.operator = "cells";
  const alpha = name === "weickert-integration" ? 0.41 : 0;
  const coupled = name === "uncoupled" ? "perona-malik" : name;
  return [
    { kind: "coupled", name: MODELS[coupled].title, plan: makePlan(coupled, values) },
    { kind: "uncoupled", name: "The same, uncoupled", plan: complete({ alpha, gamma: 0, sigma: 0, diffusivity: "exponential", ...twin, ...values }) },
  ];
}

function complete({ operator, coupling, joint, many, directions = 0, contrast, time, alpha, gamma, sigma, diffusivity }) {
  const plan = {
    operator, coupling, joint, directions, contrast, alpha, gamma, scales: many ? scales() : ONE, structureSigma: sigma,
    structureWeight: directions / 2, // the quadrature weight 2 / m sits in the responses; inside g it must not count
    diffusivity: DIFFUSIVITIES.indexOf(diffusivity),
  };
  return { ...plan, ...equalSteps(time, automaticStep(plan)) };
}
