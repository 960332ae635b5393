// The panel: which controls there are, and which of them belong to what is being done.

import { makeChoice, makeParameter } from "./controls.js";
import { METHODS } from "./fill.js";
import { DIFFUSIVITIES, MODELS } from "./models.js";
import { WORDS } from "./words.js";

const FILTERS = ["level", "contrast", "time", "alpha", "gamma", "sigma", "rho"];
const get = (id) => document.getElementById(id);

const GRAINS = [["even", "even"], ["photons", "photons"]];
const CELLS = [["compact", "2 × 2 pixels"], ["wide", "4 × 4 pixels"]];

// `on` hears of every choice: picture, noise, grain, model, parameter, reset, mode.
export function makePanel(on) {
  const controls = Object.fromEntries(["noise", "brush", ...FILTERS].map((key) =>
    [key, makeParameter(key, (name, value) => (name === "noise" ? on.noise(value) : name === "brush" ? null : on.parameter(name, value)))]));
  let mode = null;

  const grain = makeChoice("grain", "Kind of noise", "Even noise is as strong everywhere; that of counted photons grows with the brightness.", GRAINS, (_, kind) => on.grain(kind));
  document.querySelector(".pictures").append(controls.noise.row, grain.row);
  get("brush-size").append(controls.brush.row);
  controls.brush.show(16);
  for (const key of FILTERS) get("parameters").append(controls[key].row);
  const names = DIFFUSIVITIES.filter((name) => name !== "homogeneous");
  const diffusivity = makeChoice("diffusivity", "Edge law", "How smoothing falls off with the contrast of an edge (the diffusivity).", names.map((name) => [name, name]), on.parameter);
  const cell = makeChoice("cell", "Derivatives", "From 2 × 2 pixels, as in the paper, or from 4 × 4, on which turned pictures differ less.", CELLS, on.parameter);
  get("parameters").append(diffusivity.row, cell.row);

  get("model").addEventListener("change", () => on.model(get("model").value));
  get("reset").addEventListener("click", on.reset);
  get("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const radio of document.querySelectorAll("input[name=mode]")) radio.addEventListener("change", () => on.mode(radio.value));

  // The models, or the ways to fill in.
  function list() {
    get("model").replaceChildren();
    for (const [name, { title, group }] of Object.entries(mode === "fill" ? METHODS : WORDS)) {
      let box = group ? get("model").querySelector(`optgroup[label="${group}"]`) : get("model");
      if (!box) get("model").append(box = Object.assign(document.createElement("optgroup"), { label: group }));
      box.append(new Option(title, name));
    }
  }

  function show(state, values, measured) {
    const filling = state.mode === "fill", name = filling ? state.method : state.model;
    if (mode !== state.mode) {
      mode = state.mode;
      list();
      document.querySelector(`input[name=mode][value=${mode}]`).checked = true;
      get("frame").dataset.mode = mode;
      if (filling) get("frame").tabIndex = 0;
      else get("frame").removeAttribute("tabindex");
      get("frame").setAttribute("aria-label", filling ? "Picture to paint on: arrow keys move the brush, the space bar paints" : "");
      for (const [id, wanted] of [["brush", filling], ["mask", filling]]) get(id).hidden = !wanted;
      for (const part of document.querySelectorAll(".proof")) part.hidden = filling;
    }
    get("model").value = name;
    get("model-text").textContent = (filling ? METHODS : WORDS)[name].text;
    controls.noise.show(state.noise);
    grain.show(state.grain);
    for (const { row } of [controls.noise, grain]) row.hidden = Boolean(state.own);
    get("measured").hidden = !state.own;
    get("measured").textContent = measured;
    for (const key of FILTERS) {
      controls[key].row.hidden = !(key in values);
      if (key in values) controls[key].show(values[key]);
    }
    const offered = filling ? [] : MODELS[name].diffusivities;
    diffusivity.row.hidden = offered.length === 0;
    diffusivity.offer(offered);
    diffusivity.show(values.diffusivity);
    cell.row.hidden = filling || !MODELS[name].reach?.wide;
    cell.show(values.cell);
    const suited = "level" in values ? "The noise was measured on this picture." : "The settings suit this picture.";
    get("reset-text").textContent = filling || state.changed ? "" : suited;
  }

  return {
    show,
    choosePicture: on.picture,
    get brushSize() { return controls.brush.value; },
  };
}
