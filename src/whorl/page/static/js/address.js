// The state of the page in its address (after #), so that a link shows what its sender saw, and Back undoes.

import { PARAMETERS } from "./controls.js";

// `known` has the words that may stand for each choice; what is unknown or out of range is left out.
export function readAddress(known) {
  const found = {};
  for (const [key, text] of new URLSearchParams(location.hash.slice(1))) {
    if (known[key]?.includes(text)) found[key] = text;
    const range = PARAMETERS[key] ?? (key === "angle" ? { low: -180, high: 180 } : null);
    const value = Number(text);
    if (range && text.trim() !== "" && value >= (range.least ?? range.low) && value <= range.high) found[key] = value;
  }
  return found;
}

let last = null;

// Several changes of the same `subject` in a row, as by a slider that moves, are one entry in the history of the tab; without
// a subject there is none.
export function writeAddress(values, subject = null) {
  const hash = `#${new URLSearchParams(values)}`;
  if (hash === location.hash) return;
  if (subject && subject !== last) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  last = subject;
}
