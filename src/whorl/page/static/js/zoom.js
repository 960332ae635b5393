// Zoom and pan of the picture: buttons, + - 0, Ctrl and wheel, two fingers; a drag moves what is larger than the frame.

const LARGEST = 16, STEP = 1.5;

// `moved(scale, x, y)` hears of every change: a picture point p is shown at scale * p + (x, y), in parts of the frame.
export function makeZoom(frame, moved) {
  const get = (id) => document.getElementById(id), fingers = new Map();
  let scale = 1, x = 0, y = 0;

  function set(next, nextX, nextY) {
    scale = Math.min(LARGEST, Math.max(1, next));
    const inside = (v) => Math.min(0, Math.max(1 - scale, v)); // the frame is always covered
    [x, y] = [inside(nextX), inside(nextY)];
    frame.style.setProperty("--zoom", String(scale));
    frame.style.setProperty("--x", `${100 * x}%`);
    frame.style.setProperty("--y", `${100 * y}%`);
    frame.classList.toggle("zoomed", scale > 1);
    get("zoom-whole").textContent = `${Number(scale.toFixed(1))}×`;
    get("zoom-whole").ariaLabel = `${get("zoom-whole").textContent}: show the whole picture`;
    moved(scale, x, y);
  }

  // Zoom by a factor so that the point under (px, py) stays where it is.
  const about = (factor, px = 0.5, py = 0.5) => {
    const next = Math.min(LARGEST, Math.max(1, scale * factor)), f = next / scale;
    set(next, px - f * (px - x), py - f * (py - y));
  };
  const place = ({ clientX, clientY }) => {
    const box = frame.getBoundingClientRect();
    return [(clientX - box.left) / box.width, (clientY - box.top) / box.height];
  };

  get("zoom-in").addEventListener("click", () => about(STEP));
  get("zoom-out").addEventListener("click", () => about(1 / STEP));
  get("zoom-whole").addEventListener("click", () => set(1, 0, 0));
  frame.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return; // a plain wheel scrolls the page
    event.preventDefault();
    about(Math.exp(-event.deltaY / 300), ...place(event));
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    const act = { "+": () => about(STEP), "=": () => about(STEP), "-": () => about(1 / STEP), 0: () => set(1, 0, 0) }[event.key];
    if (!act || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act();
  });

  // One finger or the mouse pans where nobody else takes it; two fingers zoom about the point between them.
  frame.addEventListener("pointerdown", (event) => { if (event.button === 0) fingers.set(event.pointerId, place(event)); });
  const lift = (event) => fingers.delete(event.pointerId);
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, lift);
  frame.addEventListener("pointermove", (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()], now = place(event), was = fingers.get(event.pointerId);
    fingers.set(event.pointerId, now);
    if (fingers.size === 2) {
      const after = [...fingers.values()], length = ([a, b]) => Math.hypot(a[0] - b[0], a[1] - b[1]);
      about(length(after) / Math.max(1e-6, length(before)), (after[0][0] + after[1][0]) / 2, (after[0][1] + after[1][1]) / 2);
    } else if (scale > 1 && !frame.dataset.held) {
      set(scale, x + now[0] - was[0], y + now[1] - was[1]);
    }
  });

  set(1, 0, 0);
  return {
    whole: () => set(1, 0, 0),
    get scale() { return scale; },
    get middle() { return { x: (0.5 - x) / scale, y: (0.5 - y) / scale }; }, // of the view, in the picture
    get fingers() { return fingers.size; },
    // From a pointer to a point of the picture, both coordinates from 0 to 1.
    locate: (event) => { const [px, py] = place(event); return [(px - x) / scale, (py - y) / scale]; },
  };
}
