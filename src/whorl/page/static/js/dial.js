// The turntable: a round picture in a ring with a handle.

import { makeSlider } from "./slider.js";

const SVG = "http://www.w3.org/2000/svg";
const RADIUS = 97;

// Where an angle lies on the ring: 0 on the right, counterclockwise as in mathematics.
const point = (angle, radius = RADIUS) => {
  const a = (angle * Math.PI) / 180;
  return [radius * Math.cos(a), -radius * Math.sin(a)];
};

function node(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

export function makeDial(change) {
  const dial = document.getElementById("dial"), knob = document.getElementById("knob");
  const ring = document.getElementById("ring"), shown = document.getElementById("angle");
  const arc = node("path", { class: "arc" });
  ring.append(node("circle", { class: "track", r: RADIUS }));
  for (let a = 0; a < 360; a += 15) {
    const [x1, y1] = point(a, a % 90 ? 101.5 : 104), [x2, y2] = point(a, RADIUS);
    ring.append(node("line", { class: "tick", x1, y1, x2, y2 }));
  }
  ring.append(arc);

  const slider = makeSlider({
    element: knob, surface: dial, small: 1, large: 15, low: -180, high: 180, wrap: true,
    text: (value) => `${value} degrees`,
    locate: (event) => {
      const box = dial.getBoundingClientRect();
      const x = event.clientX - box.left - box.width / 2, y = event.clientY - box.top - box.height / 2;
      const angle = (Math.atan2(-y, x) * 180) / Math.PI;
      return event.shiftKey ? 15 * Math.round(angle / 15) : Math.round(angle);
    },
    change: (value) => {
      const [x, y] = point(value);
      knob.style.transform = `translate(${x / 2.2}cqw, ${y / 2.2}cqw)`;
      shown.textContent = `${String(value).replace("-", "−")}°`;
      const [sx, sy] = point(0), large = Math.abs(value) > 180 ? 1 : 0;
      arc.setAttribute("d", value === 0 ? "" : `M${sx} ${sy}A${RADIUS} ${RADIUS} 0 ${large} ${value > 0 ? 0 : 1} ${x} ${y}`);
      change(value);
    },
  });
  for (const button of document.querySelectorAll("[data-angle]"))
    button.addEventListener("click", () => slider.set(Number(button.dataset.angle), "button"));
  return slider;
}
