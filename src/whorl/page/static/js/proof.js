// The proof: two models, both ways round, and what they do over the angle.

import { Chart, fold } from "./chart.js";
import { discMask } from "./measures.js";
import { isDark, paint, paintDifference } from "./paint.js";
import { latest } from "./pool.js";

const GAIN = 8; // differences are shown eight times as strong
const STEP = 5, NETWORK_STEP = 15; // degrees between the points of the curves; networks take their time
const SHORT = 40, LONG = 120; // milliseconds of rest before both ways are compared, and before the curves are drawn

const VIEWS = [
  ["output", "filter the turned"],
  ["turned", "turn the filtered"],
  ["difference", `difference × ${GAIN}`],
];

export class Proof {
  // `setup()` gives { noise, sides: [{ kind, name, plan }], text }, the coupled model first; `complain` shows an error.
  constructor(pool, setup, pick, complain) {
    Object.assign(this, { pool, setup, complain, angle: 0, round: 0, points: {}, stale: true, timers: [] });
    this.turn = latest(() => this.show());
    const parent = document.getElementById("curves");
    this.charts = {
      psnr: new Chart(parent, { title: "Quality over the angle", text: "", unit: "dB", fromZero: false, least: 0.6, pick }),
      error: new Chart(parent, {
        title: "Rotation error over the angle", unit: "grey levels", fromZero: true, least: 1, pick,
        text: "Root mean square of the difference in the disc, in grey levels.",
      }),
    };
    this.verdicts = document.getElementById("verdicts");
    this.rows = ["coupled", "uncoupled"].map(makeRow);
    this.verdicts.append(...this.rows);
    addEventListener("themechange", () => this.paint());
  }

  // Stop what is under way: the workers are needed for something else.
  pause() {
    this.pool.drop("proof");
    this.verdicts.dataset.wanted = String(++this.round);
    for (const timer of this.timers) clearTimeout(timer);
  }

  // Everything anew: another picture, another noise, another model. What is shown stays until its successor is there, and
  // a hand that goes on moving a slider is not made to wait for it.
  restart() {
    this.pause();
    this.stale = true;
    const round = this.round;
    this.timers = [
      setTimeout(() => this.turn().catch(this.complain), SHORT),
      setTimeout(() => this.sweep(round).catch(this.complain), LONG),
    ];
  }

  setAngle(angle) {
    this.angle = angle;
    this.drawCurves();
    this.turn().catch(this.complain);
  }

  // Both models at the angle of the handle.
  async show() {
    const { noise, sides } = this.setup(), angle = this.angle, round = this.round;
    const answers = await Promise.all(sides.map(({ plan }, k) => this.pool.ask("turn", { angle, noise, plan, images: true, floor: k === 0 }, { group: "proof" })));
    if (round !== this.round) return;
    this.answers = answers;
    sides.forEach(({ name }, k) => { this.rows[k].querySelector("h3").textContent = name; });
    this.paint();
    this.verdicts.dataset.shown = String(round);
    answers.forEach((answer, k) => this.collect(sides[k].kind, fold(angle), answer));
    this.drawCurves();
  }

  paint() {
    if (!this.answers) return;
    const size = this.answers[0].size, mask = discMask(size, 0);
    paint(document.getElementById("turned-input"), this.answers[0].input, size, size, mask);
    this.answers.forEach(({ output, turned, error }, k) => {
      const canvas = (view) => this.rows[k].querySelector(`[data-view=${view}]`);
      paint(canvas("output"), output, size, size, mask);
      paint(canvas("turned"), turned, size, size, mask);
      paintDifference(canvas("difference"), output, turned, size, size, GAIN, isDark(), mask);
      this.rows[k].querySelector(".number").textContent = error.toFixed(2);
    });
    this.summarise();
  }

  // One sentence for the two numbers.
  summarise() {
    const [coupled, uncoupled] = this.answers, box = document.getElementById("summary");
    if (coupled.angle % 90 === 0) {
      box.textContent = "Quarter turns map the pixel grid onto itself: every filter here passes. Turn it to any other angle.";
      return;
    }
    if (uncoupled.error < 0.005) {
      box.textContent = "Neither filter misses anything here: the picture is too plain to show a direction.";
      return;
    }
    const times = uncoupled.error / coupled.error, angle = `At ${Math.abs(coupled.angle)}°`;
    if (times >= 1.5)
      box.innerHTML = `${angle} the uncoupled filter misses its turned result by <strong>${times.toFixed(1)} times</strong> as much.`;
    else if (this.setup().sides[0].plan.network)
      box.textContent = `${angle} both miss by a similar amount.`;
    else
      box.textContent = `${angle} both miss by a similar amount: where a filter sharpens noise into steps, they fall differently `
        + "on every grid. A presmoothed or multiscale model, or the Charbonnier diffusivity, keeps clear of that.";
  }

  // The curves, a few angles at a time, coarse ones first.
  async sweep(round) {
    const { noise, sides } = this.setup(), step = sides[0].plan.network ? NETWORK_STEP : STEP;
    const angles = Array.from({ length: 90 / step + 1 }, (_, k) => k * step).sort((a, b) => (a % 15 ? 1 : 0) - (b % 15 ? 1 : 0) || a - b);
    // Every worker has its own angles, the same in every sweep: it still knows the picture as it looks there.
    await Promise.all(this.pool.workers.map(async (worker, number) => {
      for (const angle of angles.filter((_, k) => k % this.pool.workers.length === number))
        for (const [k, { kind, plan }] of sides.entries()) {
          if (round !== this.round) return;
          if (!this.stale && this.points[kind]?.has(angle)) continue; // the handle was there
          const answer = await this.pool.ask("turn", { angle, noise, plan, images: false, floor: k === 0 }, { worker, group: "proof" });
          if (round !== this.round) return;
          this.collect(kind, angle, answer);
          this.drawCurves();
        }
    }));
    if (round === this.round) document.getElementById("curves").dataset.complete = String(round);
  }

  collect(kind, angle, { psnr, error, floor }) {
    if (this.stale) this.points = {};
    this.stale = false;
    (this.points[kind] ??= new Map()).set(angle, { psnr, error, floor });
  }

  drawCurves() {
    const { sides, text } = this.setup();
    const line = (kind, name, key) => ({ kind, name, points: [...(this.points[kind] ?? [])].map(([a, v]) => [a, v[key]]) });
    const lines = (key) => sides.map(({ kind, name }) => line(kind, name, key));
    this.charts.psnr.caption.textContent = text;
    this.charts.psnr.draw(lines("psnr"), this.angle);
    const floor = { ...line(sides[0].kind, "resampling alone", "floor"), kind: "floor" };
    this.charts.error.draw([...lines("error"), floor], this.angle);
  }
}

function makeRow(kind) {
  const row = document.createElement("div");
  row.className = `verdict ${kind}`;
  row.innerHTML = `<div><h3></h3><p class="number">–</p><p class="unit">rotation error, grey levels</p></div>`
    + VIEWS.map(([key, text]) => `<figure><canvas data-view="${key}" role="img" aria-label="${kind}: ${text}"></canvas><figcaption>${text}</figcaption></figure>`).join("");
  return row;
}
