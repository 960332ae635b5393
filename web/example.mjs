// Denoise a picture in node:   node example.mjs photo.ppm clean.ppm
//
// Portable pixmaps (.pgm, .ppm with 8 bits) need no other package; any decoder that gives pixels will do.

import { readFile, writeFile } from "node:fs/promises";
import { denoise, noise } from "whorl-imaging";

const [source, target] = process.argv.slice(2), file = await readFile(source);
const [head, kind, width, height] = file.toString("latin1", 0, 200).match(/^(P[56])\s+(\d+)\s+(\d+)\s+255\s/);
const channels = kind === "P6" ? 3 : 1, [w, h] = [Number(width), Number(height)];
const planes = Array.from({ length: channels }, (_, c) => Float32Array.from({ length: h * w }, (_, i) => file[head.length + channels * i + c]));

const picture = { planes, height: h, width: w }, { level } = await noise(picture), clean = await denoise(picture);
console.log(`noise ${level.toFixed(1)}, removed by ${clean.settings.network} told ${clean.settings.noise.toFixed(1)}`);

const values = new Uint8ClampedArray(channels * h * w);
clean.planes.forEach((plane, c) => plane.forEach((value, i) => { values[channels * i + c] = value; }));
await writeFile(target, Buffer.concat([Buffer.from(head, "latin1"), Buffer.from(values)]));
