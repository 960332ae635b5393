// What a visitor does, by mouse and by keyboard.

// What is shown belongs to what was asked for last: the filtered picture and both verdicts.
const ready = (page) => page.waitForFunction(() => {
  const [facts, code, verdicts] = ["#facts", "#python", "#verdicts"].map((selector) => document.querySelector(selector));
  return code.textContent && facts.dataset.of === code.textContent
    && verdicts.dataset.wanted && verdicts.dataset.wanted === verdicts.dataset.shown;
});

const text = (page, selector) => page.locator(selector).innerText();

// A file dropped onto the page; `content` is base64.
const drop = (page, file) => page.evaluate(({ name, content }) => {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0)), transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type: "image/png" }));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}, file);

// Red, green and blue of every pixel of a canvas.
const pixels = (page, id) => page.evaluate((id) => {
  const { width, height } = document.getElementById(id);
  const { data } = document.getElementById(id).getContext("2d").getImageData(0, 0, width, height);
  return { width, height, values: [...data].filter((_, i) => i % 4 !== 3) };
}, id);

export async function load(page, { address }, seen) {
  await page.goto(address);
  await ready(page);
  const requests = [...seen.requests];
  const outside = await page.evaluate(() => fetch("https://example.org/").then(() => "reached", () => "refused"));
  return { requests, outside, title: await page.title(), facts: await text(page, "#facts") };
}

export async function dropAndFilter(page, { address, content, model }) {
  await page.goto(address);
  await ready(page);
  await drop(page, { name: "photo.png", content });
  await page.waitForFunction(() => document.querySelector("#facts").innerText.includes("64 × 48"));
  await page.selectOption("#model", model);
  await page.fill("#contrast", "17.5");
  await page.fill("#time", "3");
  await ready(page);
  return { code: await text(page, "#python"), before: await pixels(page, "before"), after: await pixels(page, "after") };
}

// The smallest pictures there are, one after the other.
export async function dropTiny(page, { address, contents }) {
  await page.goto(address);
  await ready(page);
  const said = [];
  for (const { size, content } of contents) {
    await drop(page, { name: "tiny.png", content });
    await page.waitForFunction((size) => document.querySelector("#facts").innerText.includes(size), size);
    await ready(page);
    const errors = (await page.locator(".number").allInnerTexts()).map(Number);
    said.push({ errors, failure: await page.locator("#failure").isVisible(), after: await pixels(page, "after") });
  }
  return said;
}

export async function dropNotes(page, { address }) {
  await page.goto(address);
  await ready(page);
  await drop(page, { name: "notes.png", content: btoa("these are notes") });
  await page.waitForSelector("#failure:not([hidden])");
  await page.selectOption("#model", "gerig");
  await ready(page);
  return { failure: await text(page, "#failure"), code: await text(page, "#python") };
}

export async function turn(page, { address }) {
  await page.goto(`${address}#scene=rectangles&angle=0&time=5`);
  const knob = page.locator("#knob");
  const turned = async (wanted) => {
    await page.waitForFunction((part) => document.querySelector("#summary").innerText.includes(part), wanted);
    const errors = (await page.locator(".number").allInnerTexts()).map(Number);
    return { angle: await knob.getAttribute("aria-valuenow"), errors };
  };
  const start = await turned("Quarter turns");
  await knob.focus();
  for (const key of ["PageUp", "PageUp", "ArrowRight", "ArrowUp", "ArrowLeft"]) await page.keyboard.press(key);
  const keys = await turned("31°");

  const dial = page.locator("#dial");
  await dial.hover(); // waits until the dial stands still: late pictures above it push it down the page
  const grip = async (angle) => {
    const box = await dial.boundingBox(), a = (angle * Math.PI) / 180;
    await page.mouse.move(box.x + box.width / 2 + 100 * Math.cos(a), box.y + box.height / 2 - 100 * Math.sin(a));
  };
  await grip(0);
  await page.mouse.down();
  for (let angle = 0; angle <= 45; angle += 5) await grip(angle);
  await page.mouse.up();
  const mouse = await turned("45°");
  await page.click("[data-angle='90']");
  return { start, keys, mouse, quarter: await turned("Quarter turns"), text: await knob.getAttribute("aria-valuetext") };
}

export async function curves(page, { address }) {
  await page.goto(`${address}#scene=rectangles&time=8`);
  await page.waitForFunction(() => document.querySelector("#curves").dataset.complete);
  return page.evaluate(() => [...document.querySelectorAll(".curve svg")].map((svg) => svg.getAttribute("aria-label")));
}

export async function compareAndSave(page, { address }) {
  await page.goto(address);
  await ready(page);
  const split = () => page.locator("#divider").getAttribute("aria-valuenow").then(Number);
  await page.locator("#divider").focus();
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("PageUp");
  const keys = await split(), box = await page.locator("#frame").boundingBox();
  await page.mouse.click(box.x + box.width / 4, box.y + 40);
  const mouse = await split();
  await page.locator("input[value=difference]").press("Space");
  const visible = (id) => page.locator(id).isVisible();
  const shown = { difference: await visible("#difference"), before: await visible("#before") };
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  const parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return { keys, mouse, shown, name: download.suggestedFilename(), content: Buffer.concat(parts).toString("base64") };
}

export async function address(page, { address, fragment }) {
  await page.goto(address + fragment);
  await ready(page);
  const first = { hash: new URL(page.url()).hash, code: await text(page, "#python"), noise: await page.inputValue("#noise") };
  await page.locator("#gamma + input[type=range]").press("ArrowRight");
  const changed = await text(page, "#python");
  await page.goto(`${address}#model=nonsense&contrast=-1&angle=twelve`);
  await page.reload();
  await ready(page);
  return { first, changed, again: await text(page, "#python") };
}
