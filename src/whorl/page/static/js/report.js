// What stands below the picture: facts about the result, and the line of Python that gives the same.

import { psnr, rootMeanSquare } from "./measures.js";
import { MODELS, networkName } from "./models.js";

const seconds = (ms) => (ms < 995 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

// Name, value and a remark each; PSNR only where the clean picture is known, and the place only of networks, which have two.
export function facts({ plan, milliseconds, clean, noisy, planes, height, width, own, noise, place }) {
  const list = [
    sizeFact(planes, height, width, own),
    means(plan),
    ["Computed in", seconds(milliseconds), plan.network ? place : ""],
  ];
  if (noise > 0) {
    const [before, after] = [noisy, planes].map((image) => psnr(rootMeanSquare(image, clean)).toFixed(2));
    list.push(["PSNR", `${after} dB`, `from ${before}`]);
  }
  return list;
}

// The size of the picture, and of the part that is shown where that is not all of it.
function sizeFact(planes, height, width, own) {
  const kind = `${planes.length === 3 ? "colour" : "grey"}${own?.bits === 16 ? ", 16 bits" : ""}`;
  if (!own || (own.height === height && own.width === width)) return ["Size", `${width} × ${height}`, kind];
  return ["Size", `${own.width} × ${own.height}`, `${kind}; shown: ${width} × ${height}, saved: all of it`];
}

// The steps of a filter, or which network it was.
function means({ network, parameters, steps, tau }) {
  if (network && !steps) return ["Network", "none", "no noise was found: copied"];
  if (network) return ["Network", network, `${parameters.toLocaleString("en")} numbers`];
  return ["Steps", String(steps), `of ${tau.toPrecision(3)}`];
}

// What was measured of the noise of a picture of one's own, in the units of its file.
export function noiseWords(picture, own, byTraces) {
  const { level: noise } = picture?.noise?.get(byTraces) ?? picture?.noise?.get(!byTraces) ?? {};
  if (!own || noise === undefined) return "";
  const { model } = picture, number = (grey) => (grey * own.unit < 1000 ? (grey * own.unit).toPrecision(3) : Number((grey * own.unit).toPrecision(3)).toLocaleString("en"));
  if (noise === 0) return "No noise was measured.";
  const level = `Noise measured: ${number(noise)} grey values`;
  if (!model) return `${level}.`;
  const width = Math.max(...model.correlation), kind = width ? `neighbours correlated over ${width.toFixed(2)} pixels` : "white noise";
  const at = (value) => number(Math.max(...model.gain.map((gain, c) => Math.sqrt(Math.max(gain * value + model.offset[c], 0)))));
  return `${level} (about ${at(model.black)} where the picture is dark, ${at(model.white)} where it is bright; ${kind}).`;
}

// While a slider moves and only a part of the picture is up to date.
export function draftFacts({ plan, part, channels, height, width }) {
  return [
    ["Size", `${width} × ${height}`, channels === 3 ? "colour" : "grey"],
    means(plan),
    ["Preview", `middle ${part.width} × ${part.height}`, "the rest follows"],
  ];
}

export function fillFacts({ milliseconds, filled, planes, height, width, own }) {
  const share = (100 * filled) / (height * width);
  return [
    sizeFact(planes, height, width, own),
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
export function fillLine(method, { contrast }, channels, unit) {
  const parts = [`model="${method}"`];
  if (contrast !== undefined) parts.push(`contrast=${Number((contrast * unit).toPrecision(6))}`);
  if (channels === 3) parts.push("channel_axis=-1");
  return `whorl.inpaint(image, mask, ${parts.join(", ")})`;
}

// Parameters that are Python's defaults are left out. What is measured in grey levels counts `unit` in the file.
export function pythonLine(model, values, channels, unit) {
  const inFile = (value) => Number((value * unit).toPrecision(6));
  if (MODELS[model].kinds) return denoiseLine(networkName(model, channels), inFile(values.level), channels);
  const parts = [`model="${model}"`, `contrast=${inFile(values.contrast)}`, `time=${values.time}`];
  for (const [option, usual] of Object.entries(MODELS[model].options))
    if (values[option] !== usual) parts.push(`${option}=${values[option]}`);
  if (values.diffusivity && values.diffusivity !== "exponential") parts.push(`diffusivity="${values.diffusivity}"`);
  if (values.cell === "wide") parts.push(`cell="wide"`);
  if (channels === 3) parts.push("channel_axis=-1");
  return `whorl.diffuse(image, ${parts.join(", ")})`;
}

function denoiseLine(network, level, channels) {
  if (level === 0) return "image"; // nothing is to be removed
  return `whorl.denoise(image, noise=${level}, network="${network}"${channels === 3 ? ", channel_axis=-1" : ""})`;
}
