// The parts of a network in WGSL, the language of graphics cards: K1 u, the gates Phi, and u - K2* v, each for maps of any size.
//
// A workgroup computes a tile of pixels, an invocation two of them, one above the other. A vec2f holds a number of both pixels,
// a vec4f four channels or fields of one; sums over channels begin with u for the upper pixel and with d for the lower one.
// Loops over channels and fields are written out here, so that the sums stay in registers.

import { joined } from "./neighbours.js";
import { COEFFICIENTS, PROFILES, RADIUS } from "./trained.js";

export const TILE = { across: 32, down: 16 }; // pixels of a workgroup
const INVOCATIONS = (TILE.across * TILE.down) / 2, CHUNK = 2; // planes of a tile that are held at a time
const KINDS = [["scalar"], ["across", "down"], ["opposite", "twice"]]; // components of a field, by its angular order
const GATES = 8; // groups of four gates that an invocation computes at most

const each = (count, text) => Array.from({ length: count }, (_, k) => text(k)).join("\n");
const sums = (names) => names.map((name) => `var u${name} = vec4f(); var d${name} = vec4f();`).join(" ");
const add = (name, weight, pair) => `u${name} += ${weight} * ${pair}.x; d${name} += ${weight} * ${pair}.y;`;
const groups = (count) => Math.ceil(count / 4);

export const TAPS = groups(COEFFICIENTS * (PROFILES[0] + PROFILES[1] + PROFILES[2])); // in vec4f
export const gateShares = (count) => Math.ceil(groups(count) / GATES); // workgroups that share the gates of a tile

// What all parts begin with. Of a picture of so many rows and columns, `source` holds the rows from `first` on, `rows` of
// them, and `into` those from `base` on, `held`; computed are the rows from `start` on, `count`. A tile is read with its
// neighbours, mirrored at the border of the picture; functions that are odd along an axis change their sign there.
function head(radius, weights) {
  const wide = TILE.across + 2 * radius, high = TILE.down + 2 * radius;
  return `
struct Part { height: i32, width: i32, first: i32, rows: i32, start: i32, count: i32, base: i32, held: i32 }
@group(0) @binding(0) var<uniform> part: Part;
@group(0) @binding(1) var<uniform> numbers: array<vec4f, ${weights}>;
@group(0) @binding(2) var<storage, read> source: array<f32>;
@group(0) @binding(3) var<storage, read_write> into: array<f32>;
const WIDE = ${wide}u;
const SIZE = ${wide * high}u;
var<workgroup> tile: array<f32, ${CHUNK * wide * high}>;

struct Place { at: u32, sign: vec2f }
// Where a pixel lies in the picture and its mirror image, side by side, which go on for ever; i >= -${RADIUS}, and remainders of
// negative numbers differ between cards.
fn along(i: i32, n: i32) -> i32 {
  if (i >= 0 && i < n) { return i; }
  return (i + ${2 * RADIUS} * n) % (2 * n);
}
fn mirrored(i: i32, n: i32) -> i32 { let m = along(i, n); return select(2 * n - 1 - m, m, m < n); }
fn sign(i: i32, n: i32) -> f32 { return select(-1.0, 1.0, along(i, n) < n); }
fn place(group: vec3u, k: u32) -> Place {
  let y = part.start + i32(group.y * ${TILE.down}u + k / WIDE) - ${radius};
  let x = i32(group.x * ${TILE.across}u + k % WIDE) - ${radius};
  let row = clamp(mirrored(y, part.height) - part.first, 0, part.rows - 1);
  return Place(u32(row * part.width + mirrored(x, part.width)), vec2f(sign(x, part.width), sign(y, part.height)));
}
fn plane(k: u32) -> u32 { return k * u32(part.rows * part.width); }
fn outside(y: i32, x: i32) -> bool { return y >= part.start + part.count || x >= part.width; }
fn there(k: u32, y: i32, x: i32) -> u32 { return u32((i32(k) * part.held + y - part.base) * part.width + x); }
`;
}

// Every number of a tile by one invocation; `value(k, place)` says what plane k of the tile holds there.
function fill(radius, planes, value) {
  const size = (TILE.across + 2 * radius) * (TILE.down + 2 * radius), rounds = Math.ceil(size / INVOCATIONS);
  const own = (k) => `own + ${k * INVOCATIONS}u`;
  return {
    places: each(rounds, (k) => `let place${k} = place(group, ${own(k)});`),
    filled: `workgroupBarrier();
${each(rounds, (k) => `if (${own(k)} < SIZE) {
${each(planes, (j) => `tile[${j}u * SIZE + ${own(k)}] = ${value(j, `place${k}`)};`)}
}`)}
workgroupBarrier();`,
  };
}

