// What the two handles of the page share: pointers, arrow keys and the values that assistive technology reads.

// `element` is the role=slider; `surface` takes the pointer where `takes(event)` says so, and `held` hears of it;
// `locate(event)` turns a pointer into a value.
export function makeSlider({ element, surface, locate, small, large, low, high, wrap = false, takes = () => true, held = () => {}, text, change }) {
  let value = Number(element.getAttribute("aria-valuenow"));

  function set(wanted, from) {
    const span = high - low;
    let next = wrap ? wanted - span * Math.ceil((wanted - high) / span) : Math.min(high, Math.max(low, wanted));
    next = Math.round(next * 10) / 10;
    if (next === value && from !== "start") return;
    value = next;
    element.setAttribute("aria-valuenow", String(value));
    element.setAttribute("aria-valuetext", text(value));
    change(value, from);
  }

  element.addEventListener("keydown", (event) => {
    const fine = event.shiftKey ? large : small;
    const moves = {
      ArrowRight: fine, ArrowUp: fine, ArrowLeft: -fine, ArrowDown: -fine, PageUp: large, PageDown: -large,
      Home: (wrap ? 0 : low) - value, End: (wrap ? 90 : high) - value,
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    set(value + moves[event.key], "key");
  });

  surface.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || !takes(event)) return;
    element.focus({ preventScroll: true, focusVisible: false });
    surface.setPointerCapture(event.pointerId);
    event.preventDefault();
    const move = (at) => set(locate(at), "pointer");
    const stop = () => { surface.removeEventListener("pointermove", move); held(false); };
    held(true);
    move(event);
    surface.addEventListener("pointermove", move);
    surface.addEventListener("pointerup", stop, { once: true });
    surface.addEventListener("pointercancel", stop, { once: true });
  });

  set(value, "start");
  return { set, get value() { return value; } };
}
