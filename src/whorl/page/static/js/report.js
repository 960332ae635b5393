// What stands below the picture: facts about the result, and the line of Python that gives the same.

import { psnr, rootMeanSquare } from "./measures.js";
import { MODELS, networkName } from "./models.js";

const seconds = (ms) => (ms < 995 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

// Name, value and a remark each; PSNR only where the clean picture is known, and the place only of networks, which have two.
export function facts({ plan, milliseconds, clean, noisy, planes, height, width, reduced, noise, place }) {
  const list = [
    ["Size", `${width} × ${height}`, `${planes.length === 3 ? "colour" : "grey"}${reduced ? ", reduced" : ""}`],
    means(plan),
    ["Computed in", seconds(milliseconds), plan.network ? place : ""],
  ];
  if (noise > 0) {
    const [before, after] = [noisy, planes].map((image) => psnr(rootMeanSquare(image, clean)).toFixed(2));
    list.push(["PSNR", `${after} dB`, `from ${before}`]);
  }
  return list;
}

// The steps of a filter, or which network it was.
function means({ network, parameters, steps, tau }) {
  if (network) return ["Network", network, `${parameters.toLocaleString("en")} numbers`];
  return ["Steps", String(steps), `of ${tau.toPrecision(3)}`];
}

// While a slider moves and only a part of the picture is up to date.
export function draftFacts({ plan, part, channels, height, width }) {
  return [
    ["Size", `${width} × ${height}`, channels === 3 ? "colour" : "grey"],
    means(plan),
    ["Preview", `middle ${part.width} × ${part.height}`, "the rest follows"],
  ];
}

export function fillFacts({ milliseconds, filled, planes, height, width }) {
  const share = (100 * filled) / (height * width);
  return [
    ["Size", `${width} × ${height}`, planes.length === 3 ? "colour" : "grey"],
    ["Filled in", `${filled} pixels`, `${share < 1 ? share.toFixed(1) : Math.round(share)} %`],
    ["Computed in", seconds(milliseconds), ""],
  ];
}

export function showFacts(box, list) {
  box.replaceChildren(...list.map(([name, value, remark]) => {
    const item = document.createElement("div");
    item.innerHTML = `<dt>${name}</dt><dd>${value} <small>${remark}</small></dd>`;
    return item;
  }));
}

// The mask is True where the brush went.
export function fillLine(method, { contrast }, channels) {
  const parts = [`model="${method}"`];
  if (contrast !== undefined) parts.push(`contrast=${contrast}`);
  if (channels === 3) parts.push("channel_axis=-1");
  return `whorl.inpaint(image, mask, ${parts.join(", ")})`;
}

// Parameters that are Python's defaults are left out.
export function pythonLine(model, values, diffusivity, channels) {
  if (MODELS[model].kinds) return denoiseLine(networkName(model, channels), values.level, channels);
  const parts = [`model="${model}"`, `contrast=${values.contrast}`, `time=${values.time}`];
  for (const [option, usual] of Object.entries(MODELS[model].options))
    if (values[option] !== usual) parts.push(`${option}=${values[option]}`);
  if (diffusivity !== "exponential") parts.push(`diffusivity="${diffusivity}"`);
  if (channels === 3) parts.push("channel_axis=-1");
  return `whorl.diffuse(image, ${parts.join(", ")})`;
}

function denoiseLine(network, level, channels) {
  return `whorl.denoise(image, noise=${level}, network="${network}"${channels === 3 ? ", channel_axis=-1" : ""})`;
}
