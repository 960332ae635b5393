// What a visitor does, by mouse and by keyboard.

// What is shown belongs to what was asked for last: the picture and, where the mode has them, both verdicts.
export const ready = (page) => page.waitForFunction(() => {
  const [facts, verdicts] = ["#facts", "#verdicts"].map((selector) => document.querySelector(selector));
  const compared = document.querySelector(".proof").hidden || (verdicts.dataset.wanted && verdicts.dataset.wanted === verdicts.dataset.shown);
  return facts.dataset.wanted && facts.dataset.of === facts.dataset.wanted && compared;
});

export const text = (page, selector) => page.locator(selector).innerText();

// A file dropped onto the page; `content` is base64.
const drop = (page, file) => page.evaluate(({ name, content }) => {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0)), transfer = new DataTransfer();
  transfer.items.add(new File([bytes], name, { type: "image/png" }));
  for (const kind of ["dragenter", "dragover", "drop"])
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
}, file);

// Red, green and blue of every pixel of a canvas; a function of the page.
function readCanvas(id) {
  const { width, height } = document.getElementById(id);
  const { data } = document.getElementById(id).getContext("2d").getImageData(0, 0, width, height);
  return { width, height, values: [...data].filter((_, i) => i % 4 !== 3) };
}

export const pixels = (page, id) => page.evaluate(readCanvas, id);

export async function load(page, { address }, seen) {
  await page.goto(address);
  await ready(page);
  const requests = [...seen.requests];
  const outside = await page.evaluate(() => fetch("https://example.org/").then(() => "reached", () => "refused"));
  return { requests, outside, title: await page.title(), facts: await text(page, "#facts") };
}

// The page with a picture of 64 × 48 pixels dropped onto it.
export async function openPhoto(page, address, content) {
  await page.goto(address);
  await ready(page);
  await drop(page, { name: "photo.png", content });
  await page.waitForFunction(() => document.querySelector("#facts").innerText.includes("64 × 48"));
  await ready(page);
}

export async function dropAndFilter(page, { address, content, model }) {
  await openPhoto(page, address, content);
  await page.selectOption("#model", model);
  await ready(page);
  await page.fill("#contrast", "17.5");
  await page.fill("#time", "3");
  await ready(page);
  return { code: await text(page, "#python"), before: await pixels(page, "before"), after: await pixels(page, "after") };
}

// A network on a picture of one's own: with the noise the page measured, then with another.
export async function dropAndDenoise(page, { address, content, model, level }) {
  await openPhoto(page, address, content);
  await page.selectOption("#model", model);
  await ready(page);
  const measured = Number(await page.inputValue("#level"));
  await page.fill("#level", String(level));
  await ready(page);
  const shown = { code: await text(page, "#python"), facts: await text(page, "#facts"), after: await pixels(page, "after") };
  return { measured, ...shown, errors: (await page.locator(".number").allInnerTexts()).map(Number) };
}

