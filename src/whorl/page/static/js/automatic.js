// Settings for a picture where nobody gave them, by the library's rule (whorl.automatic). The workers do what takes long.

import catalogue from "./catalogue.js";
import { MODELS, makePlan } from "./models.js";

const { longest: usual, default_time, own, weighed } = catalogue.automatic;
const GROUP = "settings"; // of tasks that can be dropped

// Whether settings are weighed by their errors: then the noise is told by its traces, else as if it were white.
export const weighs = (name, told) => Boolean(MODELS[name].weighed) && !["contrast", ...own].some((key) => key in told);

// { level, neighbours }, the measured noise of the samples for this use.
export const measureNoise = (pool, samples, byTraces) => pool.ask("measure", { samples, byTraces }, { group: GROUP });

// What was told is kept, and what was not follows from the samples and their measured noise; a network is told its level.
export async function automaticSettings(pool, samples, { level: noise, neighbours }, name, told) {
  if (MODELS[name].kinds) return { level: noise, ...told };
  if ("contrast" in told) return { time: default_time, ...told };
  if (noise === 0) return { contrast: 1, time: 0, ...told }; // nothing is to be removed
  if (weighs(name, told)) return { ...await weigh(pool, samples, noise, neighbours, name, told), ...told };
  const { contrast: multiple, removed } = MODELS[name].rule, contrast = multiple * noise, values = { ...MODELS[name].options, ...told, contrast };
  if ("time" in told) return { ...told, contrast };
  const { maximum } = catalogue.diffusivities[values.diffusivity ?? "exponential"], longest = usual / contrast ** maximum;
  const { time } = await pool.ask("stop", { samples, noise, removed, longest, plan: makePlan(name, { ...values, time: 1 }) }, { group: GROUP });
  return { ...told, contrast, time };
}

// Presmoothing, contrast and time: means of a few settings, weighed by their estimated errors on the picture.
async function weigh(pool, samples, noise, neighbours, name, { time }) {
  const { parts, present } = await pool.ask("prepare", { samples, noise, neighbours }, { group: GROUP }), [first] = weighed.pairs;
  const bonus = weighed.turning * (1 + weighed.shared * Math.max(neighbours, 0)) * present ** 2;
  const shown = parts.some(({ signs }) => signs.some((planes) => planes.some((plane) => plane.some((sign) => sign !== 0))));
  const tried = await Promise.all(weighed.pairs.map(async ([sigma, factor]) => {
    if (!shown) return { time: 0 };
    const plan = makePlan(name, { ...MODELS[name].options, ...weighed.choice, sigma, contrast: factor * noise, time: 1 });
    const { risk, at } = await pool.ask("risk", { parts, present, plan, time, longest: usual }, { group: GROUP });
    return { risk: risk - bonus * sigma, sigma, contrast: factor * noise, time: at };
  }));
  const found = tried.filter((each) => each.time > 0);
  if (!found.length) return { ...weighed.choice, sigma: first[0], contrast: first[1] * noise, time: time ?? 0 };
  const least = Math.min(...found.map(({ risk }) => risk));
  const weights = found.map(({ risk }) => Math.exp((least - risk) / (weighed.temperature * present ** 2)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const mean = (key) => Math.exp(found.reduce((sum, each, k) => sum + weights[k] * Math.log(each[key]), 0) / total);
  return { ...weighed.choice, sigma: mean("sigma"), contrast: mean("contrast"), time: time ?? mean("time") };
}
