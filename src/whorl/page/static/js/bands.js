// One picture on several workers: bands of rows with a halo as wide as all steps together look, so that every worker
// computes its rows exactly as if it had the whole picture. Channels that are not coupled are shared out as well.

// The best division for so many workers: how many bands, counted in rows that the busiest worker computes.
export function bandCount(height, halo, channels, workers) {
  let best = 1, least = Infinity;
  for (let count = 1; count <= 2 * workers; ++count) {
    const rows = Math.min(height, Math.ceil(height / count) + (count > 2 ? 2 : 1) * halo);
    const cost = Math.ceil((count * channels) / workers) * rows;
    if (cost < 0.95 * least) [best, least] = [count, cost]; // a band more must be worth its while
  }
  return best;
}

// The picture filtered by as many workers as it pays for; `ask` is the pool's.
export async function filterInBands(pool, { planes, height, width, plan }, group = null) {
  const start = performance.now(), workers = pool.workers.length;
  const groups = plan.joint ? [planes] : planes.map((plane) => [plane]);
  const halo = plan.steps * plan.reach, shrinking = plan.network ? 0.5 : 1; // a network computes half of its halo on average
  const count = bandCount(height, shrinking * halo, groups.length, workers);
  const parts = await Promise.all(groups.flatMap((group) =>
    Array.from({ length: count }, async (_, k) => {
      const first = Math.floor((height * k) / count), last = Math.floor((height * (k + 1)) / count);
      const top = Math.max(0, first - halo), bottom = Math.min(height, last + halo);
      const cut = group.map((plane) => (count === 1 ? plane : plane.slice(top * width, bottom * width)));
      const { planes: done } = await pool.ask("filter", { planes: cut, height: bottom - top, width, plan, keep: [first - top, last - top] }, { group });
      return done.map((plane) => plane.subarray((first - top) * width, (last - top) * width));
    })));
  const output = groups.flatMap((group, g) => group.map((_, c) => joined(parts.slice(g * count, (g + 1) * count).map((part) => part[c]))));
  return { planes: output, milliseconds: performance.now() - start };
}

function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  const whole = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  pieces.reduce((at, piece) => { whole.set(piece, at); return at + piece.length; }, 0);
  return whole;
}
