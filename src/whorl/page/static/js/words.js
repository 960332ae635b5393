// What the page says of each model, and where the drawn pictures start: the library's words, and those for networks.

import catalogue from "./catalogue.js";

const NETWORKS = {
  network: ["Denoising network",
    "Made of operators that turn with the picture, trained on photographs for any noise from 5 to 55: 27,000 numbers."],
  "small-network": ["Denoising network, small",
    "7,500 numbers, for grey pictures: twice as fast. Trained for one level of noise, to which the picture is scaled; colour goes channel by channel."],
};
// Networks come first, models that look at many scales next, the counter-example last.
const rank = (group) => (group.startsWith("Many") ? 0 : group.startsWith("The") ? 2 : 1);
const models = Object.entries(catalogue.models).sort(([, a], [, b]) => rank(a.group) - rank(b.group) || b.group.localeCompare(a.group));

// { name: { title, group, text } } in the order of the list.
export const WORDS = {
  ...Object.fromEntries(Object.entries(NETWORKS).map(([name, [title, text]]) => [name, { title, group: "Trained networks", text }])),
  ...Object.fromEntries(models.map(([name, { label, group, use }]) => [name, { title: label, group, text: use }])),
};

// Where a model starts whose settings do not follow from the noise.
export const START = {
  ...Object.fromEntries(Object.keys(NETWORKS).map((name) => [name, { level: 25 }])),
  ...Object.fromEntries(models.map(([name, { start }]) => [name, start])),
};
