// The parameters of the panel: each a label, a slider and a number, kept in step.

// Logarithmic scales give small values the same room as large ones.
export const PARAMETERS = {
  noise: { label: "Noise", symbol: "σₙ", low: 0, high: 100, step: 1, digits: 0 },
  level: { label: "Noise to remove", symbol: "σ", low: 0.5, high: 100, log: true, digits: 3 },
  contrast: { label: "Contrast", symbol: "λ", low: 0.5, high: 200, log: true, digits: 3 },
  time: { label: "Time", symbol: "t", low: 0.1, high: 400, log: true, digits: 3 },
  alpha: { label: "Stencil", symbol: "α", low: 0, high: 0.5, step: 0.01, digits: 2 },
  gamma: { label: "Stencil", symbol: "γ", low: 0, high: 1, step: 0.01, digits: 2 },
  brush: { label: "Width", symbol: "", low: 1, high: 100, log: true, digits: 2 },
  rho: { label: "Tensor smoothing", symbol: "ρ", low: 0, high: 10, step: 0.1, digits: 1 },
  sigma: { label: "Presmoothing", symbol: "σ", low: 0, high: 5, step: 0.1, digits: 1 },
};

const POSITIONS = 400; // of a logarithmic slider

export function makeParameter(key, change) {
  const { label, symbol, low, high, step, log, digits } = PARAMETERS[key];
  const row = document.createElement("div");
  row.className = "parameter";
  row.dataset.key = key;
  row.innerHTML = `<label for="${key}">${label} <i>${symbol}</i></label>
    <input type="number" id="${key}" min="${low}" max="${high}" step="any" required>
    <input type="range" aria-label="${label}" ${log ? `min="0" max="${POSITIONS}" step="1"` : `min="${low}" max="${high}" step="${step}"`}>`;
  const [number, range] = row.querySelectorAll("input");
  const round = (v) => (log ? Number(v.toPrecision(digits)) : Number(v.toFixed(digits)));
  const toValue = (p) => (log ? round(low * (high / low) ** (p / POSITIONS)) : round(p));
  let current = low;
  const toPosition = (v) => (log ? (POSITIONS * Math.log(v / low)) / Math.log(high / low) : v);

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

export function makeChoice(key, label, options, change) {
  const row = document.createElement("div");
  row.className = "parameter wide";
  row.dataset.key = key;
  row.innerHTML = `<label for="${key}">${label}</label><select id="${key}"></select>`;
  const select = row.querySelector("select");
  select.append(...options.map(([value, text]) => new Option(text, value)));
  select.addEventListener("change", () => change(key, select.value));
  return {
    row,
    show: (value) => { select.value = value; },
    offer: (values) => { for (const option of select.options) option.hidden = option.disabled = !values.includes(option.value); },
  };
}
