// Before and after with a border to move, or the difference between them; zoom and pan.

import { FULL, colours, isDark, paint, paintDifference } from "./paint.js";
import { makeSlider } from "./slider.js";
import { makeZoom } from "./zoom.js";

const GAIN = 2; // the difference is shown at twice its size
const CRISP = 8; // screen pixels per picture pixel from which on pixels are shown as squares

// `chosen` hears what the visitor wants to see.
export function makeStage(chosen) {
  const get = (id) => document.getElementById(id);
  const [frame, before, after, difference, divider] = ["frame", "before", "after", "difference", "divider"].map(get);
  let shown = null, comparing = true, painted = {};

  const zoom = makeZoom(frame, () => crisp());
  makeSlider({
    element: divider, surface: frame, small: 2, large: 10, low: 0, high: 100,
    text: (value) => `${Math.round(value)} percent before`,
    // The handle always moves the border; the picture around it does so unless a drag has another meaning there.
    takes: (event) => comparing && !event.target.closest(".zoom, .parts, #cancel")
      && (divider.contains(event.target) || (zoom.scale === 1 && frame.dataset.mode !== "fill")),
    held: (yes) => { if (yes) frame.dataset.held = "border"; else delete frame.dataset.held; },
    locate: (event) => {
      const box = frame.getBoundingClientRect();
      return ((event.clientX - box.left) / box.width) * 100;
    },
    change: (value) => frame.style.setProperty("--split", `${value}%`),
  });

  function crisp() {
    const wide = shown ? (zoom.scale * frame.clientWidth) / shown.width : 0;
    frame.classList.toggle("crisp", wide >= CRISP);
  }

  // Only what is seen is painted, and only if it changed.
  function redraw() {
    if (!shown) return;
    const { input, output, height, width } = shown;
    frame.style.setProperty("--aspect", String(width / height));
    if (comparing && painted.input !== input) paint(before, input, height, width);
    if (comparing && painted.output !== output) paint(after, output, height, width);
    painted = comparing ? { input, output } : {};
    if (!comparing) paintDifference(difference, input, output, height, width, GAIN, isDark());
    crisp();
  }

  function legend() {
    const { base, warm, cool } = colours(isDark()), rgb = (colour) => `rgb(${colour.join(" ")})`;
    get("scale").querySelector("i").style.background = `linear-gradient(90deg, ${rgb(cool)}, ${rgb(base)}, ${rgb(warm)})`;
    const [low, high] = get("scale").querySelectorAll("b");
    low.textContent = `−${FULL / GAIN}`;
    high.textContent = `+${FULL / GAIN} grey levels`;
  }

  // "compare" shows before and after, anything else their difference.
  function choose(what) {
    comparing = what === "compare";
    document.querySelector(`input[name=show][value=${what}]`).checked = true;
    for (const part of [before.parentElement, after.parentElement, divider, ...frame.querySelectorAll(".tag")]) part.hidden = !comparing;
    difference.parentElement.hidden = comparing;
    get("scale").hidden = comparing;
    redraw();
  }

  for (const radio of document.querySelectorAll("input[name=show]"))
    radio.addEventListener("change", () => { choose(radio.value); chosen(radio.value); });
  addEventListener("themechange", () => { legend(); redraw(); });
  new ResizeObserver(crisp).observe(frame);
  legend();

  return {
    zoom, choose,
    show(result) {
      if (shown && (shown.width !== result.width || shown.height !== result.height)) zoom.whole();
      shown = result;
      redraw();
    },
    get result() { return shown; },
  };
}
