// The page: what the visitor chose, what follows from it, and who draws it.

import { readAddress, writeAddress } from "./address.js";
import { filterInBands } from "./bands.js";
import { makeBrush } from "./brush.js";
import { PARAMETERS } from "./controls.js";
import { makeDial } from "./dial.js";
import { cut, draftPart, paste } from "./draft.js";
import { middleSquare, readPicture } from "./files.js";
import { METHODS, fill } from "./fill.js";
import { CHOICES, Graphics } from "./graphics.js";
import { masterSize } from "./master.js";
import { DIFFUSIVITIES, MODELS, knownAlpha, makePair, makePlan } from "./models.js";
import { makePanel } from "./panel.js";
import { Dropped, Pool, latest, workerCount } from "./pool.js";
import { Proof } from "./proof.js";
import { draftFacts, facts, fillFacts, fillLine, pythonLine, showFacts } from "./report.js";
import { SCENES, VIEW } from "./scenes.js";
import { makeStage } from "./stage.js";
import { showOwn, showScenes } from "./thumbs.js";
import { START } from "./words.js";

const SEED = 20; // of the noise
const PHOTOGRAPHS = "weickert-brox"; // the model a picture of one's own starts with
const get = (id) => document.getElementById(id);

const found = readAddress({ scene: Object.keys(SCENES), model: Object.keys(MODELS), diffusivity: DIFFUSIVITIES, mode: ["filter", "fill"], compute: CHOICES });
const pool = new Pool(workerCount(), new Graphics(found.compute));
const state = {
  mode: found.mode ?? "filter", scene: found.scene ?? "whorl", model: found.model ?? "ced", method: "eed",
  diffusivity: found.diffusivity ?? "exponential", own: null, last: null,
};
state.noise = found.noise ?? usualNoise();
const given = {}; // by model: what the visitor, or the address, chose
const automatic = new Map(); // by model: contrast and time for the picture that is shown
const filling = Object.fromEntries(Object.entries(METHODS).map(([name, { start }]) => [name, { ...start }]));
let shownPicture = null; // { clean, noisy, height, width }
for (const key of ["contrast", "time", "level", "alpha", "gamma", "sigma", "rho"]) if (key in found) choose(key, found[key]);

// ---- what follows from the state

function usualNoise() {
  return state.own || state.mode === "fill" ? 0 : SCENES[state.scene].noise;
}

function choose(key, value) {
  if (!(key in MODELS[state.model].options) && !(key in START[state.model])) return;
  (given[state.model] ??= {})[key] = key === "alpha" ? knownAlpha(state.model, value) : value;
}

// Contrast and time suit the picture; drawn pictures have settings of their own.
function parameters() {
  const suited = automatic.get(state.model) ?? START[state.model];
  return { ...MODELS[state.model].options, ...suited, ...given[state.model] };
}

const values = () => ({ ...parameters(), diffusivity: offered().includes(state.diffusivity) ? state.diffusivity : "exponential" });
const removesNoise = () => Boolean(MODELS[state.model].rule ?? MODELS[state.model].kinds);
const offered = () => MODELS[state.model].diffusivities;

const plannedFor = (planes) => makePlan(state.model, values(), planes.length);

const rounded = (value, key) => Number(Math.min(PARAMETERS[key].high, Math.max(PARAMETERS[key].low, value)).toPrecision(3));

function setup() {
  const against = state.own && state.noise === 0 ? "the picture itself" : "the clean picture";
  return {
    noise: state.noise, sides: makePair(state.model, values(), shownPicture.clean.length),
    text: `PSNR of the filtered turned picture against ${against}, in decibels.`,
  };
}

const stage = makeStage();
const brush = makeBrush(stage, () => panel.brushSize, () => update());
const proof = new Proof(pool, setup, (angle) => dial.set(angle, "chart"), complain);
const dial = makeDial((angle) => { if (shownPicture) proof.setAngle(angle); else proof.angle = angle; save(); });

