// The panel: which controls there are, and which of them belong to what is being done.

import { makeChoice, makeParameter } from "./controls.js";
import { METHODS } from "./fill.js";
import { DIFFUSIVITIES } from "./models.js";
import { WORDS } from "./words.js";

const FILTERS = ["level", "contrast", "time", "alpha", "gamma", "sigma", "rho"];
const get = (id) => document.getElementById(id);

// `on` hears of every choice: picture, noise, model, parameter, reset, mode.
export function makePanel(on) {
  const controls = Object.fromEntries(["noise", "brush", ...FILTERS].map((key) =>
    [key, makeParameter(key, (name, value) => (name === "noise" ? on.noise(value) : name === "brush" ? null : on.parameter(name, value)))]));
  let mode = null;

  document.querySelector(".pictures").append(controls.noise.row);
  get("brush-size").append(controls.brush.row);
  controls.brush.show(16);
  for (const key of FILTERS) get("parameters").append(controls[key].row);
  const names = DIFFUSIVITIES.filter((name) => name !== "homogeneous");
  const diffusivity = makeChoice("diffusivity", "Diffusivity", names.map((name) => [name, name]), on.parameter);
  get("parameters").append(diffusivity.row);

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

  function show(state, values, offered) {
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
    for (const key of FILTERS) {
      controls[key].row.hidden = !(key in values);
      if (key in values) controls[key].show(values[key]);
    }
    diffusivity.row.hidden = filling || offered.length === 0;
    diffusivity.offer(offered);
    diffusivity.show(offered.includes(state.diffusivity) ? state.diffusivity : "exponential");
    const suited = "level" in values ? "The noise was measured on this picture." : "Contrast and time suit this picture.";
    get("reset-text").textContent = filling || !state.own ? "" : suited;
  }

  return {
    show,
    choosePicture: on.picture,
    get brushSize() { return controls.brush.value; },
  };
}
