// What the page says of each model. A model without words here is shown under its title in the library.

import catalogue from "./catalogue.js";

const SAID = {
  network: ["Denoising network", "Trained networks",
    "Made of operators that turn with the picture, trained on photographs for any noise from 5 to 55: 27,000 numbers."],
  "small-network": ["Denoising network, small", "Trained networks",
    "7,500 numbers, for grey pictures: twice as fast. Trained for one level of noise, to which the picture is scaled; colour goes channel by channel."],
  "multiscale-anisotropic": ["Multiscale, anisotropic", "Many scales",
    "Eight scales agree on one diffusion tensor: strong against noise, edges kept in every direction."],
  "multiscale-isotropic": ["Multiscale, isotropic", "Many scales",
    "Eight scales, from 0.1 to 5.6 pixels wide, decide together how much to smooth."],
  "perona-malik": ["Perona–Malik", "Second order",
    "Smooths inside regions and stops at edges, with one diffusivity for both directions."],
  gerig: ["Gerig et al.", "Second order",
    "Perona–Malik for colour: the channels share one diffusivity, so their edges stay together."],
  "weickert-brox": ["Weickert–Brox", "Second order",
    "A diffusion tensor g(J), shared by the channels: smooths along edges, not across."],
  eed: ["Edge-enhancing diffusion", "Second order",
    "Full smoothing along edges and little across, steered by a smoothed gradient."],
  ced: ["Coherence-enhancing diffusion", "Second order",
    "Along lines and hardly across: mends broken ridges, steered by a smoothed structure tensor."],
  "weickert-integration": ["Weickert’s integration model", "Second order",
    "Diffusion along eight directions, each for itself, summed up: invariance by many directions."],
  "you-kaveh": ["You–Kaveh", "Fourth order", "The Laplacian in place of the gradient: no staircases, but speckles."],
  lysaker: ["Lysaker et al.", "Fourth order", "The whole Hessian in place of the gradient: ramps stay ramps."],
  uncoupled: ["Uncoupled", "The counter-example",
    "Each direction decides for itself, as in a network with a plain activation."],
};

// Where the drawn pictures start.
export const START = {
  network: { level: 55 }, // their noise of 30 is as wide as a pixel, which networks for white noise see as more
  "small-network": { level: 55 },
  "multiscale-anisotropic": { contrast: 21, time: 5 },
  "multiscale-isotropic": { contrast: 38, time: 2 },
  "perona-malik": { contrast: 24, time: 7 },
  gerig: { contrast: 24, time: 7 },
  "weickert-brox": { contrast: 18, time: 8 },
  ced: { contrast: 12, time: 14 },
  eed: { contrast: 9, time: 20, sigma: 1.2 },
  "weickert-integration": { contrast: 4, time: 20, sigma: 1.5 },
  "you-kaveh": { contrast: 48, time: 4 },
  lysaker: { contrast: 21, time: 6 },
  uncoupled: { contrast: 24, time: 7 },
};

// { name: { title, group, text } } in the order of the list above, then whatever else the library has.
const known = { ...catalogue.models, ...catalogue.networks.offered };
export const WORDS = Object.fromEntries(
  [...new Set([...Object.keys(SAID), ...Object.keys(known)])]
    .filter((name) => name in known)
    .map((name) => {
      const [title, group, text] = SAID[name] ?? [catalogue.models[name].title, "More", ""];
      return [name, { title, group, text }];
    }),
);
