// Numbers about pictures with values from 0 to 255. The disc is where every angle shows the same part of the picture.

// 1 inside the disc of radius size/2 - margin, 0 outside.
export function discMask(size, margin) {
  const mask = new Uint8Array(size * size), middle = (size - 1) / 2, limit = size / 2 - margin;
  for (let y = 0; y < size; ++y)
    for (let x = 0; x < size; ++x) mask[y * size + x] = Math.hypot(x - middle, y - middle) <= limit ? 1 : 0;
  return mask;
}

// Root mean square difference over all channels, within the mask if there is one.
export function rootMeanSquare(a, b, mask = null) {
  let sum = 0, count = 0;
  for (let c = 0; c < a.length; ++c)
    for (let i = 0; i < a[c].length; ++i)
      if (mask === null || mask[i]) {
        const d = a[c][i] - b[c][i];
        sum += d * d;
        ++count;
      }
  return Math.sqrt(sum / count);
}

export const psnr = (rms) => 20 * Math.log10(255 / rms);
