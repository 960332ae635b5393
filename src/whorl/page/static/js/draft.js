// A draft for a hand that moves a slider: a model that takes long is computed in the middle of the view first, in as large
// a part as the time allows. The rest of the picture follows when the hand rests.

const SOON = 70; // milliseconds for which a picture needs no draft
const BUDGET = 50; // milliseconds for a draft
const LEAST = 40; // pixels along a side; the slowest network takes the budget for as many

// The part to compute, { top, left, height, width }, of a picture that takes so many milliseconds, and so many `alone`,
// without bands, for which a part is too small; null where all of it can be done. `middle` is where the view is looking, as
// shares of width and height.
export function draftPart({ milliseconds, alone }, height, width, middle) {
  if (milliseconds <= SOON) return null;
  const side = (length) => Math.min(length, Math.max(LEAST, Math.round(length * Math.sqrt(BUDGET / alone))));
  const place = (length, part, at) => Math.round(Math.min(length - part, Math.max(0, at * length - part / 2)));
  const high = side(height), wide = side(width);
  return { top: place(height, high, middle.y), left: place(width, wide, middle.x), height: high, width: wide };
}

// That part of every plane. Its border is mirrored like that of a picture, so that results near it are not final.
export function cut(planes, width, part) {
  return planes.map((plane) => {
    const out = new Float32Array(part.height * part.width);
    for (let y = 0; y < part.height; ++y) {
      const start = (part.top + y) * width + part.left;
      out.set(plane.subarray(start, start + part.width), y * part.width);
    }
    return out;
  });
}

// Copies of the planes with the part in its place.
export function paste(planes, width, part, pieces) {
  return planes.map((plane, c) => {
    const out = plane.slice();
    for (let y = 0; y < part.height; ++y)
      out.set(pieces[c].subarray(y * part.width, (y + 1) * part.width), (part.top + y) * width + part.left);
    return out;
  });
}
