// The parameters of the panel: each a label, a slider and a number, kept in step.

// Logarithmic scales give small values the same room as large ones. `least` is what may be typed below the slider's end.
export const PARAMETERS = {
  noise: { label: "Add noise", symbol: "", low: 0, high: 100, step: 1, digits: 0, tip: "Standard deviation of the noise that is added to the drawn picture, in grey levels." },
  level: { label: "Noise to remove", symbol: "", low: 0.5, least: 0, high: 100, log: true, digits: 3, tip: "Standard deviation of the noise that the network expects, in grey levels." },
  contrast: { label: "Edge contrast", symbol: "λ", low: 0.5, least: 0.001, high: 200, log: true, digits: 3, tip: "Steps of brightness that are stronger than this are kept as edges; weaker ones are smoothed." },
  time: { label: "Smoothing time", symbol: "t", low: 0.1, least: 0, high: 400, log: true, digits: 3, tip: "How long the picture is smoothed: the longer, the more is removed." },
  alpha: { label: "Detail weight", symbol: "α", low: 0, high: 0.5, step: 0.01, digits: 2, tip: "How fast the finest checkerboard pattern is smoothed: 0 most, 0.5 not at all." },
  gamma: { label: "Diagonal weight", symbol: "γ", low: 0, high: 1, step: 0.01, digits: 2, tip: "How much less fine patterns are smoothed where edges run diagonally." },
  brush: { label: "Width", symbol: "", low: 1, high: 100, log: true, digits: 2, tip: "Width of the brush in pixels." },
  rho: { label: "Line length", symbol: "ρ", low: 0, high: 10, step: 0.1, digits: 1, tip: "How far around a pixel the direction of a line is looked for, in pixels." },
  sigma: { label: "Presmoothing", symbol: "σ", low: 0, high: 5, step: 0.01, digits: 2, tip: "Edges are looked for in a picture blurred by this many pixels, so that noise is not taken for an edge." },
};

const POSITIONS = 400; // of a logarithmic slider

export function makeParameter(key, change) {
  const { label, symbol, low, least = low, high, step, log, digits, tip } = PARAMETERS[key];
  const row = document.createElement("div");
  row.className = "parameter";
  row.dataset.key = key;
  row.title = tip;
  row.innerHTML = `<label for="${key}">${label} <i>${symbol}</i></label>
    <input type="number" id="${key}" min="${least}" max="${high}" step="any" required title="${tip}">
    <input type="range" aria-label="${label}" title="${tip}" ${log ? `min="0" max="${POSITIONS}" step="1"` : `min="${low}" max="${high}" step="${step}"`}>`;
  const [number, range] = row.querySelectorAll("input");
  const round = (v) => (log ? Number(v.toPrecision(digits)) : Number(v.toFixed(digits)));
  const toValue = (p) => (log ? round(low * (high / low) ** (p / POSITIONS)) : round(p));
  let current = low;
  const toPosition = (v) => (log ? (POSITIONS * Math.log(Math.max(v, low) / low)) / Math.log(high / low) : v);

  function show(value, typed) {
    current = value;
    if (!typed) number.value = String(round(value));
    range.value = String(toPosition(value));
    range.setAttribute("aria-valuetext", String(value));
    range.style.setProperty("--part", `${((range.value - range.min) / (range.max - range.min)) * 100}%`);
  }

  range.addEventListener("input", () => {
    const value = toValue(Number(range.value));
    show(value);
    change(key, value);
  });
  number.addEventListener("input", () => {
    if (!number.checkValidity()) return;
    show(Number(number.value), true);
    change(key, Number(number.value));
  });
  // A value out of range or no value at all goes back to what is in use.
  number.addEventListener("change", () => {
    if (!number.checkValidity()) show(current);
  });
  return { row, show, get value() { return current; } };
}

export function makeChoice(key, label, tip, options, change) {
  const row = document.createElement("div");
  row.className = "parameter wide";
  row.title = tip;
  row.dataset.key = key;
  row.innerHTML = `<label for="${key}">${label}</label><select id="${key}" title="${tip}"></select>`;
  const select = row.querySelector("select");
  select.append(...options.map(([value, text]) => new Option(text, value)));
  select.addEventListener("change", () => change(key, select.value));
  return {
    row,
    show: (value) => { select.value = value; },
    offer: (values) => { for (const option of select.options) option.hidden = option.disabled = !values.includes(option.value); },
  };
}
