// Pictures from files: decoded by the browser, reduced to a workable size, split into planes.

export const LARGEST = 1024; // pixels along the longer side; what is larger is reduced

// { planes, height, width } with values from 0 to 255; grey pictures give one plane, all others three.
export async function readPicture(file) {
  let bitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(`“${file.name || "What you pasted"}” is not a picture this browser can read. Try PNG, JPEG or WebP.`);
  }
  const factor = Math.min(1, LARGEST / Math.max(bitmap.width, bitmap.height));
  const width = Math.max(1, Math.round(bitmap.width * factor)), height = Math.max(1, Math.round(bitmap.height * factor));
  const picture = { planes: toPlanes(draw(bitmap, 0, 0, bitmap.width, bitmap.height, width, height)), height, width };
  return { ...picture, bitmap, name: file.name || "picture", reduced: factor < 1 };
}

// The middle square of a picture as planes, reduced to at most `limit` pixels: the material for turning.
export function middleSquare(bitmap, limit) {
  const whole = Math.min(bitmap.width, bitmap.height), side = Math.min(whole, limit);
  const x = (bitmap.width - whole) / 2, y = (bitmap.height - whole) / 2;
  return { planes: toPlanes(draw(bitmap, x, y, whole, whole, side, side)), side };
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

function toPlanes(data) {
  const count = data.length / 4, planes = [0, 1, 2].map(() => new Float32Array(count));
  let grey = true;
  for (let i = 0; i < count; ++i) {
    for (let c = 0; c < 3; ++c) planes[c][i] = data[4 * i + c];
    grey &&= data[4 * i] === data[4 * i + 1] && data[4 * i] === data[4 * i + 2];
  }
  return grey ? planes.slice(0, 1) : planes;
}
