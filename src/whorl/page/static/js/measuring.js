// What is measured on samples { planes, height, width } of a picture before it is filtered: its noise, and how good a setting is.

import { diffuse } from "./filter.js";
import { levels, noisePresent } from "./noise.js";
import { leastRisk, prepared } from "./risk.js";
import { noiseModel } from "./variance.js";

// The tasks by name; `kernel` is promised, and long ones call `breath` between two steps.
export const measuring = (kernel, breath) => ({
  // The standard deviation of the noise in samples { planes, height, width } of a picture and the correlation of neighbours: by
  // its traces, or as if it were white, also where the picture is too small for them.
  async measure({ samples, byTraces }) {
    const { traced, loadLayers } = byTraces ? await import("./traces.js") : {}; // fetched when it is needed
    return (byTraces && traced(samples, await loadLayers())) || { level: levels(samples)[1], neighbours: 0 };
  },

  // How its variance depends on the grey value, and how far neighbours are correlated.
  async noise({ samples }) {
    return { model: noiseModel(samples) };
  },

  // What estimates of the error need, and the least of them for a plan, with its time.
  async prepare({ samples, noise, neighbours }) {
    return prepared(await kernel, samples, noise, neighbours);
  },

  async risk({ parts, present, plan, time, longest }) {
    const [risk, at] = await leastRisk(await kernel, { parts, present }, plan, time, longest, breath);
    return { risk, at };
  },

  // When the root mean square of what a plan removes is that share of the noise; between two steps a straight line is close.
  async stop({ samples, noise, removed, longest, plan }) {
    const k = await kernel, one = { ...plan, steps: 1, tau: plan.largest / 2 }, wanted = (removed * noisePresent(samples, noise)) ** 2;
    const count = samples.reduce((sum, { planes, height, width }) => sum + planes.length * height * width, 0);
    const states = samples.map(({ planes }) => planes);
    let time = 0, before = 0;
    while (time < longest) {
      let now = 0;
      for (const [n, { planes, height, width }] of samples.entries()) {
        states[n] = await diffuse(k, states[n], height, width, one, breath);
        states[n].forEach((plane, c) => { for (let i = 0; i < plane.length; ++i) now += (plane[i] - planes[c][i]) ** 2 / count; });
      }
      if (now >= wanted) return { time: time + (one.tau * (wanted - before)) / (now - before) };
      [time, before] = [time + one.tau, now];
    }
    return { time: longest };
  },
});
