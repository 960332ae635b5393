// Pictures drawn by formula: a scene gives the grey value at any point, so it can be turned without resampling.
// Coordinates are in pixels of the 256 x 256 view, with the origin in its middle, x to the right and y downwards.

export const VIEW = 256;

export const SCENES = {
  whorl: { title: "Whorl", noise: 30, value: whorl },
  rectangles: { title: "Rectangles", noise: 30, value: rectangles() },
  bars: { title: "Disc and bars", noise: 30, value: bars },
};

// A small seeded generator (mulberry32): the same picture for everyone.
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Standard normal deviates by Box and Muller.
export function normal(seed) {
  const uniform = random(seed);
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

// Ridges follow the level lines of a phase: a spiral core inside, stretched and bent arches further out.
function whorl(x, y) {
  const bend = 1 / (1 + Math.exp(-(y - 30) / 26));
  const dx = x + 5 * Math.sin(y / 37), dy = (y - 6) * (0.86 - 0.22 * bend) + 4 * Math.sin(x / 29);
  const radius = Math.sqrt(dx * dx + dy * dy), turn = Math.atan2(dy, dx);
  const phase = (2 * Math.PI * radius) / 10.5 + turn + 1.1 * Math.sin(dx / 33 + dy / 47) + 0.35 * Math.sin(3 * turn);
  const ridge = 1 / (1 + Math.exp(-4.5 * Math.sin(phase)));
  return 38 + 186 * ridge;
}

// Grey rectangles over each other, all parallel to the axes, out to the corners that any turn brings into view.
function rectangles() {
  const next = random(7);
  const list = Array.from({ length: 64 }, () => {
    const x = (next() - 0.5) * 400, y = (next() - 0.5) * 400;
    const w = 14 + 40 * next() * next(), h = 14 + 40 * next() * next();
    return { x, y, w, h, grey: [24, 84, 150, 236][Math.floor(next() * 4)] };
  });
  return (x, y) => {
    for (let k = list.length - 1; k >= 0; --k) {
      const it = list[k];
      if (Math.abs(x - it.x) < it.w && Math.abs(y - it.y) < it.h) return it.grey;
    }
    return 196;
  };
}

// A disc in the middle, rays of bars around it and a fine ring outside.
function bars(x, y) {
  const radius = Math.sqrt(x * x + y * y);
  if (radius < 46) return 222;
  if (radius < 58) return 60;
  if (radius < 112) {
    const turns = (Math.atan2(y, x) / (2 * Math.PI) + 1) * 16;
    const nearest = (Math.round(turns) / 16) * 2 * Math.PI;
    const across = Math.abs(x * Math.sin(nearest) - y * Math.cos(nearest));
    return radius > 66 && radius < 104 && across < 5 ? 30 : 204;
  }
  return Math.floor((radius - 112) / 9) % 2 === 0 ? 90 : 204;
}