const REST = 200; // milliseconds without a move after which a draft gives way to the picture itself
const pace = new Map(); // by model: { milliseconds, alone } for a step on the picture shown
let resting = null, whole = false;

// A line above the picture: how much is done, where that is known, or that something is going on.
function progress(share) {
  get("busy").hidden = false;
  get("busy").classList.toggle("known", share !== null);
  get("busy").style.setProperty("--done", String(share ?? 0));
}

// While a slider moves, a model that takes long is shown in a part of the picture first.
async function drafted(of) {
  const { noisy, height, width } = shownPicture, plan = plannedFor(noisy), before = stage.result;
  const { milliseconds = 0, alone = 0 } = pace.get(state.model) ?? {}, taken = { milliseconds: milliseconds * plan.steps, alone: alone * plan.steps };
  const part = draftPart(taken, height, width, stage.zoom.middle);
  if (part === null || before?.input !== noisy) return false;
  const { planes } = await filterInBands(pool, { ...part, planes: cut(noisy, width, part), plan }, { group: "picture" });
  stage.show({ input: noisy, output: paste(before.output, width, part, planes), height, width });
  showFacts(get("facts"), draftFacts({ plan, part, channels: noisy.length, height, width }));
  get("facts").dataset.draft = of;
  resting = setTimeout(() => compute(false).catch(complain), REST);
  return true;
}

const compute = latest(async (moving) => {
  const { noisy, clean, height, width } = shownPicture, of = asked();
  clearTimeout(resting);
  whole = !moving; // what a moving hand asks for is finished, or it would see nothing until it rests
  progress(null);
  if (moving && state.mode === "filter" && await drafted(of)) return;
  if (state.mode === "fill") {
    const { planes, milliseconds, filled } = await fill(pool, { planes: noisy, mask: brush.mask(), height, width }, state.method, filling[state.method]);
    stage.show({ input: noisy, output: planes, height, width });
    showFacts(get("facts"), fillFacts({ milliseconds, filled, planes, height, width }));
  } else {
    const plan = plannedFor(noisy), reduced = state.own?.reduced ?? false, noise = state.noise;
    const { planes, milliseconds, alone, card } = await filterInBands(pool, { planes: noisy, height, width, plan }, { group: "picture", progress });
    if (plan.steps) pace.set(state.model, { milliseconds: milliseconds / plan.steps, alone: alone / plan.steps });
    stage.show({ input: noisy, output: planes, height, width });
    showFacts(get("facts"), facts({ plan, milliseconds, clean, noisy, planes, height, width, reduced, noise, place: card ? "on the graphics card" : pool.graphics.instead }));
  }
  get("busy").hidden = true;
  get("facts").dataset.of = of; // what the picture shown is an answer to
  if (state.mode === "filter" && of === asked()) proof.restart(); // the curves wait until the picture is there
}, () => { if (whole) pool.drop("picture"); });

// Everything the picture shown depends on, in one line.
let pictures = 0, strokes = 0;
const asked = () => JSON.stringify([state.mode, pictures, state.mode === "fill" ? [state.method, filling[state.method], strokes] : [state.model, values()]]);

// From the choice on until it is computed, nothing that is shown is the answer.
const waiting = () => { get("facts").dataset.wanted = "…"; };

// ---- pictures

async function takePicture() {
  const square = state.own ? middleSquare(state.own.bitmap, masterSize(VIEW)) : { scene: state.scene };
  await pool.tell("take", { ...square, seed: SEED });
  brush.forget();
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
  ++pictures;
  automatic.clear();
  pace.clear();
  brush.fit(shownPicture.height, shownPicture.width, state.mode === "fill" && !state.own);
  await suit();
  update();
}

// Contrast and time for the picture shown, where nobody has given them.
async function suit() {
  if (state.own && state.mode === "filter" && removesNoise() && !automatic.has(state.model)) {
    const { noisy, height, width } = shownPicture, name = state.model;
    const options = { ...MODELS[name].options, ...given[name], diffusivity: values().diffusivity };
    const { noise, ...suited } = await pool.ask("automatic", { planes: noisy, height, width, name, options });
    automatic.set(name, Object.fromEntries(Object.entries(suited).map(([key, value]) => [key, rounded(value, key)])));
  }
  panel.show(state, state.mode === "fill" ? filling[state.method] : parameters(), offered());
}

