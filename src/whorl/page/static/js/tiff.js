// TIFF files, which browsers do not read: 8 or 16 bits, grey or colour, in strips or tiles, packed or not.

import { toDeep } from "./png.js";

const TYPES = { 1: ["getUint8", 1], 3: ["getUint16", 2], 4: ["getUint32", 4] };
const [SUBFILE, WIDTH, HEIGHT, BITS, PACKING, MEANING, STRIPS, SAMPLES, ROWS, COUNTS, PLANAR, PREDICTOR, TILE_WIDTH, TILE_HEIGHT, TILES, TILE_COUNTS, FORMAT] =
  [254, 256, 257, 258, 259, 262, 273, 277, 278, 279, 284, 317, 322, 323, 324, 325, 339];
const UNPACK = { 1: (bytes) => bytes, 5: lzw, 8: inflate, 32946: inflate, 32773: packBits };

export const isTiff = async (file) => ["73,73,42,0", "77,77,0,42"].includes(new Uint8Array(await file.slice(0, 4).arrayBuffer()).join());

// { height, width, bits, samples, values }, row by row and pixel by pixel.
export async function readTiff(file) {
  const view = new DataView(await file.arrayBuffer()), little = view.getUint8(0) === 73, pages = [];
  const refuse = (what) => { throw new Error(`“${file.name}” ${what}. “whorl filter” takes it, or save it as TIFF with 8 or 16 bits per colour.`); };
  for (let at = view.getUint32(4, little); at && pages.length < 2;) {
    const tags = new Map(), count = view.getUint16(at, little);
    for (let k = 0, entry = at + 2; k < count; ++k, entry += 12) tags.set(view.getUint16(entry, little), numbers(view, entry, little));
    if (!((tags.get(SUBFILE)?.[0] ?? 0) & 1)) pages.push(tags); // not a small copy of another
    at = view.getUint32(at + 2 + 12 * count, little);
  }
  if (pages.length !== 1) refuse("has several pages");
  const all = (tag, usual = []) => pages[0].get(tag) ?? usual, one = (tag, usual) => all(tag, [usual])[0];
  const [width, height, bits, samples, meaning, packing] = [one(WIDTH), one(HEIGHT), one(BITS, 1), one(SAMPLES, 1), one(MEANING), one(PACKING, 1)];
  if (!UNPACK[packing]) refuse(`is packed in a way that the page does not know (${packing})`);
  if (![8, 16].includes(bits) || one(FORMAT, 1) !== 1 || meaning > 2 || samples > 4) refuse("is not grey or RGB with 8 or 16 bits");
  const tiled = pages[0].has(TILES), [w, h] = tiled ? [one(TILE_WIDTH), one(TILE_HEIGHT)] : [width, Math.min(one(ROWS, height), height)];
  const [offsets, counts] = tiled ? [all(TILES), all(TILE_COUNTS)] : [all(STRIPS), all(COUNTS)];
  const planar = one(PLANAR, 1) === 2, deep = bits === 16, across = Math.ceil(width / w), parts = across * Math.ceil(height / h);
  const values = new (deep ? Uint16Array : Uint8Array)(height * width * samples), each = planar ? 1 : samples, white = meaning === 0 ? (deep ? 65535 : 255) : 0;
  for (const [n, offset] of offsets.entries()) {
    const bytes = await UNPACK[packing](new Uint8Array(view.buffer, offset, Math.min(counts[n], view.byteLength - offset)));
    const part = n % parts, top = Math.floor(part / across) * h, left = (part % across) * w, row = new values.constructor(w * each);
    const source = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), first = planar ? Math.floor(n / parts) : 0;
    for (let y = 0; y < Math.min(h, height - top); ++y) {
      const start = (y * w * each * bits) / 8;
      if (start + (row.length * bits) / 8 > bytes.length) throw new Error(`“${file.name}” ends before its last row.`);
      for (let i = 0; i < row.length; ++i) row[i] = deep ? source.getUint16(start + 2 * i, little) : bytes[start + i];
      if (one(PREDICTOR, 1) === 2) for (let i = each; i < row.length; ++i) row[i] += row[i - each];
      for (let x = 0; x < Math.min(w, width - left); ++x)
        for (let c = 0; c < each; ++c) values[((top + y) * width + left + x) * samples + first + c] = white ? white - row[x * each + c] : row[x * each + c];
    }
  }
  return { height, width, bits, samples, values };
}

function numbers(view, entry, little) {
  const type = view.getUint16(entry + 2, little), count = view.getUint32(entry + 4, little);
  if (!TYPES[type]) return [];
  const [read, size] = TYPES[type], at = count * size <= 4 ? entry + 8 : view.getUint32(entry + 8, little);
  return Array.from({ length: count }, (_, k) => view[read](at + k * size, little));
}

const through = async (bytes, stream) => new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());

function inflate(bytes) {
  return through(bytes, new DecompressionStream("deflate"));
}

