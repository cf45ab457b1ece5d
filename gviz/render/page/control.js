/* Moving and zooming by mouse, wheel and fingers; keys; buttons. */

const MOVED = 4;       // pixels from which on a press is no click
const READABLE = 0.8;  // the scale from which on what boxes say can be read

// ---------------------------------------------------------------- moving and zooming
function zoom(factor, x, y) {
  const k = Math.max(0.002, Math.min(6, view.k * factor)), f = k / view.k;
  view = { x: x - (x - view.x) * f, y: y - (y - view.y) * f, k };
  isFitted = false;
  paint();
}
function scaleToFit() {
  const { width, height } = stageBox();
  return Math.max(0.002, Math.min((width - 40) / drawn.w, (height - 40) / drawn.h, 1.4));
}
function fit() {
  const { width, height } = stageBox(), k = scaleToFit();
  view = { k, x: (width - drawn.w * k) / 2, y: Math.max(20, (height - drawn.h * k) / 2) };
  isFitted = true;
  paint();
}

/** Show all, or the beginning of what is too large to be read. */
function fitToRead() {
  fit();
  if (!graph.circuit && view.k < READABLE && stageBox().width) {
    zoomMiddle(READABLE / view.k);
    view[graph.across ? "x" : "y"] = 20;
  }
  opened = JSON.stringify(view);
}
function pan(dx, dy) { view.x += dx; view.y += dy; isFitted = false; paint(); }
function zoomMiddle(factor) {
  const { width, height } = stageBox();
  zoom(factor, width / 2, height / 2);
}
function within(event) {
  const { left, top } = stageBox();
  return [event.clientX - left, event.clientY - top];
}
on(stage, "wheel", (event) => {
  event.preventDefault();
  const by = Math.max(-200, Math.min(200, event.deltaY * (event.deltaMode === 1 ? 20 : 1)));
  zoom(Math.exp(-by * (event.ctrlKey ? 0.01 : 0.002)), ...within(event));
}, { passive: false });

// ---------------------------------------------------------------- mouse and fingers
const fingers = new Map();
let moved = 0;
on(stage, "pointerdown", (event) => {
  if (event.target.closest("#hits")) return;
  fingers.set(event.pointerId, within(event));
  if (fingers.size === 1) moved = 0;
});
on(stage, "pointermove", (event) => {
  const was = fingers.get(event.pointerId);
  if (!was) return;
  const now = within(event), other = [...fingers].find(([id]) => id !== event.pointerId);
  fingers.set(event.pointerId, now);
  if (other) {
    const away = (p) => Math.hypot(p[0] - other[1][0], p[1] - other[1][1]) || 1;
    zoom(away(now) / away(was), (now[0] + other[1][0]) / 2, (now[1] + other[1][1]) / 2);
    moved = MOVED + 1;
    return;
  }
  pan(now[0] - was[0], now[1] - was[1]);
  moved += Math.hypot(now[0] - was[0], now[1] - was[1]);
  if (moved <= MOVED) return;
  stage.classList.add("drag");
  try { stage.setPointerCapture(event.pointerId); } catch { /* the pointer is gone */ }
});
for (const end of ["pointerup", "pointercancel"]) on(stage, end, (event) => {
  if (!fingers.delete(event.pointerId)) return;
  stage.classList.remove("drag");
  if (end === "pointerup" && moved <= MOVED) press(...within(event));
});

/** Choose, fold or unfold what is at a place; let go where nothing is. */
function press(left, top) {
  const x = (left - view.x) / view.k, y = (top - view.y) / view.k;
  const isInside = (b) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h;
  const box = drawn.boxes.find(isInside), frame = drawn.frames.find((b) => isInside(b) && y < b.y + 22);
  if (box && isGroup(box)) toggle(box.group);
  else if (box) focusOn({ node: box.node });
  else if (frame) toggle(frame.group);
  else if (picked) pick(null);
}

// ---------------------------------------------------------------- buttons
/** Unfold or fold all groups. */
function fold(isOpen) {
  graph.closed = new Set(isOpen ? [] : graph.groups.keys());
  relayout();
  fitToRead();
}
function flip(button, is) { $(button).setAttribute("aria-pressed", is); relayout(); fitToRead(); }
function flipNumbers(word) { has[word] = !has[word]; flip(word, has[word]); }
const BUTTONS = {
  fit, less: () => zoomMiddle(0.8), more: () => zoomMiddle(1.25), open: () => fold(true), shut: () => fold(false),
  values: () => flipNumbers("values"), gradients: () => flipNumbers("gradients"),
  across: () => { graph.across = !graph.across; flip("across", graph.across); },
  dark: () => useTheme(root.dataset.theme !== "dark"),
  svg: () => save(new Blob([picture()], { type: "image/svg+xml" }), "svg"),
  png: savePng,
  help: () => $("keys").showModal(),
};
for (const [id, action] of Object.entries(BUTTONS)) on($(id), "click", action);

// ---------------------------------------------------------------- keys
function along(ends, end) {
  if (!isGroup(picked) && ends[picked.node].length) focusOn({ node: graph.edges[ends[picked.node][0]][end] });
}
function beside(by) {
  const own = boxFor(picked), [main, other] = graph.across ? ["x", "y"] : ["y", "x"], extent = graph.across ? "w" : "h";
  const isLevel = (b) => Math.abs(b[main] + b[extent] / 2 - own[main] - own[extent] / 2) < 20;
  const row = drawn.boxes.filter(isLevel).sort((p, q) => p[other] - q[other]), next = row[row.indexOf(own) + by];
  if (next) focusOn(isGroup(next) ? { group: next.group } : { node: next.node });
}
function enter() {
  if (!picked) { if (graph.roots.size) focusOn({ node: [...graph.roots][0] }); }
  else if (isGroup(picked)) toggle(picked.group);
  else if (graph.nodes[picked.node].in >= 0 && !graph.circuit) toggle(graph.nodes[picked.node].in);
}

/** What arrow keys do: on a box they go along its lines and to its neighbours, else through the steps, or they move. */
function arrowKeys() {
  const lines = [() => along(graph.into, "from"), () => along(graph.out, "to")];
  const row = [() => beside(-1), () => beside(1)];
  const sides = graph.steps.length ? [() => go(step - 1), () => go(step + 1)] : [() => pan(80, 0), () => pan(-80, 0)];
  const onBox = graph.across ? [...lines, ...row] : [...row, ...lines];
  const [ArrowLeft, ArrowRight, ArrowUp, ArrowDown] = picked ? onBox : [...sides, () => pan(0, 80), () => pan(0, -80)];
  return { ArrowLeft, ArrowRight, ArrowUp, ArrowDown };
}
const KEYS = {
  "/": () => $("search").focus(), f: fit, "+": BUTTONS.more, "=": BUTTONS.more, "-": BUTTONS.less,
  "?": BUTTONS.help, Escape: () => pick(null), Enter: enter, " ": play,
  p: () => { if (picked && !isGroup(picked)) light(); },
  ",": () => go(step - 1), ".": () => go(step + 1), PageUp: () => go(step - 1), PageDown: () => go(step + 1),
  Home: () => go(0), End: () => go(Infinity),
};
on(document, "keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  const { tagName } = event.target, isButton = /^(BUTTON|SUMMARY)$/.test(tagName);
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(tagName) && !(event.target === $("slider") && event.key === " ")) return;
  if (isButton && (event.key === "Enter" || event.key === " ")) return;
  const act = KEYS[event.key] || arrowKeys()[event.key];
  if (act) { event.preventDefault(); act(); }
});
