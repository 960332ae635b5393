// The same in node, whose `fetch` takes no files.

import { readFile } from "node:fs/promises";
import { readBy } from "./build/js/fetched.js";

readBy(async (url) => new Uint8Array(await readFile(url)).buffer);

export * from "./index.js";
