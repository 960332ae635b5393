// Planes with values from 0 to 255 onto canvases.

// One plane is grey, three are colour. `mask` leaves pixels transparent.
export function paint(canvas, planes, height, width, mask = null) {
  const [red, green, blue] = planes.length === 3 ? planes : [planes[0], planes[0], planes[0]];
  put(canvas, height, width, mask, (data, n) => {
    for (let i = 0, k = 0; i < n; ++i, k += 4) { // the clamped array rounds and clamps by itself
      data[k] = red[i];
      data[k + 1] = green[i];
      data[k + 2] = blue[i];
    }
  });
}

export const FULL = 128; // a difference of this size, after strengthening, has the full colour

// Grey at the start, warm where the first picture is brighter, cool where it is darker.
export function colours(dark) {
  return dark
    ? { base: [30, 36, 42], warm: [255, 170, 110], cool: [110, 190, 255] }
    : { base: [244, 243, 239], warm: [190, 60, 10], cool: [10, 90, 160] };
}

// Signed differences, strengthened by `gain`.
export function paintDifference(canvas, first, second, height, width, gain, dark, mask = null) {
  const { base, warm, cool } = colours(dark), channels = first.length;
  put(canvas, height, width, mask, (data, n) => {
    for (let i = 0, k = 0; i < n; ++i, k += 4) {
      let d = 0;
      for (let c = 0; c < channels; ++c) d += first[c][i] - second[c][i];
      const t = Math.min(1, (Math.abs(d) * gain) / (FULL * channels)), side = d > 0 ? warm : cool;
      data[k] = base[0] + t * (side[0] - base[0]);
      data[k + 1] = base[1] + t * (side[1] - base[1]);
      data[k + 2] = base[2] + t * (side[2] - base[2]);
    }
  });
}

function put(canvas, height, width, mask, fill) {
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const image = new ImageData(width, height), { data } = image, n = width * height;
  fill(data, n);
  if (mask === null) for (let i = 0; i < n; ++i) data[4 * i + 3] = 255;
  else for (let i = 0; i < n; ++i) data[4 * i + 3] = mask[i] ? 255 : 0;
  canvas.getContext("2d").putImageData(image, 0, 0);
}

export function isDark() {
  return document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
}
