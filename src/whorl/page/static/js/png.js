// PNG files: those of 16 bits read, which a browser would round to 8, and pictures of 8 or 16 bits written row by row.

import { DEEP } from "./files.js";

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10], COLOURS = { 0: 1, 2: 3, 4: 2, 6: 4 }; // samples per pixel

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let c = n;
  for (let k = 0; k < 8; ++k) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  return c;
});

function checksum(bytes) {
  let c = 0xffffffff;
  for (let i = 0; i < bytes.length; ++i) c = TABLE[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return c ^ 0xffffffff;
}

function chunk(name, data) {
  const bytes = new Uint8Array(data.length + 12), view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set([...name].map((letter) => letter.charCodeAt(0)), 4);
  bytes.set(data, 8);
  view.setUint32(data.length + 8, checksum(bytes.subarray(4, data.length + 8)));
  return bytes;
}

// Rows of planes with values from 0 to 255 become a file, a few at a time.
export class PngWriter {
  constructor(height, width, channels, bits) {
    Object.assign(this, { width, channels, deep: bits === 16, stream: new CompressionStream("deflate") });
    const header = new DataView(new ArrayBuffer(13));
    header.setUint32(0, width);
    header.setUint32(4, height);
    header.setUint8(8, bits);
    header.setUint8(9, channels === 3 ? 2 : 0);
    this.header = new Uint8Array(header.buffer);
    this.before = new Uint8Array(width * channels * (bits / 8));
    this.packed = new Response(this.stream.readable).arrayBuffer();
    this.writer = this.stream.writable.getWriter();
  }

  // The rows [first, last) of the planes. Every byte is written as its difference from the one above, which packs well.
  async rows(planes, [first, last]) {
    const { width, channels, deep, before } = this, size = before.length, out = new Uint8Array((last - first) * (size + 1));
    const row = deep ? new Uint16Array(width * channels) : new Uint8ClampedArray(width * channels), bytes = deep ? new Uint8Array(size) : row;
    for (let y = first, at = 0; y < last; ++y) {
      planes.forEach((plane, c) => {
        if (deep) for (let x = 0; x < width; ++x) row[x * channels + c] = toDeep(plane[y * width + x]);
        else for (let x = 0; x < width; ++x) row[x * channels + c] = plane[y * width + x]; // clamps, and rounds half to even
      });
      if (deep) for (let i = 0; i < row.length; ++i) [bytes[2 * i], bytes[2 * i + 1]] = [row[i] >> 8, row[i] & 255];
      out[at++] = 2; // the filter that takes the row above away
      for (let i = 0; i < size; ++i) out[at++] = bytes[i] - before[i];
      before.set(bytes);
    }
    await this.writer.write(out);
  }

  async blob() {
    await this.writer.close();
    const parts = [chunk("IHDR", this.header), chunk("IDAT", new Uint8Array(await this.packed)), chunk("IEND", new Uint8Array())];
    return new Blob([new Uint8Array(SIGNATURE), ...parts], { type: "image/png" });
  }
}

// Rounded half to even within 16 bits, as Python does.
export function toDeep(value) {
  const v = Math.min(Math.max(value * DEEP, 0), 65535), low = Math.floor(v), rest = v - low;
  return low + (rest > 0.5 || (rest === 0.5 && low % 2 === 1) ? 1 : 0);
}

// { height, width, bits, samples, values }, row by row and pixel by pixel, of a file of 16 bits; null for any other.
export async function readDeep(file) {
  const head = new DataView(await file.slice(0, 33).arrayBuffer());
  if (head.byteLength < 33 || SIGNATURE.some((byte, k) => head.getUint8(k) !== byte)) return null;
  const [width, height, bits, colour, interlaced] = [head.getUint32(16), head.getUint32(20), head.getUint8(24), head.getUint8(25), head.getUint8(28)];
  if (bits !== 16 || interlaced || !(colour in COLOURS)) return null;
  const samples = COLOURS[colour], pixel = 2 * samples, size = width * pixel, bytes = await unpacked(file);
  if (bytes.length < height * (size + 1)) throw new Error(`“${file.name}” ends before its last row.`);
  const values = new Uint16Array(height * width * samples);
  let above = new Uint8Array(size);
  for (let y = 0, k = 0; y < height; ++y) {
    const start = y * (size + 1) + 1, row = bytes.subarray(start, start + size);
    restore(row, above, bytes[start - 1], pixel);
    for (let i = 0; i < size; i += 2) values[k++] = (row[i] << 8) | row[i + 1];
    above = row;
  }
  return { height, width, bits, samples, values };
}

async function unpacked(file) {
  const parts = [], view = new DataView(await file.arrayBuffer());
  for (let at = 8; at + 12 <= view.byteLength;) {
    const length = view.getUint32(at);
    if (view.getUint32(at + 4) === 0x49444154) parts.push(new Uint8Array(view.buffer, at + 8, Math.min(length, view.byteLength - at - 8))); // IDAT
    at += length + 12;
  }
  const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// A row as it was before its filter: differences from the left, from above, from their mean, or from the nearest of three.
function restore(row, above, filter, pixel) {
  for (let i = 0; i < row.length; ++i) {
    const left = i < pixel ? 0 : row[i - pixel], up = above[i], corner = i < pixel ? 0 : above[i - pixel];
    row[i] += [0, left, up, (left + up) >> 1, filter === 4 ? nearest(left, up, corner) : 0][filter] ?? 0;
  }
}

function nearest(left, up, corner) {
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}
