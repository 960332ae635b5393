// The state of the page in its address (after #), so that a link shows what its sender saw.

import { PARAMETERS } from "./controls.js";

const WORDS = ["scene", "model", "diffusivity", "mode", "compute"];

export function readAddress(known) {
  const found = {};
  for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
    if (WORDS.includes(key) && known[key].includes(text)) found[key] = text;
    const range = PARAMETERS[key] ?? (key === "angle" ? { low: -180, high: 180 } : null);
    const value = Number(text);
    if (range && text.trim() !== "" && value >= range.low && value <= range.high) found[key] = value;
  }
  return found;
}

export function writeAddress(values) {
  history.replaceState(null, "", `#${new URLSearchParams(values)}`);
}
