// A large picture: a part of it is shown at full size, and all of it is filtered in windows of rows and saved.

import { filterInBands } from "./bands.js";
import { writerOf } from "./files.js";

const LARGEST = 1024, PART = 512; // pixels along the longer side of a picture shown as a whole, and of a part of a larger one
const PIXELS = 2 ** 22; // of a window, about

export const shownWhole = ({ height, width }) => Math.max(height, width) <= LARGEST;

// The part shown of a picture, { top, left, height, width }; `at` is its middle, in parts of the picture.
export function partOf(picture, at = { x: 0.5, y: 0.5 }) {
  const side = (size) => (shownWhole(picture) ? size : Math.min(size, PART)), height = side(picture.height), width = side(picture.width);
  const start = (size, part, middle) => Math.round(Math.min(size - part, Math.max(0, middle * size - part / 2)));
  return { top: start(picture.height, height, at.y), left: start(picture.width, width, at.x), height, width };
}

// All of the picture by this plan, as a file. Windows overlap as far as all steps look, so that there is no seam.
export async function filterWhole(pool, picture, plan, { group, progress = () => {}, pixels = PIXELS } = {}) {
  const { height, width } = picture, halo = plan.steps * plan.reach, rows = Math.max(1, Math.floor(pixels / width), Math.min(2 * halo, pixels));
  return inWindows(picture, rows, progress, async (first, last) => {
    const top = Math.max(0, first - halo), bottom = Math.min(height, last + halo), planes = picture.read({ top, left: 0, height: bottom - top, width });
    const done = plan.steps ? (await filterInBands(pool, { planes, height: bottom - top, width, plan }, { group })).planes : planes;
    return [done, [first - top, last - top]];
  });
}

// All of the picture with a part of it replaced, as a file.
export async function pasteWhole(picture, part, planes) {
  const { width } = picture;
  return inWindows(picture, Math.max(64, Math.floor(PIXELS / width)), () => {}, async (first, last) => {
    const window = picture.read({ top: first, left: 0, height: last - first, width });
    for (let y = Math.max(first, part.top); y < Math.min(last, part.top + part.height); ++y)
      window.forEach((plane, c) => plane.set(planes[c].subarray((y - part.top) * part.width, (y - part.top + 1) * part.width), (y - first) * width + part.left));
    return [window, [0, last - first]];
  });
}

// `make(first, last)` gives planes, and which of their rows are those of the window.
async function inWindows(picture, rows, progress, make) {
  const { height } = picture, writer = await writerOf(picture);
  for (let first = 0; first < height; first += rows) {
    progress(first / height);
    await writer.rows(...await make(first, Math.min(height, first + rows)));
  }
  return writer.blob();
}
