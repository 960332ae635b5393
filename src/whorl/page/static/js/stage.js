// Before and after with a border to move, or the difference between them.

import { isDark, paint, paintDifference } from "./paint.js";
import { makeSlider } from "./slider.js";

const GAIN = 2; // the difference is shown at twice its size

export function makeStage() {
  const get = (id) => document.getElementById(id);
  const [frame, before, after, difference, divider] = ["frame", "before", "after", "difference", "divider"].map(get);
  let shown = null;

  makeSlider({
    element: divider, surface: frame, small: 2, large: 10, low: 0, high: 100,
    text: (value) => `${Math.round(value)} percent before`,
    locate: (event) => {
      const box = frame.getBoundingClientRect();
      return ((event.clientX - box.left) / box.width) * 100;
    },
    change: (value) => frame.style.setProperty("--split", `${value}%`),
  });

  function redraw() {
    if (!shown) return;
    const { input, output, height, width } = shown;
    frame.style.setProperty("--aspect", String(width / height));
    frame.classList.toggle("crisp", Math.max(width, height) < 96);
    paint(before, input, height, width);
    paint(after, output, height, width);
    paintDifference(difference, input, output, height, width, GAIN, isDark());
  }

  for (const radio of document.querySelectorAll("input[name=show]"))
    radio.addEventListener("change", () => {
      const comparing = radio.value === "compare";
      for (const part of [before, after, divider, ...frame.querySelectorAll(".tag")]) part.hidden = !comparing;
      difference.hidden = comparing;
    });
  addEventListener("themechange", redraw);

  return {
    show(result) { shown = result; redraw(); },
    get result() { return shown; },
  };
}
