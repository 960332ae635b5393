// Before `npm pack`: what the package takes from the page, into build/. Modules are found by what they import.

import { copyFile, mkdir, readFile, readdir, rm } from "node:fs/promises";

const page = new URL("../src/whorl/page/static/", import.meta.url), build = new URL("build/", import.meta.url);
const found = new Set(), imports = /(?:from |import\()"\.\/(?:build\/js\/)?([a-z]+\.js)"/g;

async function follow(file) {
  for (const [, name] of (await readFile(file, "utf8")).matchAll(imports)) {
    if (name === "index.js" || found.has(name)) continue;
    found.add(name);
    await follow(new URL(`js/${name}`, page));
  }
}

await follow(new URL("index.js", import.meta.url));
await follow(new URL("node.js", import.meta.url));
await rm(build, { recursive: true, force: true });
for (const folder of ["js/", "networks/"]) await mkdir(new URL(folder, build), { recursive: true });
const networks = (await readdir(new URL("networks/", page))).map((name) => `networks/${name}`);
for (const name of ["kernel.wasm", "measure.safetensors", ...networks, ...[...found].map((file) => `js/${file}`)]) await copyFile(new URL(name, page), new URL(name, build));
await copyFile(new URL("../LICENSE", import.meta.url), new URL("LICENSE", import.meta.url));
