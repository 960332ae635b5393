// A small line chart over the angle, drawn in SVG; a click on it chooses the angle.

const WIDTH = 520, HEIGHT = 230, LEFT = 44, RIGHT = 14, TOP = 14, BOTTOM = 30;
const SVG = "http://www.w3.org/2000/svg";

function element(name, attributes, parent, text = null) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text !== null) node.textContent = text;
  parent?.append(node);
  return node;
}

// Round steps for about `count` grid lines between two values.
function ticks(low, high, count) {
  const raw = (high - low) / count, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((s) => s >= raw);
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(6)));
}

export class Chart {
  constructor(parent, { title, text, unit, fromZero, least, pick }) {
    const box = document.createElement("div");
    box.className = "curve";
    box.append(Object.assign(document.createElement("h3"), { textContent: title }));
    this.caption = box.appendChild(Object.assign(document.createElement("p"), { textContent: text }));
    this.legend = box.appendChild(Object.assign(document.createElement("div"), { className: "legend" }));
    this.svg = element("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title }, box);
    Object.assign(this, { title, unit, fromZero, least });
    this.svg.addEventListener("pointerdown", (event) => {
      const box = this.svg.getBoundingClientRect();
      const x = ((event.clientX - box.left) / box.width) * WIDTH;
      pick(Math.round(Math.min(90, Math.max(0, ((x - LEFT) / (WIDTH - LEFT - RIGHT)) * 90))));
    });
    parent.append(box);
  }

  // `lines`: [{ kind, name, points: [[angle, value]] }]; `angle` is marked, folded into 0..90.
  draw(lines, angle) {
    const values = lines.flatMap((line) => line.points.map((point) => point[1])).filter(Number.isFinite);
    this.svg.replaceChildren();
    if (values.length === 0) return;
    let low = this.fromZero ? 0 : Math.min(...values), high = Math.max(...values);
    const missing = this.least - (high - low);
    if (missing > 0) { high += this.fromZero ? missing : missing / 2; low -= this.fromZero ? 0 : missing / 2; }
    const pad = (high - low) * 0.08;
    high += pad;
    if (!this.fromZero) low -= pad;
    const x = (a) => LEFT + (a / 90) * (WIDTH - LEFT - RIGHT);
    const y = (v) => TOP + (1 - (v - low) / (high - low)) * (HEIGHT - TOP - BOTTOM);

    for (const v of ticks(low, high, 4)) {
      element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(v), y2: y(v) }, this.svg);
      element("text", { x: LEFT - 8, y: y(v) + 4, "text-anchor": "end" }, this.svg, String(v));
    }
    for (const a of [0, 15, 30, 45, 60, 75, 90])
      element("text", { x: x(a), y: HEIGHT - 8, "text-anchor": "middle" }, this.svg, `${a}°`);
    const folded = fold(angle);
    element("line", { class: "now", x1: x(folded), x2: x(folded), y1: TOP, y2: HEIGHT - BOTTOM }, this.svg);

    for (const { kind, points } of lines) {
      const shown = points.filter((point) => Number.isFinite(point[1])).sort((a, b) => a[0] - b[0]);
      const path = shown.map(([a, v], k) => `${k ? "L" : "M"}${x(a).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      element("path", { class: kind, d: path }, this.svg);
      const here = shown.find(([a]) => Math.abs(a - folded) < 0.05);
      if (here) element("circle", { class: kind, cx: x(here[0]), cy: y(here[1]), r: 4.5 }, this.svg);
    }
    this.legend.replaceChildren(...lines.map(({ kind, name }) => Object.assign(document.createElement("span"), { className: kind, textContent: name })));
    this.svg.setAttribute("aria-label", this.describe(lines));
  }

  describe(lines) {
    const parts = lines.filter((line) => line.points.length).map(({ name, points }) => {
      const values = points.map((point) => point[1]).filter(Number.isFinite);
      return `${name} from ${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} ${this.unit}`;
    });
    return `${this.title}, over angles from 0 to 90 degrees: ${parts.join("; ")}.`;
  }
}

// Angles that differ by a quarter turn show the same picture to a square grid.
export function fold(angle) {
  return ((angle % 90) + 90) % 90 || (angle !== 0 && angle % 90 === 0 && Math.abs(angle) === 90 ? 90 : 0);
}
