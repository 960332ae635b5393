// The small pictures to choose from.

import { paint } from "./paint.js";
import { SCENES, VIEW } from "./scenes.js";

const SIZE = 96;
const list = () => document.getElementById("pictures");

// One thumbnail per scene.
export function showScenes(chosen) {
  for (const [name, { title, value }] of Object.entries(SCENES)) {
    const zoom = VIEW / SIZE, middle = (SIZE - 1) / 2;
    const grey = (_, i) => value(((i % SIZE) - middle) * zoom, (Math.floor(i / SIZE) - middle) * zoom);
    paint(add(name, title, name === chosen), [Float32Array.from({ length: SIZE * SIZE }, grey)], SIZE, SIZE);
  }
}

// The visitor's own picture, in place of an earlier one.
export function showOwn({ bitmap }) {
  document.querySelector("input[value=own]")?.parentElement.remove();
  const side = Math.min(bitmap.width, bitmap.height), x = (bitmap.width - side) / 2, y = (bitmap.height - side) / 2;
  add("own", "Yours", true).getContext("2d").drawImage(bitmap, x, y, side, side, 0, 0, SIZE, SIZE);
}

function add(value, title, checked) {
  const label = document.createElement("label");
  label.innerHTML = `<input type="radio" name="picture" value="${value}">`
    + `<canvas width="${SIZE}" height="${SIZE}" aria-hidden="true"></canvas><span></span>`;
  label.querySelector("span").textContent = title;
  label.querySelector("input").checked = checked;
  list().append(label);
  return label.querySelector("canvas");
}
