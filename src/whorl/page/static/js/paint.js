// Planes with values from 0 to 255 onto canvases.

// One plane is grey, three are colour. `mask` leaves pixels transparent.
export function paint(canvas, planes, height, width, mask = null) {
  const [red, green, blue] = planes.length === 3 ? planes : [planes[0], planes[0], planes[0]];
  put(canvas, height, width, (i, out) => {
    out[0] = red[i];
    out[1] = green[i];
    out[2] = blue[i];
  }, mask);
}

// Signed differences around grey: warm where the first is brighter, cool where it is darker, strengthened by `gain`.
export function paintDifference(canvas, first, second, height, width, gain, dark, mask = null) {
  const base = dark ? [30, 36, 42] : [244, 243, 239];
  const warm = dark ? [255, 170, 110] : [190, 60, 10], cool = dark ? [110, 190, 255] : [10, 90, 160];
  put(canvas, height, width, (i, out) => {
    let d = 0;
    for (let c = 0; c < first.length; ++c) d += first[c][i] - second[c][i];
    const t = Math.min(1, (Math.abs(d) * gain) / (128 * first.length)), side = d > 0 ? warm : cool;
    for (let k = 0; k < 3; ++k) out[k] = base[k] + t * (side[k] - base[k]);
  }, mask);
}

function put(canvas, height, width, colour, mask) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const image = new ImageData(width, height), { data } = image, out = [0, 0, 0];
  for (let i = 0; i < width * height; ++i) {
    colour(i, out);
    for (let k = 0; k < 3; ++k) data[4 * i + k] = out[k]; // rounds and clamps by itself
    data[4 * i + 3] = mask === null || mask[i] ? 255 : 0;
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function isDark() {
  return document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
}