// A slider of a model that takes long: first a part of the picture, then all of it.
export async function moveSlowly(page, { address }) {
  await page.goto(`${address}#scene=whorl&model=ced&time=300`);
  await ready(page);
  const before = await pixels(page, "after");
  // Read in the moment in which the draft is there: soon the whole picture takes its place.
  await page.evaluate((source) => {
    const facts = document.querySelector("#facts"), read = new Function(`return ${source}`)();
    window.caught = new Promise((resolve) => {
      const watch = new MutationObserver(() => {
        if (facts.dataset.draft !== facts.dataset.wanted) return;
        watch.disconnect();
        resolve({ draft: read("after"), said: facts.innerText });
      });
      watch.observe(facts, { attributes: true });
    });
  }, readCanvas.toString());
  await page.locator("#contrast + input[type=range]").press("PageUp");
  const { draft, said } = await page.evaluate(() => window.caught);
  await ready(page);
  return { before, draft, said, after: await pixels(page, "after"), code: await text(page, "#python"), input: await pixels(page, "before") };
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
  await page.goto(`${address}#scene=rectangles&model=eed&angle=0&time=5`);
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
  await page.goto(`${address}#scene=rectangles&model=eed&time=8`);
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
  return { keys, mouse, shown, ...await downloaded(page, () => page.click("#save")) };
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

// The numbers a picture of one's own is given, and back to them after they were changed.
export async function automatic(page, { address, content, model }) {
  await page.goto(`${address}#contrast=77&time=33`);
  await ready(page);
  await drop(page, { name: "photo.png", content });
  await page.waitForFunction(() => document.querySelector("input[value=own]"));
  await ready(page);
  await page.selectOption("#model", model);
  await ready(page);
  const keys = ["contrast", "time", "sigma"];
  const numbers = async () => Object.fromEntries(await Promise.all(keys.map(async (key) => [key, Number(await page.inputValue(`#${key}`))])));
  const first = await numbers(), code = await text(page, "#python"), after = await pixels(page, "after");
  await page.fill("#contrast", "150");
  await page.fill("#time", "90");
  await ready(page);
  const changed = await numbers();
  await page.click("#reset");
  await ready(page);
  return { first, code, after, changed, reset: await numbers() };
}

// Links followed in the open tab, steps back, and the link that skips to the picture.
export async function links(page, { address, first, second }) {
  const look = async () => ({
    hash: new URL(page.url()).hash, code: await text(page, "#python"),
    mode: await page.locator("input[name=mode]:checked").inputValue(), show: await page.locator("input[name=show]:checked").inputValue(),
  });
  const follow = async (act, wanted) => {
    await act();
    await page.waitForFunction((part) => document.querySelector("#python").textContent.includes(part), wanted);
    await ready(page);
    return look();
  };
  const opened = await follow(() => page.goto(address + first), "contrast=7");
  const followed = await follow(() => page.evaluate((hash) => { location.hash = hash; }, second), "homogeneous");
  const back = await follow(() => page.goBack(), "contrast=7");
  const changed = await follow(async () => { await page.fill("#contrast", "11"); await page.fill("#contrast", "12"); }, "contrast=12");
  const undone = await follow(() => page.goBack(), "contrast=7");
  await page.locator("input[value=difference]").press("Space");
  const difference = await look();
  await page.locator("#skip").focus();
  await page.keyboard.press("Enter");
  const skipped = [new URL(page.url()).hash, await page.evaluate(() => document.activeElement.id)];
  return { opened, followed, back, changed, undone, difference, skipped };
}

// What is said of noise beside a drawn picture and beside one's own, and how noise of photons is spread.
export async function noises(page, { address, content }) {
  const look = async () => ({
    label: (await text(page, "label[for=noise]").catch(() => "")).trim(), slider: await page.locator("#noise").isVisible(), measured: await page.locator("#measured").textContent(),
  });
  await page.goto(`${address}#scene=bars&model=perona-malik&noise=20`);
  await ready(page);
  const drawn = await look();
  await page.selectOption("#grain", "photons");
  await ready(page);
  const photons = await page.evaluate(() => {
    const { data, width } = document.querySelector("#before").getContext("2d").getImageData(0, 0, 256, 256), spread = (x0, x1, y0, y1) => {
      const all = [];
      for (let y = y0; y < y1; ++y) for (let x = x0; x < x1; ++x) all.push(data[4 * (y * width + x)]);
      const mean = all.reduce((a, b) => a + b) / all.length;
      return Math.sqrt(all.reduce((sum, v) => sum + (v - mean) ** 2, 0) / all.length);
    };
    // The dark ring around the disc, and the disc.
    return { dark: spread(178, 183, 118, 138), bright: spread(110, 146, 110, 146) };
  });
  await openPhoto(page, address, content);
  await page.waitForFunction(() => document.querySelector("#measured").textContent);
  return [drawn, await look(), photons];
}

const file = (content, name = "mask.png") => ({ name, mimeType: "image/png", buffer: Buffer.from(content, "base64") });

async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]), parts = [];
  for await (const part of await download.createReadStream()) parts.push(part);
  return { name: download.suggestedFilename(), content: Buffer.concat(parts).toString("base64") };
}

