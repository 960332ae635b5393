// The page: what the visitor chose, what follows from it, and who draws it.

import { readAddress, writeAddress } from "./address.js";
import { automaticSettings, measureNoise, weighs } from "./automatic.js";
import { filterInBands } from "./bands.js";
import { makeBrush } from "./brush.js";
import { makeDial } from "./dial.js";
import { cut, draftPart, paste } from "./draft.js";
import { middleSquare, readPicture, writerOf } from "./files.js";
import { METHODS, fill } from "./fill.js";
import { CHOICES, Graphics } from "./graphics.js";
import { masterSize } from "./master.js";
import { CELLS, DIFFUSIVITIES, MODELS, knownAlpha, makePair, makePlan } from "./models.js";
import { makePanel } from "./panel.js";
import { Dropped, Pool, latest, workerCount } from "./pool.js";
import { Proof } from "./proof.js";
import { draftFacts, facts, fillFacts, fillLine, noiseWords, pythonLine, showFacts } from "./report.js";
import { samplesOf } from "./samples.js";
import { SCENES, VIEW } from "./scenes.js";
import { makeStage } from "./stage.js";
import { showOwn, showScenes } from "./thumbs.js";
import { filterWhole, partOf, pasteWhole, shownWhole } from "./whole.js";
import { START } from "./words.js";

const SEED = 20; // of the noise
const PHOTOGRAPHS = "network"; // the model a picture of one's own starts with
const DIGITS = 4; // of settings that follow from the picture
const get = (id) => document.getElementById(id);

const CHOICE = { mode: "filter", scene: "whorl", model: "ced", method: "eed", grain: "even", show: "compare" };
const KNOWN = {
  mode: ["filter", "fill"], scene: Object.keys(SCENES), model: Object.keys(MODELS), method: Object.keys(METHODS), grain: ["even", "photons"],
  show: ["compare", "difference"], diffusivity: DIFFUSIVITIES, cell: CELLS, picture: ["own"], compute: CHOICES,
};
const opened = readAddress(KNOWN), computeBy = opened.compute;
const pool = new Pool(workerCount(), new Graphics(computeBy));
const state = { ...CHOICE, noise: SCENES[CHOICE.scene].noise, own: null, last: null };
const given = {}; // by model: what the visitor, or the address, chose
const automatic = new Map(); // by model: settings for the picture that is shown
const filling = {}; // by method
let touched = null; // what the visitor changed since the address was written
let shownPicture = null; // { clean, noisy, height, width, samples, noise, model }

// ---- what follows from the state

// What a link says; what it leaves out is as in a page that was just opened.
function adopt(found) {
  for (const key of Object.keys(CHOICE)) state[key] = found[key] ?? CHOICE[key];
  state.own = found.picture ? state.last : null;
  state.noise = found.noise ?? usualNoise();
  for (const key of Object.keys(given)) delete given[key];
  automatic.clear();
  for (const [name, { start }] of Object.entries(METHODS)) filling[name] = { ...start };
  const settings = state.mode === "fill" ? filling[state.method] : given[state.model] ??= {};
  for (const key of ["contrast", "time", "level", "alpha", "gamma", "sigma", "rho", "diffusivity", "cell"])
    if (key in found && takes(key, settings)) settings[key] = key === "alpha" ? knownAlpha(state.model, found[key]) : found[key];
}

// Whether what is being done has such a setting.
function takes(key, settings) {
  const { options, kinds, diffusivities, reach } = MODELS[state.model];
  if (state.mode === "fill") return key in settings;
  return kinds ? key === "level" : key in options || key === "contrast" || key === "time" || (key === "diffusivity" && diffusivities.length > 0) || (key === "cell" && reach.wide);
}

function usualNoise() {
  return state.own || state.mode === "fill" ? 0 : SCENES[state.scene].noise;
}

const removesNoise = () => Boolean(MODELS[state.model].rule ?? MODELS[state.model].kinds);

// Everything the model is run with: what suits the picture, and what was chosen.
function values() {
  const { options, diffusivities, kinds } = MODELS[state.model], laws = diffusivities.length ? { diffusivity: diffusivities[0] } : {};
  return { ...(kinds ? {} : { cell: CELLS[0] }), ...laws, ...options, ...(automatic.get(state.model) ?? START[state.model]), ...given[state.model] };
}

// A choice of the visitor. All else stays as it is, also what followed from the picture.
function choose(key, value) {
  if (state.mode === "fill") filling[state.method][key] = value;
  else given[state.model] = { ...values(), [key]: key === "alpha" ? knownAlpha(state.model, value) : value };
}

