// The help: what stands beside the controls, as a page to read.

import { PARAMETERS } from "./controls.js";
import { WORDS } from "./words.js";

function list(id, entries) {
  for (const [name, text] of entries) {
    const [title, words] = ["dt", "dd"].map((tag) => document.createElement(tag));
    [title.textContent, words.textContent] = [name, text];
    document.getElementById(id).append(title, words);
  }
}

list("settings", Object.values(PARAMETERS).map(({ label, symbol, tip }) => [symbol ? `${label} (${symbol})` : label, tip]));
list("models", Object.values(WORDS).map(({ title, text }) => [title, text]));