export async function masks(page, { address, content, mask, wrong }) {
  await openPhoto(page, address, content);
  await page.locator("input[value=fill]").press("Space");
  await ready(page);
  await page.setInputFiles("#load-mask", file(mask));
  await page.waitForFunction(() => /Filled in\s+[1-9]/.test(document.querySelector("#facts").innerText));
  await ready(page);
  const facts = await text(page, "#facts"), { content: saved } = await downloaded(page, () => page.click("#save-mask"));
  await page.setInputFiles("#load-mask", file(wrong));
  await page.waitForSelector("#failure:not([hidden])");
  return { facts, saved, failure: await text(page, "#failure") };
}

export async function refusedAndCancelled(page, { address }) {
  await page.addInitScript(() => { navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError")); });
  await page.goto(`${address}#scene=whorl&model=ced&time=400&contrast=3&rho=10`);
  await page.click("#copy");
  await page.waitForSelector("#failure:not([hidden])");
  const failure = await text(page, "#failure");
  await page.waitForSelector("#cancel:not([hidden])");
  await page.click("#cancel");
  const facts = await text(page, "#facts"), busy = await page.locator("#busy").isVisible();
  await page.selectOption("#model", "perona-malik");
  await ready(page);
  return { failure, facts, busy, after: await text(page, "#facts") };
}

export async function zoom(page, { address }) {
  await page.goto(address);
  await ready(page);
  const look = () => page.evaluate(() => {
    const frame = document.querySelector("#frame").getBoundingClientRect(), box = document.querySelector("#after").getBoundingClientRect();
    return { scale: box.width / frame.width, left: (box.left - frame.left) / frame.width, split: document.querySelector("#divider").ariaValueNow };
  });
  const start = await look();
  await page.click("#zoom-in");
  await page.click("#zoom-in");
  const buttons = await look(), box = await page.locator("#frame").boundingBox();
  await page.mouse.move(box.x + box.width * 0.2, box.y + box.height * 0.8);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height * 0.8, { steps: 3 });
  await page.mouse.up();
  const dragged = await look();
  await page.locator("#divider").press("0");
  const whole = await look();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 4);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -300);
  await page.keyboard.up("Control");
  await page.waitForFunction(() => document.querySelector("#zoom-whole").textContent !== "1×");
  return { start, buttons, dragged, whole, wheel: await look() };
}

// Opened from the disk, without a server.
export async function asFile(page, { path }) {
  await page.goto(path);
  await page.waitForSelector("#failure:not([hidden])");
  return text(page, "#failure");
}

// Where the picture is when the last slider of the panel is in reach.
export async function scrolled(page, { address }) {
  await page.goto(address);
  await ready(page);
  await page.evaluate(() => document.querySelector("#sigma + input").scrollIntoView({ block: "end", behavior: "instant" }));
  return page.evaluate(() => {
    const edges = (selector) => { const box = document.querySelector(selector).getBoundingClientRect(); return [box.top, box.bottom]; };
    return { frame: edges("#frame"), slider: edges("#sigma + input"), window: innerHeight };
  });
}

// Paint over a part of a picture by mouse and by keyboard, and take it back.
export async function paintOver(page, { address, content }) {
  await openPhoto(page, address, content);
  await page.locator("input[value=fill]").press("Space");
  await ready(page);
  const untouched = await pixels(page, "after");
  await page.fill("#brush-size input[type=number]", "4");
  const box = await page.locator("#frame").boundingBox(), at = (x, y) => [box.x + box.width * x, box.y + box.height * y];
  await page.mouse.move(...at(0.2, 0.3));
  await page.mouse.down();
  await page.mouse.move(...at(0.8, 0.3), { steps: 6 });
  await page.mouse.up();
  await ready(page);
  const mask = await page.evaluate(() => {
    const canvas = document.querySelector("#mask");
    return [...canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data].filter((_, i) => i % 4 === 3).map(Boolean);
  });
  const filled = await pixels(page, "after"), facts = await text(page, "#facts");
  await page.locator("#frame").press("ArrowRight");
  await page.keyboard.press("Space");
  await ready(page);
  const keyed = await text(page, "#facts");
  await page.click("#unpaint");
  await page.click("#unpaint");
  await ready(page);
  return { untouched, mask, filled, facts, keyed, undone: await pixels(page, "after") };
}

