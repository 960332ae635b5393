// The brush: strokes painted over the picture, by pointer or by keyboard, and the mask they make.

const TINT = [255, 64, 129, 150];

// Strokes an opened page starts with, so that there is something to see: { size, points } in parts of the picture.
const EXAMPLE = [0.22, 0.5, 0.76].map((y, k) => ({
  size: 0.016,
  points: Array.from({ length: 40 }, (_, i) => [0.06 + (0.88 * i) / 39, y + 0.07 * Math.sin(i / 6 + 2 * k)]),
}));

// `changed()` is called when a stroke is finished; `size()` is the width of the brush in pixels.
export function makeBrush(stage, size, changed) {
  const frame = document.getElementById("frame"), canvas = document.getElementById("mask");
  let strokes = null, loaded = null; // nothing painted on this picture yet, and no mask from a file
  let height = 0, width = 0, current = null, cursor = null;

  const active = () => frame.dataset.mode === "fill";
  const pixel = ([x, y]) => [x * width, y * height];

  // 1 where a stroke went, 0 elsewhere.
  function mask() {
    const out = loaded?.slice() ?? new Float32Array(height * width);
    for (const stroke of strokes ?? []) trace(out, stroke);
    return out;
  }

  function trace(out, { size, points }) {
    points.forEach((point, k) => {
      const from = points[Math.max(0, k - 1)], length = Math.hypot(point[0] - from[0], point[1] - from[1]);
      const stamps = Math.max(1, Math.ceil(length / Math.max(0.5, size / 4)));
      for (let s = 1; s <= stamps; ++s)
        stamp(out, from[0] + ((point[0] - from[0]) * s) / stamps, from[1] + ((point[1] - from[1]) * s) / stamps, size / 2);
    });
  }

  function stamp(out, x, y, r) {
    const reach = Math.max(r, 0.5), left = Math.max(0, Math.floor(x - reach)), right = Math.min(width - 1, Math.floor(x + reach));
    for (let j = Math.max(0, Math.floor(y - reach)); j <= Math.min(height - 1, Math.floor(y + reach)); ++j)
      for (let i = left; i <= right; ++i)
        if (Math.hypot(i + 0.5 - x, j + 0.5 - y) <= Math.max(reach, Math.SQRT1_2)) out[j * width + i] = 1;
  }

  function draw() {
    if (!width) return;
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    const image = new ImageData(width, height), covered = mask();
    for (let i = 0; i < covered.length; ++i) if (covered[i]) image.data.set(TINT, 4 * i);
    if (cursor) {
      const ring = new Float32Array(height * width);
      stamp(ring, ...cursor, size() / 2);
      for (let i = 0; i < ring.length; ++i) if (ring[i]) image.data.set([255, 64, 129, 220], 4 * i);
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
  }

  frame.addEventListener("pointerdown", (event) => {
    if (!active() || event.button !== 0 || event.target.closest(".divider, .zoom, .parts, #cancel") || frame.dataset.held) return;
    event.preventDefault();
    frame.focus({ preventScroll: true, focusVisible: false });
    frame.setPointerCapture(event.pointerId);
    frame.dataset.held = "brush";
    cursor = null;
    current = { size: size(), points: [pixel(stage.zoom.locate(event))] };
    (strokes ??= []).push(current);
    draw();
  });
  frame.addEventListener("pointermove", (event) => {
    if (!current) return;
    if (stage.zoom.fingers > 1) { strokes.pop(); current = null; delete frame.dataset.held; draw(); return; } // two fingers zoom
    current.points.push(pixel(stage.zoom.locate(event)));
    draw();
  });
  const finish = () => {
    if (!current) return;
    current = null;
    delete frame.dataset.held;
    changed();
  };
  for (const kind of ["pointerup", "pointercancel"]) frame.addEventListener(kind, finish);

  // By keyboard: arrows move the brush, the space bar paints.
  frame.addEventListener("keydown", (event) => {
    if (!active() || event.target !== frame) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!moves && event.key !== " ") return;
    event.preventDefault();
    cursor ??= [width / 2, height / 2];
    if (moves) {
      const far = Math.max(1, size() / 2), inside = (v, n) => Math.min(n - 0.5, Math.max(0.5, v));
      cursor = [inside(cursor[0] + far * moves[0], width), inside(cursor[1] + far * moves[1], height)];
      draw();
    } else {
      (strokes ??= []).push({ size: size(), points: [[...cursor]] });
      draw();
      changed();
    }
  });

  return {
    mask, draw,
    // The picture has this size; where it is new, and an example is asked for, painting starts with one.
    fit(newHeight, newWidth, example) {
      [height, width] = [newHeight, newWidth];
      if (strokes === null && example) {
        const short = Math.min(height, width);
        strokes = EXAMPLE.map((stroke) => ({ size: Math.max(1, short * stroke.size), points: stroke.points.map(pixel) }));
      }
      cursor = null;
      draw();
    },
    forget() { strokes = loaded = null; },
    undo() { if (strokes?.length) strokes.pop(); else loaded = null; draw(); changed(); },
    clear() { strokes = []; loaded = null; draw(); changed(); },
    load(plane) { strokes = []; loaded = plane; draw(); changed(); }, // 1 where to fill in
  };
}
