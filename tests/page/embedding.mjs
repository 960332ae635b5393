// The npm package in node: one JSON document with pictures in, one with results out.

import { readFileSync } from "node:fs";
import { denoise, diffuse, fromImageData, inpaint, models, networks, noise, toImageData } from "whorl-imaging";

const { data, mask, height, width } = JSON.parse(readFileSync(0, "utf8"));
const picture = fromImageData({ data: Uint8ClampedArray.from(data), height, width });
const pixels = (result) => [...toImageData(result).data];
const refused = (call) => call().then(() => "nothing", (error) => error.message);

const [filtered, clean] = await Promise.all([diffuse(picture), denoise(picture, { noise: 12 })]); // at once: each has to wait
const stop = new AbortController(), endless = refused(() => diffuse(picture, { contrast: 1, time: 1e7, signal: stop.signal }));
setTimeout(() => stop.abort(new Error("stopped")), 20);
process.stdout.write(JSON.stringify({
  models, networks, noise: await noise(picture), settings: filtered.settings,
  filtered: pixels(filtered), clean: pixels(clean), filled: pixels(await inpaint(picture, mask, { tolerance: 0.001 })),
  stopped: await endless,
  refused: [
    await refused(() => diffuse(picture, { model: "median" })), await refused(() => diffuse(picture, { rho: 2 })),
    await refused(() => diffuse(picture, { contrast: -1 })), await refused(() => denoise({ ...picture, width: 3 })),
    await refused(() => denoise(picture, { network: "photo-grey" })), await refused(() => inpaint(picture, mask.map(() => 1))),
  ],
}));
