// The page: what the visitor chose, what follows from it, and who draws it.

import { readAddress, writeAddress } from "./address.js";
import { filterInBands } from "./bands.js";
import { PARAMETERS, makeChoice, makeParameter } from "./controls.js";
import { makeDial } from "./dial.js";
import { middleSquare, readPicture } from "./files.js";
import { masterSize } from "./master.js";
import { DIFFUSIVITIES, MODELS, knownAlpha, makePair, makePlan } from "./models.js";
import { Pool, latest } from "./pool.js";
import { Proof } from "./proof.js";
import { facts, pythonLine, showFacts } from "./report.js";
import { SCENES, VIEW } from "./scenes.js";
import { makeStage } from "./stage.js";
import { showOwn, showScenes } from "./thumbs.js";
import { START, WORDS } from "./words.js";

const SEED = 20; // of the noise
const get = (id) => document.getElementById(id);
const pool = new Pool(Math.max(2, Math.min(4, (navigator.hardwareConcurrency ?? 2) - 1)));

const found = readAddress({ scene: Object.keys(SCENES), model: Object.keys(MODELS), diffusivity: DIFFUSIVITIES });
const state = { scene: "whorl", model: "eed", diffusivity: "exponential", own: null, ...words(found) };
const chosen = Object.fromEntries(Object.entries(MODELS).map(([name, { options }]) => [name, { ...options, ...START[name] }]));
state.noise = found.noise ?? SCENES[state.scene].noise;
for (const key of Object.keys(chosen[state.model])) if (key in found) choose(key, found[key]);
const controls = {};
let shownPicture = null; // { clean, noisy, height, width }

function words({ scene, model, diffusivity }) {
  return JSON.parse(JSON.stringify({ scene, model, diffusivity })); // leaves out what the address does not say
}

function choose(key, value) {
  chosen[state.model][key] = key === "alpha" ? knownAlpha(state.model, value) : value;
}

// ---- what follows from the state

const values = () => ({ ...chosen[state.model], diffusivity: state.diffusivity });
const plan = () => makePlan(state.model, values());

function setup() {
  const against = state.own && state.noise === 0 ? "the picture itself" : "the clean picture";
  return {
    noise: state.noise, sides: makePair(state.model, values()),
    text: `PSNR of the filtered turned picture against ${against}, in decibels.`,
  };
}

const stage = makeStage();
const proof = new Proof(pool, setup, (angle) => dial.set(angle, "chart"), complain);
const dial = makeDial((angle) => { if (shownPicture) proof.setAngle(angle); else proof.angle = angle; save(); });

const filter = latest(async () => {
  const { noisy, clean, height, width } = shownPicture, now = plan(), code = get("python").textContent;
  get("busy").hidden = false;
  const { planes, milliseconds } = await filterInBands(pool, { planes: noisy, height, width, plan: now });
  get("busy").hidden = true;
  stage.show({ input: noisy, output: planes, height, width });
  const reduced = state.own?.reduced ?? false, noise = state.noise;
  showFacts(get("facts"), facts({ plan: now, milliseconds, clean, noisy, planes, height, width, reduced, noise }));
  get("facts").dataset.of = code; // which filter the picture shown belongs to
});

// ---- pictures

async function takePicture() {
  if (state.own) {
    const square = middleSquare(state.own.bitmap, masterSize(VIEW));
    await pool.tell("take", { ...square, seed: SEED });
  } else {
    await pool.tell("take", { scene: state.scene, seed: SEED });
  }
  await refreshView();
}

async function refreshView() {
  if (state.own) {
    const { planes, height, width } = state.own;
    const { noisy } = await pool.ask("disturb", { planes, height, width, noise: state.noise, seed: SEED });
    shownPicture = { clean: planes, noisy, height, width };
  } else {
    const { clean, noisy, size } = await pool.ask("view", { noise: state.noise });
    shownPicture = { clean, noisy, height: size, width: size };
  }
  update();
}

