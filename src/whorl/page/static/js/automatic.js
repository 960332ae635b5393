// Contrast and diffusion time for a picture, by the library's rule (whorl.automatic).

import catalogue from "./catalogue.js";
import { diffuse } from "./filter.js";
import { MODELS, makePlan } from "./models.js";
import { noiseLevel, noisePresent } from "./noise.js";

const { longest } = catalogue.automatic;

// A network is told the noise itself, which must not be 0. The contrast is a multiple of the noise that depends on the model; the time is that at which the model has removed
// most of the noise.
export async function automaticSettings(kernel, planes, height, width, name, options, breath) {
  const noise = noiseLevel(planes, height, width);
  if (MODELS[name].kinds) return { noise, level: noise };
  if (noise === 0) return { noise, contrast: 1, time: 0 };
  const { contrast: multiple, removed } = MODELS[name].rule, contrast = multiple * noise;
  const wanted = removed * noisePresent(planes, height, width, noise);
  return { noise, contrast, time: await stoppingTime(kernel, planes, height, width, name, { ...options, contrast }, wanted, breath) };
}

// When the root mean square of what was removed reaches the wanted value; between two steps a straight line is close.
async function stoppingTime(kernel, planes, height, width, name, values, wanted, breath) {
  const plan = makePlan(name, { ...values, time: 1 }), one = { ...plan, steps: 1, tau: plan.largest / 2 };
  const count = planes.length * height * width;
  let time = 0, before = 0, state = planes;
  while (time < longest) {
    state = await diffuse(kernel, state, height, width, one, breath);
    let now = 0;
    state.forEach((plane, c) => { for (let i = 0; i < plane.length; ++i) now += (plane[i] - planes[c][i]) ** 2; });
    now /= count;
    if (now >= wanted * wanted) return time + (one.tau * (wanted * wanted - before)) / (now - before);
    [time, before] = [time + one.tau, now];
  }
  return longest;
}
