// One picture on several workers. Bands of a filter exchange rows between steps; those of a network have a halo as wide as
// all of it looks, so that every worker computes its rows exactly as if it had the whole picture. Channels that are not
// coupled are shared out as well.

import { filterByNeighbours, joined } from "./neighbours.js";

const SHRINKING = 0.6; // of a halo that share is computed, on average

// The rows [first, last) of every plane.
export const rowsOf = (planes, width, [first, last]) => planes.map((plane) => plane.subarray(first * width, last * width));

// The best division for so many workers: how many bands, counted in rows that the busiest worker computes.
export function bandCount(height, halo, channels, workers) {
  let best = 1, least = Infinity;
  for (let count = 1; count <= 2 * workers; ++count) {
    const rows = Math.min(height, Math.ceil(height / count) + (count > 2 ? 2 : 1) * SHRINKING * halo);
    const cost = Math.ceil((count * channels) / workers) * rows;
    if (cost < 0.95 * least) [best, least] = [count, cost]; // a band more must be worth its while
  }
  return best;
}

// The picture filtered by as many workers as it pays for: { planes, milliseconds, alone, card }; `alone` is how long it would
// have taken without bands, by a worker for each group of channels as far as there are so many, and `card` whether the
// graphics card did it.
export async function filterInBands(pool, { planes, height, width, plan }, { group = null, progress = () => {} } = {}) {
  if (!plan.network) return filterByNeighbours(pool, { planes, height, width, plan }, group);
  const start = performance.now(), workers = pool.workers.length;
  const shares = new Map(); // what each part has done
  let work = 0, byCard = true;
  const groups = plan.joint ? [planes] : planes.map((plane) => [plane]);
  const card = Boolean(plan.network) && await pool.graphics.open(); // it takes pictures as a whole
  const halo = plan.steps * plan.reach, count = card ? 1 : bandCount(height, halo, groups.length, workers);
  const parts = await Promise.all(groups.flatMap((channels) =>
    Array.from({ length: count }, async (_, k) => {
      const first = Math.floor((height * k) / count), last = Math.floor((height * (k + 1)) / count);
      const top = Math.max(0, first - halo), bottom = Math.min(height, last + halo);
      const cut = channels.map((plane) => (count === 1 ? plane : plane.slice(top * width, bottom * width)));
      const tell = (share) => {
        shares.set(cut, share);
        progress([...shares.values()].reduce((sum, one) => sum + one, 0) / (count * groups.length));
      };
      const { planes: done, milliseconds, card } = await pool.ask(
        "filter", { planes: cut, height: bottom - top, width, plan, keep: [first - top, last - top] }, { group, progress: tell });
      work += milliseconds;
      byCard &&= card;
      return done;
    })));
  const alone = (work / groups.length) * Math.ceil(groups.length / workers); // three channels on two workers take two turns
  const output = groups.flatMap((channels, g) => channels.map((_, c) => joined(parts.slice(g * count, (g + 1) * count).map((part) => part[c]))));
  return { planes: output, milliseconds: performance.now() - start, alone, card: byCard };
}