function update() {
  if (!shownPicture) return; // the first picture is still on its way and will bring everything up to date
  get("python").textContent = pythonLine(state.model, chosen[state.model], state.diffusivity, shownPicture.clean.length);
  filter().catch(complain);
  proof.restart();
  save();
}

const takeLatest = latest(takePicture), refreshLatest = latest(refreshView);

async function open(file) {
  if (!file) return;
  try {
    state.own = await readPicture(file);
    state.noise = 0;
    controls.noise.show(0);
    showOwn(state.own);
    state.last = state.own;
    get("failure").hidden = true;
    await takeLatest();
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  get("busy").hidden = true;
  get("failure").textContent = error.message;
  get("failure").hidden = false;
}

// ---- the panel

function choosePicture(value) {
  state.own = value === "own" ? state.last : null;
  if (value !== "own") state.scene = value;
  state.noise = state.own ? 0 : SCENES[state.scene].noise;
  controls.noise.show(state.noise);
  takeLatest().catch(complain);
}

function changed(key, value) {
  if (key === "noise") {
    state.noise = value;
    refreshLatest().catch(complain);
    return;
  }
  if (key === "diffusivity") state.diffusivity = value;
  else choose(key, value);
  update();
}

function chooseModel(name) {
  state.model = name;
  get("model").value = name;
  get("model-text").textContent = WORDS[name].text;
  for (const key of ["contrast", "time", "alpha", "gamma", "sigma"]) {
    controls[key].row.hidden = !(key in chosen[name]);
    if (key in chosen[name]) controls[key].show(chosen[name][key]);
  }
}

function save() {
  const picture = state.own ? {} : { scene: state.scene, noise: state.noise };
  writeAddress({ ...picture, model: state.model, ...chosen[state.model], diffusivity: state.diffusivity, angle: proof.angle });
}

// ---- the start

function build() {
  showScenes(state.scene);
  get("pictures").addEventListener("change", (event) => choosePicture(event.target.value));

  controls.noise = makeParameter("noise", changed);
  document.querySelector(".pictures").append(controls.noise.row);
  controls.noise.show(state.noise);
  for (const [name, { title, group }] of Object.entries(WORDS)) {
    let box = get("model").querySelector(`optgroup[label="${group}"]`);
    if (!box) get("model").append(box = Object.assign(document.createElement("optgroup"), { label: group }));
    box.append(new Option(title, name));
  }
  get("model").addEventListener("change", () => { chooseModel(get("model").value); update(); });
  for (const key of Object.keys(PARAMETERS).filter((key) => key !== "noise")) {
    controls[key] = makeParameter(key, changed);
    get("parameters").append(controls[key].row);
  }
  const names = DIFFUSIVITIES.filter((name) => name !== "homogeneous");
  controls.diffusivity = makeChoice("diffusivity", "Diffusivity", names.map((name) => [name, name]), changed);
  get("parameters").append(controls.diffusivity.row);
  controls.diffusivity.show(state.diffusivity);
}

function listen() {
  get("file").addEventListener("change", () => open(get("file").files[0]));
  addEventListener("paste", (event) => open([...(event.clipboardData?.files ?? [])][0]));
  for (const type of ["dragenter", "dragover"])
    addEventListener(type, (event) => { event.preventDefault(); document.body.classList.add("dragging"); });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) document.body.classList.remove("dragging"); });
  addEventListener("drop", (event) => {
    event.preventDefault();
    document.body.classList.remove("dragging");
    open(event.dataTransfer.files[0]);
  });
  get("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(`import whorl\n\nfiltered = ${get("python").textContent}\n`);
    get("copy").textContent = "Copied";
    setTimeout(() => { get("copy").textContent = "Copy code"; }, 1500);
  });
  get("save").addEventListener("click", () => get("after").toBlob((blob) => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: "whorl.png" });
    link.click();
    URL.revokeObjectURL(link.href);
  }));
  get("controls").addEventListener("submit", (event) => event.preventDefault());
}

build();
listen();
chooseModel(state.model);
if (found.angle !== undefined) dial.set(found.angle, "address");
takePicture().catch(complain);
