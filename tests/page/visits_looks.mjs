// Visits that look: screenshots, colours, names of controls, the way of the Tab key.

import { openPhoto, ready } from "./visits_use.mjs";

export async function screenshot(page, { address, fragment, part, complete }) {
  await page.goto(address + fragment);
  await ready(page);
  if (complete) await page.waitForFunction(() => document.querySelector("#curves").dataset.complete);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  const show = (selector) => document.querySelector(selector).scrollIntoView({ behavior: "instant" });
  if (part) await page.evaluate(show, part);
  return { overflow, content: (await page.screenshot()).toString("base64") };
}

// Every visible text with its colour and the colour behind it.
export async function colours(page, { address }) {
  await page.goto(address);
  return page.evaluate(() => {
    const rgb = (text) => text.match(/[\d.]+/g).map(Number);
    const behind = (node) => {
      for (let at = node; at; at = at.parentElement) {
        const colour = rgb(getComputedStyle(at).backgroundColor);
        if (colour.length === 3 || colour[3] > 0.5) return colour.slice(0, 3);
      }
    };
    const kinds = "h1, h2, h3, p, legend, label, button, select, dt, dd, code, figcaption, text, .tag";
    const all = [...document.querySelectorAll(kinds)].filter((node) => node.getClientRects().length);
    return all.map((node) => {
      const style = getComputedStyle(node), front = node instanceof SVGElement ? style.fill : style.color;
      return [node.outerHTML.slice(0, 60), rgb(front).slice(0, 3), behind(node)];
    });
  });
}

// The controls with their names, and those among them that Tab reaches with a visible outline.
export async function controls(page, { address }) {
  await page.goto(address);
  await page.waitForFunction(() => document.querySelector("#facts dd"));
  const all = await page.evaluate(() => {
    const nodes = [...document.querySelectorAll("input, select, button, [role=slider]")];
    return nodes.filter((node) => node.getClientRects().length).map((node, k) => {
      node.dataset.at = k;
      const labels = [...(node.labels ?? [])].map((label) => label.innerText).join("");
      const name = node.getAttribute("aria-label") || labels || node.innerText;
      return { name: name.trim(), html: node.outerHTML.slice(0, 80), aside: node.type === "radio" && !node.checked };
    });
  });
  const reached = new Set();
  for (let k = 0; k < all.length + 12; ++k) {
    await page.keyboard.press("Tab");
    const { at, outlined } = await page.evaluate(() => {
      const node = document.activeElement, around = node.parentElement;
      const parts = [node, around, ...around.querySelectorAll("*")];
      const outlined = parts.some((part) => getComputedStyle(part).outlineStyle === "solid");
      return { at: node.dataset.at ?? null, outlined };
    });
    if (at !== null && outlined) reached.add(Number(at));
  }
  return { all, reached: [...reached] };
}

export async function theme(page, { address }) {
  await page.goto(address);
  const shade = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const system = await shade();
  await page.click("#theme");
  const chosen = await shade();
  await page.reload();
  return [system, chosen, await shade()];
}

// What axe-core finds, in every mode of the page and on its help.
export async function accessibility(page, { address, axe, content }) {
  const found = [];
  const look = async (where) => {
    await page.addScriptTag({ content: axe });
    const { violations } = await page.evaluate(() => window.axe.run());
    found.push(...violations.map(({ id, nodes }) => `${where}: ${id}: ${nodes.map((node) => node.html.slice(0, 100)).join(" | ")}`));
  };
  await page.goto(address);
  await ready(page);
  await look("filter");
  await openPhoto(page, address, content);
  await look("own picture");
  await page.locator("input[value=difference]").press("Space");
  await look("difference");
  await page.locator("input[value=fill]").press("Space");
  await ready(page);
  await look("fill");
  await page.goto(`${address}help.html`);
  await page.waitForSelector("#models dd");
  await look("help");
  return found;
}