// A choice while a long computation is under way: the answer to it comes without that one's end.
export async function overtake(page, { address }) {
  await page.goto(`${address}#scene=whorl&model=ced&time=400`);
  await page.waitForFunction(() => document.querySelector("#facts").dataset.wanted?.startsWith("["));
  await page.selectOption("#model", "perona-malik");
  await ready(page);
  return { code: await text(page, "#python"), facts: await text(page, "#facts"), failure: await page.locator("#failure").isVisible() };
}

// A large picture from the disk: its part is shown, another part is looked at, and all of it is saved to the disk.
export async function largePicture(page, { address, path, target, model, size }) {
  await page.goto(address);
  await ready(page);
  await page.setInputFiles("#file", path);
  await page.waitForFunction((size) => document.querySelector("#facts").innerText.includes(size) || !document.querySelector("#cancel").hidden, size);
  await page.selectOption("#model", model);
  await page.waitForFunction(({ size, model }) => document.querySelector("#facts").innerText.includes(size) && document.querySelector("#python").textContent.includes(model), { size, model });
  await ready(page);
  const code = await text(page, "#python"), facts = await text(page, "#facts"), measured = await page.locator("#measured").textContent();
  const middle = await pixels(page, "before");
  await page.click("[data-part='1 0']");
  await ready(page);
  const right = await pixels(page, "before"), same = (await text(page, "#python")) === code;
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  await download.saveAs(target);
  return { code, facts, measured, middle, right, same };
}

// TIFF files, read and written again by the page's own functions, with what was said of those it cannot read; then one is opened,
// filtered and saved as a visitor does.
export async function tiffs(page, { address, contents, path, target, model }) {
  await page.goto(address);
  await ready(page);
  const again = await page.evaluate(async (contents) => {
    const { readPicture, writerOf } = await import(new URL("js/files.js", location));
    const one = async (content) => {
      const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
      const picture = await readPicture(new File([bytes], "in.tif")), { height, width } = picture, writer = await writerOf(picture);
      const rows = Math.ceil(height / 3), band = (top) => ({ top, left: 0, width, height: Math.min(rows, height - top) });
      for (let top = 0; top < height; top += rows) await writer.rows(picture.read(band(top)), [0, band(top).height]);
      return btoa(String.fromCharCode(...new Uint8Array(await (await writer.blob()).arrayBuffer())));
    };
    const answers = [];
    for (const content of contents) answers.push(await one(content).catch((error) => error.message));
    return answers;
  }, contents);
  await page.setInputFiles("#file", path);
  await page.waitForFunction(() => document.querySelector("#facts").innerText.includes("64 × 48"));
  await page.selectOption("#model", model);
  await ready(page);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#save")]);
  await download.saveAs(target);
  return { again, code: await text(page, "#python"), facts: await text(page, "#facts"), name: download.suggestedFilename() };
}

// A colour picture, and a grey one while the curves of the first are still being drawn.
export async function colourThenGrey(page, { address, colour, grey }) {
  await openPhoto(page, address, colour);
  await drop(page, { name: "grey.png", content: grey });
  await page.waitForFunction(() => document.querySelector("#facts").innerText.includes("1030 × 260"));
  await ready(page);
  await page.waitForFunction(() => document.querySelector("#curves").dataset.complete);
  return { failure: await page.locator("#failure").isVisible(), facts: await text(page, "#facts") };
}