const plannedFor = (planes) => makePlan(state.model, values(), planes.length);
const noise = () => ({ level: state.noise, grain: state.grain });

function setup() {
  const against = state.own ? "the picture itself" : "the clean picture";
  return {
    noise: noise(), sides: makePair(state.model, values(), shownPicture.clean.length),
    text: `PSNR of the filtered turned picture against ${against}, in decibels.`,
  };
}

const stage = makeStage((what) => { state.show = what; save("show"); });
const brush = makeBrush(stage, () => panel.brushSize, () => update());
const proof = new Proof(pool, setup, (angle) => dial.set(angle, "chart"), complain);
const dial = makeDial((angle) => {
  if (!shownPicture) proof.angle = angle;
  else proof.setAngle(angle), save("angle");
});

const REST = 200; // milliseconds without a move after which a draft gives way to the picture itself
const pace = new Map(); // by model: { milliseconds, alone } for a step on the picture shown
let resting = null, whole = false;

// A line above the picture: how much is done, where that is known, or that something is going on; null when nothing is.
function progress(share) {
  get("busy").hidden = get("cancel").hidden = share === null;
  get("busy").classList.toggle("known", share > 0);
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
  const { noisy, clean, height, width } = shownPicture, of = asked(), { own } = state;
  clearTimeout(resting);
  whole = !moving; // what a moving hand asks for is finished, or it would see nothing until it rests
  progress(0);
  if (stage.result?.input !== noisy) stage.show({ input: noisy, output: noisy, height, width }); // the new picture is seen at once
  if (moving && state.mode === "filter" && await drafted(of)) return;
  if (state.mode === "fill") {
    const { planes, milliseconds, filled } = await fill(pool, { planes: noisy, mask: brush.mask(), height, width }, state.method, filling[state.method]);
    stage.show({ input: noisy, output: planes, height, width });
    showFacts(get("facts"), fillFacts({ milliseconds, filled, planes, height, width, own }));
  } else {
    const plan = plannedFor(noisy), { noise } = state;
    const { planes, milliseconds, alone, card } = await filterInBands(pool, { planes: noisy, height, width, plan }, { group: "picture", progress });
    if (plan.steps) pace.set(state.model, { milliseconds: milliseconds / plan.steps, alone: alone / plan.steps });
    stage.show({ input: noisy, output: planes, height, width });
    showFacts(get("facts"), facts({ plan, milliseconds, clean, noisy, planes, height, width, own, noise, place: card ? "on the graphics card" : pool.graphics.instead }));
  }
  progress(null);
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
  proof.pause(); // its plans are for the picture before
  ++pictures;
  const square = state.own ? middleSquare(state.own, masterSize(VIEW)) : { scene: state.scene };
  await pool.tell("take", { ...square, seed: SEED });
  brush.forget();
  await refreshView();
}

async function refreshView() {
  if (state.own) {
    const { own } = state, planes = own.read(own.part), { height, width } = own.part;
    shownPicture = { clean: planes, noisy: planes, height, width, samples: shownWhole(own) ? null : samplesOf(own) };
  } else {
    const { clean, noisy, size } = await pool.ask("view", { noise: noise() });
    shownPicture = { clean, noisy, height: size, width: size, samples: null };
  }
  shownPicture.samples ??= [{ planes: shownPicture.noisy, height: shownPicture.height, width: shownPicture.width }];
  ++pictures;
  automatic.clear();
  pace.clear();
  for (const button of document.querySelectorAll("[data-part]")) button.hidden = !state.own || shownWhole(state.own);
  brush.fit(shownPicture.height, shownPicture.width, state.mode === "fill" && !state.own);
  await suit();
  update();
}

// The noise of a picture, measured once by its traces and once as if it were white, where each is asked for.
async function measured(picture, byTraces) {
  picture.noise ??= new Map();
  if (!picture.noise.has(byTraces)) picture.noise.set(byTraces, await measureNoise(pool, picture.samples, byTraces));
  return picture.noise.get(byTraces);
}

// Settings for the picture and the model that are shown when they have been found, where nobody has given them.
async function suit() {
  const rounded = ([key, value]) => [key, typeof value === "number" ? Number(value.toPrecision(DIGITS)) : value];
  progress(0);
  while (state.mode === "filter" && removesNoise() && !automatic.has(state.model)) {
    const name = state.model, picture = shownPicture, told = given[name] ?? {};
    const found = await automaticSettings(pool, picture.samples, await measured(picture, weighs(name, told)), name, told);
    if (picture === shownPicture) automatic.set(name, Object.fromEntries(Object.entries(found).map(rounded)));
  }
  showPanel();
}

