// Runs a real Chromium for the tests: one JSON line { visit, argument, options, graphics } in, one JSON line out.
// A visit is a function (page, argument, seen) of the files beside; `seen` collects what the page asked for and said.
// The answer is { value, seen }, { error } where the visit failed, or { crash } where the browser itself ended.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import * as card from "./visits_graphics.mjs";
import * as looks from "./visits_looks.mjs";
import * as numbers from "./visits_numbers.mjs";
import * as use from "./visits_use.mjs";

const visits = { ...card, ...looks, ...numbers, ...use };

const [packages, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(packages)("playwright-core");
// The browser of all visits has no graphics card. One that asks for `graphics` gets a browser of its own, with a card that is a
// program (SwiftShader); left to itself it would write out the clearing of shared memory number by number, which takes long.
const GRAPHICS = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader",
  "--disable-dawn-features=use_vulkan_zero_initialize_workgroup_memory_extension"];
const WITHOUT = "No available adapters."; // what Chromium says by itself to a page that asks for a graphics card
const launch = (more = []) => chromium.launch({
  executablePath,
  args: [...more, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"],
});
let browser = await launch();

async function answer({ visit, argument, options, graphics }) {
  // Reduced motion: with smooth scrolling a box moves on while one aims at where it was.
  const calm = { viewport: { width: 1280, height: 900 }, acceptDownloads: true, reducedMotion: "reduce" };
  const seen = { requests: [], failures: [], messages: [] };
  let context, own, crashed = false;
  try {
    if (!browser.isConnected()) browser = await launch();
    if (graphics) own = await launch(GRAPHICS);
    context = await (own ?? browser).newContext({ ...calm, ...options });
    const page = await context.newPage();
    page.on("crash", () => { crashed = true; });
    page.setDefaultTimeout(600000); // a busy machine is no reason to fail
    page.on("request", (request) => seen.requests.push(request.url()));
    page.on("response", (response) => { if (response.status() >= 400) seen.failures.push(`${response.status()} ${response.url()}`); });
    page.on("requestfailed", (request) => { // a visitor who leaves aborts what is still loading: that is no failure
      if (request.failure()?.errorText !== "net::ERR_ABORTED") seen.failures.push(request.url());
    });
    page.on("console", (message) => { if (message.text() !== WITHOUT) seen.messages.push(message.text()); });
    page.on("pageerror", (error) => seen.messages.push(String(error)));
    return { value: await visits[visit](page, argument, seen), seen };
  } catch (error) {
    const words = `${error.stack ?? error}\n${JSON.stringify(seen)}`;
    return crashed || !(own ?? browser).isConnected() ? { crash: words } : { error: words };
  } finally {
    await context?.close().catch(() => {}); // nothing is left to close where the browser has ended
    await own?.close().catch(() => {});
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);
}
await browser.close();
