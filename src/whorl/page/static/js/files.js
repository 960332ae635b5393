// Pictures from files, at their own size: read part by part, as planes with values from 0 to 255.

import { paint } from "./paint.js";

export const DEEP = 257; // steps of 16 bits in one of 8
const STRIP = 512; // rows that are looked at together

// { height, width, channels, bits, unit, kind, read, bitmap, name }: `read(part)` gives the planes of { top, left, height, width },
// one of a grey picture and three of all others; `unit` is what a grey level of the page is in the file, which is a TIFF file
// again if it was one, and a PNG file if not.
export async function readPicture(file) {
  const name = file.name || "What you pasted", tiff = await import("./tiff.js");
  if (await tiff.isTiff(file)) {
    const found = readerOf(await tiff.readTiff(file)), { height, width } = found, canvas = document.createElement("canvas");
    paint(canvas, found.read({ top: 0, left: 0, height, width }), height, width);
    return { ...found, name, kind: "tif", bitmap: await createImageBitmap(canvas) };
  }
  let bitmap;
  try {
    bitmap = await createImageBitmap(file, { colorSpaceConversion: "none" }); // the numbers of the file, as Python reads them
  } catch {
    throw new Error(`“${name}” is not a picture this browser can read. Try PNG, TIFF, JPEG or WebP.`);
  }
  const { height, width } = bitmap, { readDeep } = await import("./png.js"), deep = await readDeep(file), picture = { height, width, bitmap, name, kind: "png" };
  if (deep) return { ...picture, ...readerOf(deep) };
  const channels = isGrey(bitmap) ? 1 : 3;
  return { ...picture, bits: 8, unit: 1, channels, read: ({ top, left, height, width }) => toPlanes(draw(bitmap, left, top, width, height, width, height), channels) };
}

// The same of values of 8 or 16 bits; what is transparent is put on white.
function readerOf({ height, width: wide, bits, samples, values }) {
  const channels = samples < 3 ? 1 : 3, unit = bits === 16 ? DEEP : 1, white = 255 * unit;
  const read = ({ top, left, height, width }) => Array.from({ length: channels }, (_, c) => {
    const plane = new Float32Array(height * width);
    for (let y = 0, k = 0; y < height; ++y)
      for (let x = 0; x < width; ++x, ++k) {
        const at = ((top + y) * wide + left + x) * samples, alpha = samples > channels ? values[at + channels] / white : 1;
        plane[k] = (alpha * values[at + c] + (1 - alpha) * white) / unit;
      }
    return plane;
  });
  return { height, width: wide, bits, unit, channels, read };
}

// Who writes such a picture down, some rows at a time.
export async function writerOf({ height, width, channels, bits, kind }) {
  const Writer = kind === "tif" ? (await import("./tiff.js")).TiffWriter : (await import("./png.js")).PngWriter; // fetched when needed
  return new Writer(height, width, channels, bits);
}

// The middle square of a picture as planes, reduced to at most `limit` pixels: the material for turning.
export function middleSquare({ bitmap, channels }, limit) {
  const whole = Math.min(bitmap.width, bitmap.height), side = Math.min(whole, limit);
  const x = (bitmap.width - whole) / 2, y = (bitmap.height - whole) / 2;
  return { planes: toPlanes(draw(bitmap, x, y, whole, whole, side, side), channels), side };
}

function draw(bitmap, x, y, w, h, width, height) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.fillStyle = "#fff"; // transparent pictures are shown, and filtered, on white
  context.fillRect(0, 0, width, height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, x, y, w, h, 0, 0, width, height);
  return context.getImageData(0, 0, width, height).data;
}

function isGrey(bitmap) {
  for (let top = 0; top < bitmap.height; top += STRIP) {
    const rows = Math.min(STRIP, bitmap.height - top), data = draw(bitmap, 0, top, bitmap.width, rows, bitmap.width, rows);
    for (let i = 0; i < data.length; i += 4) if (data[i] !== data[i + 1] || data[i] !== data[i + 2]) return false;
  }
  return true;
}

function toPlanes(data, channels) {
  return Array.from({ length: channels }, (_, c) => Float32Array.from({ length: data.length / 4 }, (_, i) => data[4 * i + c]));
}