// Runs of equal bytes, and bytes as they are.
function packBits(bytes) {
  const out = [];
  for (let i = 0; i < bytes.length;) {
    const n = bytes[i++];
    if (n < 128) for (let k = 0; k <= n; ++k) out.push(bytes[i++]);
    else if (n > 128) for (let k = bytes[i++], times = 257 - n; times; --times) out.push(k);
  }
  return Uint8Array.from(out);
}

// Words of a table that grows while it is read: each is an earlier one and a byte more.
function lzw(bytes) {
  const CLEAR = 256, END = 257, before = new Uint16Array(4096), last = new Uint8Array(4096), length = new Uint16Array(4096).fill(1);
  for (let k = 0; k < 256; ++k) last[k] = k;
  let out = new Uint8Array(4 * bytes.length + 4096), size = 0, next = 258, width = 9, previous = -1, bits = 0, held = 0;
  const first = (word) => { while (length[word] > 1) word = before[word]; return last[word]; };
  for (const byte of bytes) {
    [held, bits] = [((held << 8) | byte) & 0xffffff, bits + 8];
    if (bits < width) continue;
    const word = (held >> (bits -= width)) & ((1 << width) - 1);
    if (word === END) break;
    if (word === CLEAR) { [next, width, previous] = [258, 9, -1]; continue; }
    if (previous >= 0 && next < 4096) [before[next], last[next], length[next]] = [previous, first(word < next ? word : previous), length[previous] + 1];
    if (previous >= 0) ++next;
    if (size + length[word] > out.length) { const more = new Uint8Array(2 * out.length + 4096); more.set(out); out = more; }
    size += length[word];
    for (let k = word, at = size - 1; ; k = before[k], --at) { out[at] = last[k]; if (length[k] === 1) break; }
    previous = word;
    width = next >= 2047 ? 12 : next >= 1023 ? 11 : next >= 511 ? 10 : 9;
  }
  return out.subarray(0, size);
}

// Rows of planes with values from 0 to 255 become a file, a strip at a time.
export class TiffWriter {
  constructor(height, width, channels, bits) {
    Object.assign(this, { height, width, channels, bits, strips: [], rowsPerStrip: 0 });
  }

  // The rows [first, last) of the planes, packed, as differences from the pixel to the left.
  async rows(planes, [first, last]) {
    const { width, channels } = this, deep = this.bits === 16, count = width * channels;
    const row = deep ? new Uint16Array(count) : new Uint8ClampedArray(count), out = new (deep ? Uint16Array : Uint8Array)((last - first) * count);
    for (let y = first, at = 0; y < last; ++y) {
      planes.forEach((plane, c) => { for (let x = 0; x < width; ++x) row[x * channels + c] = deep ? toDeep(plane[y * width + x]) : plane[y * width + x]; });
      for (let i = 0; i < count; ++i) out[at++] = row[i] - (i < channels ? 0 : row[i - channels]);
    }
    this.rowsPerStrip ||= last - first;
    this.strips.push(await through(out, new CompressionStream("deflate")));
  }

  blob() {
    const { height, width, channels, bits, strips, rowsPerStrip } = this, start = 8, parts = [];
    let at = start;
    const offsets = strips.map((strip) => { parts.push(strip, new Uint8Array(strip.length % 2)); at += strip.length + (strip.length % 2); return at - strip.length - (strip.length % 2); });
    const tags = [[WIDTH, [width]], [HEIGHT, [height]], [BITS, Array(channels).fill(bits), 3], [PACKING, [8], 3], [MEANING, [channels === 3 ? 2 : 1], 3], [STRIPS, offsets],
      [SAMPLES, [channels], 3], [ROWS, [rowsPerStrip]], [COUNTS, strips.map((strip) => strip.length)], [PREDICTOR, [2], 3]];
    const directory = new DataView(new ArrayBuffer(6 + 12 * tags.length)), more = [];
    directory.setUint16(0, tags.length, true);
    let beyond = at + directory.byteLength;
    tags.forEach(([tag, values, type = 4], k) => {
      const entry = 2 + 12 * k, list = type === 3 ? Uint16Array.from(values) : Uint32Array.from(values), inside = list.byteLength <= 4;
      [tag, type].forEach((value, n) => directory.setUint16(entry + 2 * n, value, true));
      directory.setUint32(entry + 4, values.length, true);
      if (inside) new Uint8Array(directory.buffer).set(new Uint8Array(list.buffer), entry + 8);
      else { directory.setUint32(entry + 8, beyond, true); more.push(list, new Uint8Array(list.byteLength % 4)); beyond += list.byteLength + (list.byteLength % 4); }
    });
    const head = new DataView(new ArrayBuffer(start));
    [0x4949, 42].forEach((value, n) => head.setUint16(2 * n, value, true));
    head.setUint32(4, at, true);
    return new Blob([head, ...parts, directory, ...more], { type: "image/tiff" });
  }
}