function update(moving = false) {
  if (!shownPicture) return; // the first picture is still on its way and will bring everything up to date
  ++strokes;
  proof.pause();
  const channels = shownPicture.clean.length;
  get("python").textContent = state.mode === "fill" ? fillLine(state.method, filling[state.method], channels)
    : pythonLine(state.model, parameters(), values().diffusivity, channels);
  get("facts").dataset.wanted = asked();
  compute(moving).catch(complain);
  save();
}

const takeLatest = latest(takePicture), refreshLatest = latest(refreshView);
const suitLatest = latest(async () => { await suit(); update(); });

async function open(file) {
  if (!file) return;
  waiting();
  try {
    state.own = state.last = await readPicture(file);
    state.noise = 0;
    if (!removesNoise()) state.model = PHOTOGRAPHS; // a model that does not remove noise is no start
    for (const name of Object.keys(given)) for (const key of ["contrast", "time", "level"]) delete given[name][key]; // for another picture
    showOwn(state.own);
    get("failure").hidden = true;
    await takeLatest();
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  if (error instanceof Dropped) return; // something newer is on its way
  get("busy").hidden = true;
  if (shownPicture) get("facts").dataset.wanted = get("facts").dataset.of; // what is shown stays
  get("failure").textContent = error.message;
  get("failure").hidden = false;
}

function save() {
  const compute = found.compute ? { compute: found.compute } : {};
  if (state.mode === "fill") return writeAddress({ scene: state.scene, mode: "fill", ...compute });
  const picture = { ...(state.own ? {} : { scene: state.scene, noise: state.noise }), ...compute };
  return writeAddress({ ...picture, model: state.model, ...parameters(), diffusivity: values().diffusivity, angle: proof.angle });
}

// ---- the panel

const panel = makePanel({
  picture(value) {
    state.own = value === "own" ? state.last : null;
    if (value !== "own") state.scene = value;
    state.noise = usualNoise();
    waiting();
    takeLatest().catch(complain);
  },
  noise(value) { state.noise = value; waiting(); refreshLatest().catch(complain); },
  model(name) {
    if (state.mode === "fill") state.method = name;
    else state.model = name;
    waiting();
    suitLatest().catch(complain);
  },
  parameter(key, value) {
    if (state.mode === "fill") filling[state.method][key] = value;
    else if (key === "diffusivity") state.diffusivity = value;
    else choose(key, value);
    update(true);
  },
  reset() {
    delete given[state.model];
    filling[state.method] = { ...METHODS[state.method].start };
    state.diffusivity = "exponential";
    stage.zoom.whole();
    waiting();
    suitLatest().catch(complain);
  },
  mode(name) {
    state.mode = name;
    state.noise = usualNoise();
    waiting();
    refreshLatest().catch(complain);
  },
});

function listen() {
  get("pictures").addEventListener("change", (event) => panel.choosePicture(event.target.value));
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
  get("unpaint").addEventListener("click", () => brush.undo());
  get("clear").addEventListener("click", () => brush.clear());
  get("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(`import whorl\n\nfiltered = ${get("python").textContent}\n`);
    get("copy").textContent = "Copied";
    setTimeout(() => { get("copy").textContent = "Copy code"; }, 1500);
  });
  get("save").addEventListener("click", async () => {
    const { dataset } = get("facts");
    while (dataset.of !== dataset.wanted) await new Promise((resolve) => setTimeout(resolve, 50)); // no draft is saved
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(await stage.save()), download: "whorl.png" });
    link.click();
    URL.revokeObjectURL(link.href);
  });
}

showScenes(state.scene);
listen();
panel.show(state, parameters(), offered());
if (found.angle !== undefined) dial.set(found.angle, "address");
takePicture().catch(complain);