const MAIN = `
@compute @workgroup_size(${TILE.across}, ${TILE.down / 2})
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) local: vec3u, @builtin(local_invocation_index) own: u32) {
let x = i32(group.x * ${TILE.across}u + local.x);
let y = part.start + i32(group.y * ${TILE.down}u + 2u * local.y);
let middle = 2u * local.y * WIDE + local.x;`;

// ---- the stencils on 5 x 5 pixels, made of even and odd functions along both axes as in the kernel (network.c)

const ALONG = ["e0", "e1", "e2", "o1", "o2"];
const even = (i, j) => (j === 0 ? `c2.${ALONG[i]}` : `(c${2 + j}.${ALONG[i]} + c${2 - j}.${ALONG[i]})`);
const odd = (i, j) => `(c${2 + j}.${ALONG[i]} - c${2 - j}.${ALONG[i]})`;
const ODD = [[0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [2, 2]];
const FUNCTIONS = {
  scalar: [even(0, 0), even(1, 1), even(2, 2), `(${even(0, 1)} + ${even(1, 0)})`, `(${even(0, 2)} + ${even(2, 0)})`, `(${even(1, 2)} + ${even(2, 1)})`],
  across: ODD.map(([i, j]) => odd(i, j)),
  down: ODD.map(([i, j]) => even(2 + j, i)),
  opposite: [[0, 1], [0, 2], [1, 2]].map(([i, j]) => `(${even(i, j)} - ${even(j, i)})`),
  twice: [odd(3, 1), odd(4, 2), `(${odd(3, 2)} + ${odd(4, 1)})`],
};
const order = (kind) => KINDS.findIndex((kinds) => kinds.includes(kind));
const tap = (k) => `numbers[${k >> 2}].${"xyzw"[k & 3]}`;

// The responses of two pixels: those of all profiles, for one kind of stencil after the other.
function responses(name, kinds) {
  const profiles = PROFILES[order(kinds[0])], begin = COEFFICIENTS * PROFILES.slice(0, order(kinds[0])).reduce((a, b) => a + b, 0);
  const response = (kind, p) => FUNCTIONS[kind]
    .map((_, k) => `${tap(begin + COEFFICIENTS * p + (kind === "twice" ? 3 : 0) + k)} * ${kind}${k}`).join(" + ");
  return `
fn ${name}(at: u32) -> array<vec2f, ${profiles * kinds.length}> {
${each(2 * RADIUS + 1, (d) => `let c${d} = column(at + ${d}u);`)}
${kinds.map((kind) => FUNCTIONS[kind].map((text, k) => `let ${kind}${k} = ${text};`).join("\n")).join("\n")}
return array<vec2f, ${profiles * kinds.length}>(${kinds.flatMap((kind) => Array.from({ length: profiles }, (_, p) => response(kind, p))).join(",\n")});
}`;
}

const COLUMN = `
struct Column { e0: vec2f, e1: vec2f, e2: vec2f, o1: vec2f, o2: vec2f }
fn column(at: u32) -> Column {
  let a = tile[at]; let b = tile[at + WIDE]; let c = tile[at + 2u * WIDE];
  let d = tile[at + 3u * WIDE]; let e = tile[at + 4u * WIDE]; let f = tile[at + 5u * WIDE];
  return Column(vec2f(c, d), vec2f(d + b, e + c), vec2f(e + a, f + b), vec2f(d - b, e - c), vec2f(e - a, f - b));
}`;

// Where the matrix of each order begins, in vec4f, for maps from so many outer to so many inner channels.
function starts(outer, inner) {
  let at = TAPS;
  return outer.map((number, m) => { at += number * PROFILES[m] * groups(inner[m]); return at - number * PROFILES[m] * groups(inner[m]); });
}

// ---- v = K1 u: the fields of an order by one workgroup. For numbers see `mapNumbers` with the channels as the outer side.

export function analysis(channels, fields) {
  const begin = starts(fields.map(() => channels), fields), chunk = channels % CHUNK ? 1 : CHUNK;
  const used = fields.map((number, m) => m).filter((m) => fields[m]);
  const { places, filled } = fill(RADIUS, chunk, (j, place) => `source[plane(c + ${j}u) + ${place}.at]`);
  const first = fields.map((_, m) => fields.slice(0, m).reduce((sum, number, k) => sum + number * KINDS[k].length, 0));
  const body = (m) => {
    const all = groups(fields[m]), names = KINDS[m].flatMap((kind) => Array.from({ length: all }, (_, g) => `${kind}${g}`));
    return `
case ${m}u: {
${sums(names)}
for (var c = 0u; c < ${channels}u; c += ${chunk}u) {
${filled}
for (var i = 0u; i < ${chunk}u; i++) {
  let s = respond${m}(i * SIZE + middle);
  let w = ${begin[m]}u + (c + i) * ${PROFILES[m] * all}u;
${each(PROFILES[m] * all, (k) => `let w${k} = numbers[w + ${k}u];`)}
${KINDS[m].map((kind, n) => each(PROFILES[m] * all, (k) => add(`${kind}${k % all}`, `w${k}`, `s[${n * PROFILES[m] + Math.floor(k / all)}]`))).join("\n")}
}
}
${KINDS[m].map((kind, n) => each(all, (g) => {
    const number = first[m] + n * fields[m] + 4 * g;
    return `keep(${number}u, y, x, u${kind}${g}); keep(${number}u, y + 1, x, d${kind}${g});`;
  })).join("\n")}
}`;
  };
  return `${head(RADIUS, begin.at(-1) + channels * PROFILES[fields.length - 1] * groups(fields.at(-1)))}${COLUMN}
${used.map((m) => responses(`respond${m}`, KINDS[m])).join("\n")}
fn keep(k: u32, y: i32, x: i32, fields: vec4f) {
  if (outside(y, x)) { return; }
${each(4, (g) => `into[there(k + ${g}u, y, x)] = fields[${g}];`)}
}
${MAIN}
${places}
switch group.z {
${used.map(body).join("\n")}
default: {}
}
}`;
}

// ---- next = u - K2* v: even functions are their own transposes, odd ones change their sign. Fields are the outer side.

export function synthesis(channels, fields) {
  const begin = starts(fields, fields.map(() => channels)), all = groups(channels), names = Array.from({ length: all }, (_, g) => String(g));
  let number = 0; // of the components before
  const body = (m) => {
    const kinds = KINDS[m], chunk = CHUNK / kinds.length, F = fields[m], start = number;
    number += F * kinds.length;
    const { filled } = fill(RADIUS, CHUNK, (j, place) => {
      const kind = kinds[Math.floor(j / chunk)], k = start + Math.floor(j / chunk) * F + (j % chunk);
      const sign = { across: ` * ${place}.sign.x`, down: ` * ${place}.sign.y`, twice: ` * (${place}.sign.x * ${place}.sign.y)` }[kind] ?? "";
      return `source[plane(f + ${k}u) + ${place}.at]${sign}`;
    });
    return `
for (var f = 0u; f < ${F}u; f += ${chunk}u) {
${filled}
for (var i = 0u; i < ${chunk}u; i++) {
${kinds.map((kind, n) => `let ${kind} = respond_${kind}((i + ${n * chunk}u) * SIZE + middle);`).join(" ")}
  let w = ${begin[m]}u + (f + i) * ${PROFILES[m] * all}u;
${each(PROFILES[m], (p) => `let s${p} = ${m === 1 ? "-" : ""}(${kinds.map((kind) => `${kind}[${p}]`).join(" + ")});`)}
${each(PROFILES[m] * all, (k) => `let w${k} = numbers[w + ${k}u]; ${add(names[k % all], `w${k}`, `s${Math.floor(k / all)}`)}`)}
}
}`;
  };
  const used = fields.map((_, m) => m).filter((m) => fields[m]);
  const { places } = fill(RADIUS, CHUNK, () => "");
  return `${head(RADIUS, begin.at(-1) + fields.at(-1) * PROFILES[fields.length - 1] * all)}${COLUMN}
@group(0) @binding(4) var<storage, read> before: array<f32>;
${used.flatMap((m) => KINDS[m]).map((kind) => responses(`respond_${kind}`, [kind])).join("\n")}
fn take(y: i32, x: i32, ${names.map((name) => `change${name}: vec4f`).join(", ")}) {
  if (outside(y, x)) { return; }
${each(channels, (c) => `let at${c} = there(${c}u, y, x); into[at${c}] = before[at${c}] - change${c >> 2}[${c % 4}];`)}
}
${MAIN}
${places}
${sums(names)}
${used.map(body).join("\n")}
take(y, x, ${names.map((name) => `u${name}`).join(", ")});
take(y + 1, x, ${names.map((name) => `d${name}`).join(", ")});
}`;
}

// ---- Phi(v): every field times a number that all invariants decide upon. `gate` holds offsets, then scales.

export function gates(fields, rho) {
  const count = fields.reduce((a, b) => a + b, 0), all = groups(count), share = Math.ceil(all / gateShares(count));
  const names = Array.from({ length: share }, (_, g) => String(g)), last = all - 1;
  const { places, filled } = fill(rho, CHUNK, (j, place) => `invariant(h + ${j}u, ${place}.at)`);
  const pair = (at) => `vec2f(tile[${at}], tile[${at} + WIDE])`;
  const blended = (j) => {
    const at = (y, x) => `i${j} + ${y}u * WIDE + ${x}u`;
    if (!rho) return `let s${j} = ${pair(`i${j}`)};`;
    const across = (y) => `(0.5 * ${pair(at(y, 1))} + 0.25 * (${pair(at(y, 0))} + ${pair(at(y, 2))}))`;
    return `let s${j} = 0.5 * ${across(1)} + 0.25 * (${across(0)} + ${across(2)});`;
  };
  return `${head(rho, count * all)}
@group(0) @binding(4) var<uniform> gate: array<vec4f, ${2 * all}>;
// The two components of a field; those of order 0 have one.
fn components(h: u32) -> vec2u {
  if (h < ${fields[0]}u) { return vec2u(h, h); }
  if (h < ${fields[0] + fields[1]}u) { return vec2u(h, h + ${fields[1]}u); }
  return vec2u(h + ${fields[1]}u, h + ${fields[1] + fields[2]}u);
}
fn invariant(h: u32, at: u32) -> f32 {
  let k = components(h);
  let c = source[plane(k.x) + at];
  if (h < ${fields[0]}u) { return c; }
  let s = source[plane(k.y) + at];
  return c * c + s * s;
}
fn through(first: u32, y: i32, x: i32, sums: vec4f) {
  if (outside(y, x)) { return; }
  let at = u32((y - part.first) * part.width + x);
  for (var h = first; h < min(first + 4u, ${count}u); h++) {
    let k = components(h);
    let gate = 1.0 / (1.0 + exp(-clamp(sums[h - first], -60.0, 60.0)));
    into[there(k.x, y, x)] = gate * source[plane(k.x) + at];
    if (k.y != k.x) { into[there(k.y, y, x)] = gate * source[plane(k.y) + at]; }
  }
}
${MAIN}
${places}
let g = group.z * ${share}u;
${names.map((name) => `var u${name} = gate[min(g + ${name}u, ${last}u)]; var d${name} = u${name};`).join("\n")}
for (var h = 0u; h < ${count}u; h += ${CHUNK}u) {
${filled}
let four = gate[${all}u + h / 4u]; let scale = select(four.zw, four.xy, h % 4u == 0u);
${each(CHUNK, (j) => `let i${j} = ${j}u * SIZE + middle; ${blended(j)}
let t${j} = scale[${j}] * s${j}; let a${j} = select(log(1.0 + abs(t${j})), t${j}, h < ${fields[0]}u);
${names.map((name) => `let w${j}${name} = numbers[(h + ${j}u) * ${all}u + min(g + ${name}u, ${last}u)]; ${add(name, `w${j}${name}`, `a${j}`)}`).join("\n")}`)}
}
${names.map((name) => `through(4u * (g + ${name}u), y, x, u${name}); through(4u * (g + ${name}u), y + 1, x, d${name});`).join("\n")}
}`;
}

// ---- the numbers of a map as these parts read them: the taps, then for each order a matrix with the inner side in groups

export function mapNumbers(taps, outer, inner, weight) {
  const parts = [padded(taps, TAPS)];
  outer.forEach((number, m) => parts.push(matrixNumbers(number, PROFILES[m], inner[m], (o, p, i) => weight(m, o, p, i))));
  return joined(parts);
}

export function matrixNumbers(outer, profiles, inner, weight) {
  const found = new Float32Array(outer * profiles * 4 * groups(inner));
  let at = 0;
  for (let o = 0; o < outer; ++o)
    for (let p = 0; p < profiles; ++p)
      for (let i = 0; i < 4 * groups(inner); ++i) found[at++] = i < inner ? weight(o, p, i) : 0;
  return found;
}

const padded = (values, count) => { const found = new Float32Array(4 * count); found.set(values); return found; };
