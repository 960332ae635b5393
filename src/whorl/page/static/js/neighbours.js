// A filter on several workers: each has a band of rows and as many rows of its neighbours as a few steps look at. Then the
// neighbours send each other these rows anew, so that every worker computes its own exactly as if it had the whole picture.

const HALO = 16; // rows of a neighbour that pay for fewer messages; one step may need more

// How the picture is shared out: so many bands, rows of a neighbour, and steps between two exchanges.
export function sharing(height, { steps, reach }, workers) {
  const every = Math.max(1, Math.min(steps, Math.floor(HALO / reach))), halo = every * reach;
  let count = 1, least = height;
  for (let more = 2; more <= workers && Math.floor(height / more) >= halo; ++more) {
    const rows = Math.ceil(height / more) + (more > 2 ? 2 : 1) * halo;
    if (rows < 0.95 * least) [count, least] = [more, rows]; // a band more must be worth its while
  }
  return { count, halo, every };
}

// The picture filtered by as many workers as it pays for: { planes, milliseconds, alone }. A part of it would be shared out
// as well, so `alone` is no other time.
export async function filterByNeighbours(pool, { planes, height, width, plan }, group) {
  const start = performance.now(), { count, halo, every } = sharing(height, plan, pool.workers.length), job = pool.newJob();
  const parts = await Promise.all(Array.from({ length: count }, async (_, k) => {
    const first = Math.floor((height * k) / count), last = Math.floor((height * (k + 1)) / count);
    const top = k > 0 ? first - halo : 0, bottom = k < count - 1 ? last + halo : height;
    const band = { job, every, halo, keep: [first - top, last - top] };
    const cut = planes.map((plane) => plane.slice(top * width, bottom * width)), transfer = cut.map((plane) => plane.buffer);
    const message = { planes: cut, height: bottom - top, width, plan, band };
    return (await pool.ask("filter", message, { group, job, transfer, worker: count > 1 ? pool.workers[k] : null })).planes;
  })).catch((error) => {
    pool.drop(job); // the others would wait for rows in vain
    throw error;
  });
  const output = planes.map((_, c) => joined(parts.map((part) => part[c])));
  const milliseconds = performance.now() - start;
  return { planes: output, milliseconds, alone: milliseconds };
}

// One after the other.
export function joined(pieces) {
  if (pieces.length === 1) return pieces[0];
  const whole = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  pieces.reduce((at, piece) => { whole.set(piece, at); return at + piece.length; }, 0);
  return whole;
}

// ---- in a worker

const ports = {}; // to the workers with the bands above and below
let arrived = []; // { side, job, turn, planes }, rows that nobody has taken yet
let wake = () => {};

// The worker next to this one, at the other end of a port.
export function meet({ side, port }) {
  ports[side] = port;
  port.onmessage = ({ data }) => {
    arrived.push({ side, ...data });
    wake();
  };
}

// Let who waits for rows look whether it still should.
export const stir = () => wake();

// What a band does before every step: `view(c)` are the pixels of a channel, `wanted()` throws when nobody waits any more.
// The rows that have to be right after the step are those of the band, and what the steps before the next exchange look at.
export function exchange({ job, every, halo, keep: [first, last] }, height, width, wanted) {
  arrived = arrived.filter((message) => message.job >= job);
  const sides = [
    ...(first > 0 ? [{ side: "above", mine: first, theirs: 0 }] : []),
    ...(last < height ? [{ side: "below", mine: last - halo, theirs: last }] : []),
  ];
  let turn = 0;
  return async (step, channels, view) => {
    const more = (halo / every) * (every - 1 - (step % every));
    const needed = [Math.max(0, first - more), Math.min(height, last + more)];
    if (step === 0 || step % every > 0 || sides.length === 0) return needed;
    ++turn;
    const all = Array.from({ length: channels }, (_, c) => c);
    for (const { side, mine } of sides) {
      const planes = all.map((c) => view(c).slice(mine * width, (mine + halo) * width));
      ports[side].postMessage({ job, turn, planes }, planes.map((plane) => plane.buffer));
    }
    for (const { side, theirs } of sides) {
      const planes = await rowsFrom(side, job, turn, wanted);
      all.forEach((c) => view(c).set(planes[c], theirs * width));
    }
    return needed;
  };
}

async function rowsFrom(side, job, turn, wanted) {
  for (;;) {
    wanted();
    const at = arrived.findIndex((message) => message.side === side && message.job === job && message.turn === turn);
    if (at >= 0) return arrived.splice(at, 1)[0].planes;
    await new Promise((resolve) => { wake = resolve; });
  }
}