function showPanel() {
  const changed = Object.keys(given[state.model] ?? {}).length > 0 || !removesNoise();
  panel.show({ ...state, changed }, state.mode === "fill" ? filling[state.method] : values(), noiseWords(shownPicture, state.own, weighs(state.model, {})));
}

// After the first answer: what else there is to know of the noise of a picture of one's own.
const describeNoise = latest(async () => {
  const picture = shownPicture, { own } = state;
  if (!own || picture.model) return;
  picture.model = (await pool.ask("noise", { samples: picture.samples })).model;
  if (picture === shownPicture) showPanel();
});

function update(moving = false) {
  if (!shownPicture) return; // the first picture is still on its way and will bring everything up to date
  ++strokes;
  proof.pause();
  const channels = shownPicture.clean.length, unit = state.own?.unit ?? 1;
  get("python").textContent = state.mode === "fill" ? fillLine(state.method, filling[state.method], channels, unit) : pythonLine(state.model, values(), channels, unit);
  get("facts").dataset.wanted = asked();
  compute(moving).then(describeNoise).catch(complain);
  save();
}

const takeLatest = latest(takePicture), refreshLatest = latest(refreshView);
const suitLatest = latest(async () => { await suit(); update(); }, () => pool.drop("settings"));

async function open(file) {
  if (!file) return;
  waiting();
  try {
    const own = await readPicture(file);
    state.own = state.last = { ...own, part: partOf(own) };
    state.noise = 0;
    state.model = PHOTOGRAPHS;
    for (const name of Object.keys(given)) delete given[name]; // for another picture
    showOwn(state.own);
    get("failure").hidden = true;
    touched = "picture";
    await takeLatest();
  } catch (error) {
    complain(error);
  }
}

function complain(error) {
  if (error instanceof Dropped) return; // something newer is on its way
  progress(null);
  if (shownPicture) get("facts").dataset.wanted = get("facts").dataset.of; // what is shown stays
  say(error.message);
}

function say(words) {
  get("failure").textContent = words;
  get("failure").hidden = false;
}

// Leave what is under way where it is.
function cancel() {
  clearTimeout(resting);
  for (const group of ["picture", "settings", "file"]) pool.drop(group);
  progress(null);
  get("facts").dataset.wanted = get("facts").dataset.of ?? "";
  showFacts(get("facts"), [["Stopped", "", "what is shown is an earlier answer"]]);
}

// ---- the address

function save(subject = touched) {
  touched = null;
  const picture = state.own ? { picture: "own" } : { scene: state.scene, noise: state.noise, ...(state.grain === CHOICE.grain ? {} : { grain: state.grain }) };
  const chosen = state.mode === "fill" ? { mode: "fill", method: state.method, ...filling[state.method] } : { model: state.model, ...given[state.model], angle: proof.angle };
  writeAddress({ ...picture, ...chosen, ...(state.show === CHOICE.show ? {} : { show: state.show }), ...(computeBy ? { compute: computeBy } : {}) }, subject);
}

// Another link in the same tab, or a step back.
async function follow() {
  const found = readAddress(KNOWN), before = `${state.scene} ${Boolean(state.own)}`;
  adopt(found);
  waiting();
  show(found);
  await (before === `${state.scene} ${Boolean(state.own)}` ? refreshLatest() : takeLatest());
}

function show(found) {
  for (const radio of document.querySelectorAll("input[name=picture]")) radio.checked = radio.value === (state.own ? "own" : state.scene);
  stage.choose(state.show);
  if (found.angle !== undefined) dial.set(found.angle, "address");
}

// ---- the panel

const panel = makePanel({
  picture(value) {
    touched = "picture";
    state.own = value === "own" ? state.last : null;
    if (value !== "own") state.scene = value;
    state.noise = usualNoise();
    waiting();
    takeLatest().catch(complain);
  },
  noise(value) { touched = "noise"; state.noise = value; waiting(); refreshLatest().catch(complain); },
  grain(value) { touched = "grain"; state.grain = value; waiting(); refreshLatest().catch(complain); },
  model(name) {
    touched = "model";
    if (state.mode === "fill") state.method = name;
    else state.model = name;
    waiting();
    suitLatest().catch(complain);
  },
  parameter(key, value) {
    touched = key;
    choose(key, value);
    update(true);
  },
  reset() {
    touched = "reset";
    delete given[state.model];
    automatic.delete(state.model);
    filling[state.method] = { ...METHODS[state.method].start };
    stage.zoom.whole();
    waiting();
    suitLatest().catch(complain);
  },
  mode(name) {
    touched = "mode";
    state.mode = name;
    state.noise = usualNoise();
    waiting();
    refreshLatest().catch(complain);
  },
});

// ---- files

async function written(planes, picture) {
  const writer = await writerOf({ bits: 8, kind: "png", ...picture, channels: planes.length });
  await writer.rows(planes, [0, picture.height]);
  return writer.blob();
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  URL.revokeObjectURL(link.href);
}

// The answer as a file: of a large picture all of it, at its own size, not the part that is shown.
async function savePicture() {
  const { dataset } = get("facts");
  while (dataset.of !== dataset.wanted) await new Promise((resolve) => setTimeout(resolve, 50)); // no draft is saved
  const { output, height, width } = stage.result, { own, mode } = state, name = `whorl.${own?.kind ?? "png"}`;
  if (!own || shownWhole(own)) return download(await written(output, own ?? { height, width }), name);
  get("save").disabled = true;
  try {
    progress(0);
    download(mode === "fill" ? await pasteWhole(own, own.part, output) : await filterWhole(pool, own, plannedFor(output), { group: "file", progress }), name);
    progress(null);
  } finally {
    get("save").disabled = false;
  }
}

// The mask at the size of the file: white where to fill in.
async function saveMask() {
  const { height, width } = shownPicture, part = state.own?.part ?? { top: 0, left: 0, height, width };
  const size = state.own ?? part, plane = new Float32Array(size.height * size.width), mask = brush.mask().map((v) => 255 * v);
  for (let y = 0; y < height; ++y) plane.set(mask.subarray(y * width, (y + 1) * width), (part.top + y) * size.width + part.left);
  download(await written([plane], { height: size.height, width: size.width }), "mask.png");
}

async function loadMask(file) {
  const mask = await readPicture(file), { height, width } = shownPicture, size = state.own ?? { height, width };
  if (mask.height !== size.height || mask.width !== size.width)
    throw new Error(`The mask has ${mask.width} × ${mask.height} pixels, the picture ${size.width} × ${size.height}. Choose a mask of the same size.`);
  const planes = mask.read(state.own?.part ?? { top: 0, left: 0, height, width });
  brush.load(planes[0].map((_, i) => (planes.some((plane) => plane[i] > 127.5) ? 1 : 0)));
}

async function copyCode() {
  const code = `import whorl\n\nfiltered = ${get("python").textContent}\n`;
  try {
    await navigator.clipboard.writeText(code);
  } catch {
    return say("This browser does not let the page write to the clipboard. Mark the line of Python and copy it with the keyboard.");
  }
  get("copy").textContent = "Copied";
  setTimeout(() => { get("copy").textContent = "Copy code"; }, 1500);
}

// Another part of a large picture.
function movePart([dx, dy]) {
  const { own } = state, { top, left, height, width } = own.part;
  own.part = partOf(own, { x: (left + width / 2 + (dx * width) / 2) / own.width, y: (top + height / 2 + (dy * height) / 2) / own.height });
  const { noise, samples, model } = shownPicture, kept = new Map(automatic);
  brush.forget();
  shownPicture = { ...shownPicture, clean: own.read(own.part), noise, samples, model }; // measured on all of the picture
  shownPicture.noisy = shownPicture.clean;
  ++pictures;
  brush.fit(height, width, false);
  for (const [name, settings] of kept) automatic.set(name, settings);
  update();
}

function listen() {
  const on = (id, act) => get(id).addEventListener("click", () => Promise.resolve(act()).catch(complain));
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
  addEventListener("hashchange", () => follow().catch(complain));
  get("skip").addEventListener("click", (event) => { event.preventDefault(); get("stage").focus(); }); // the address keeps the settings
  on("unpaint", () => brush.undo());
  on("clear", () => brush.clear());
  on("save-mask", saveMask);
  get("load-mask").addEventListener("change", () => { if (get("load-mask").files[0]) loadMask(get("load-mask").files[0]).catch(complain); });
  on("copy", copyCode);
  on("save", savePicture);
  on("cancel", cancel);
  for (const button of document.querySelectorAll("[data-part]"))
    button.addEventListener("click", () => movePart(button.dataset.part.split(" ").map(Number)));
}

adopt(opened);
showScenes(state.scene);
listen();
showPanel();
show(opened);
takePicture().catch(complain);
