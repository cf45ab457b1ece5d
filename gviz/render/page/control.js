/* Moving, zooming, keys, steps and buttons; and the start. */

const PLAY = 1500;     // milliseconds that a step is shown
const MOVED = 4;       // pixels from which on a press is no click

// ---------------------------------------------------------------- moving and zooming
function zoom(factor, x, y) {
  const k = Math.max(0.002, Math.min(6, view.k * factor)), f = k / view.k;
  view = { x: x - (x - view.x) * f, y: y - (y - view.y) * f, k };
  paint();
}
function scaleToFit() {
  const { width, height } = stage.getBoundingClientRect();
  return Math.max(0.002, Math.min((width - 40) / drawn.w, (height - 40) / drawn.h, 1.4));
}
function fit() {
  const { width, height } = stage.getBoundingClientRect(), k = scaleToFit();
  view = { k, x: (width - drawn.w * k) / 2, y: Math.max(20, (height - drawn.h * k) / 2) };
  paint();
}
const middle = () => { const { width, height } = stage.getBoundingClientRect(); return [width / 2, height / 2]; };
const within = (event) => { const { left, top } = stage.getBoundingClientRect(); return [event.clientX - left, event.clientY - top]; };

stage.addEventListener("wheel", (event) => {
  event.preventDefault();
  const by = Math.max(-200, Math.min(200, event.deltaY * (event.deltaMode === 1 ? 20 : 1)));
  zoom(Math.exp(-by * (event.ctrlKey ? 0.01 : 0.002)), ...within(event));
}, { passive: false });

const fingers = new Map();
let moved = 0;
stage.addEventListener("pointerdown", (event) => {
  if (event.target.closest("#hits")) return;
  fingers.set(event.pointerId, within(event));
  if (fingers.size === 1) moved = 0;
});
stage.addEventListener("pointermove", (event) => {
  const was = fingers.get(event.pointerId);
  if (!was) return;
  const now = within(event), other = [...fingers].find(([id]) => id !== event.pointerId);
  if (other) {
    const away = (p) => Math.hypot(p[0] - other[1][0], p[1] - other[1][1]) || 1;
    zoom(away(now) / away(was), (now[0] + other[1][0]) / 2, (now[1] + other[1][1]) / 2);
    moved = MOVED + 1;
  } else {
    view.x += now[0] - was[0];
    view.y += now[1] - was[1];
    moved += Math.hypot(now[0] - was[0], now[1] - was[1]);
    if (moved > MOVED) {
      stage.classList.add("drag");
      try { stage.setPointerCapture(event.pointerId); } catch { /* the pointer is gone */ }
    }
    paint();
  }
  fingers.set(event.pointerId, now);
});
for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, (event) => {
  if (!fingers.delete(event.pointerId)) return;
  stage.classList.remove("drag");
  if (end === "pointercancel" || moved > MOVED) return;
  const [left, top] = within(event), x = (left - view.x) / view.k, y = (top - view.y) / view.k;
  const isInside = (b) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h;
  const box = drawn.boxes.find(isInside), frame = drawn.frames.find((b) => isInside(b) && y < b.y + 22);
  if (box && box.group !== undefined) toggle(box.group);
  else if (box) focusOn({ node: box.node });
  else if (frame) toggle(frame.group);
  else if (picked) pick(null);
});

// ---------------------------------------------------------------- keys
function along(ends, end) {
  if (picked.node !== undefined && ends[picked.node].length) focusOn({ node: graph.edges[ends[picked.node][0]][end] });
}
function beside(by) {
  const own = boxFor(picked), [main, other] = graph.across ? ["x", "y"] : ["y", "x"], extent = graph.across ? "w" : "h";
  const row = drawn.boxes.filter((b) => Math.abs(b[main] + b[extent] / 2 - own[main] - own[extent] / 2) < 20).sort((p, q) => p[other] - q[other]);
  const next = row[row.indexOf(own) + by];
  if (next) focusOn(next.group !== undefined ? { group: next.group } : { node: next.node });
}
function pan(dx, dy) { view.x += dx; view.y += dy; paint(); }
function enter() {
  if (!picked) { if (graph.roots.size) focusOn({ node: [...graph.roots][0] }); }
  else if (picked.group !== undefined) toggle(picked.group);
  else if (graph.nodes[picked.node].in >= 0) toggle(graph.nodes[picked.node].in);
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  const forward = () => along(graph.out, "to"), backward = () => along(graph.into, "from");
  const arrows = !picked
    ? { ArrowUp: () => pan(0, 80), ArrowDown: () => pan(0, -80), ArrowLeft: () => pan(80, 0), ArrowRight: () => pan(-80, 0) }
    : graph.across
      ? { ArrowLeft: backward, ArrowRight: forward, ArrowUp: () => beside(-1), ArrowDown: () => beside(1) }
      : { ArrowUp: backward, ArrowDown: forward, ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) };
  const keys = {
    ...arrows, "/": () => $("search").focus(), f: fit, "+": () => zoom(1.25, ...middle()), "=": () => zoom(1.25, ...middle()),
    "-": () => zoom(0.8, ...middle()), "?": () => $("keys").showModal(), Escape: () => pick(null),
    p: () => { if (picked && picked.node !== undefined) light(); },
    ",": () => { if (graph.steps.length) show(step - 1); }, ".": () => { if (graph.steps.length) show(step + 1); },
    ...(/^(BUTTON|SUMMARY)$/.test(event.target.tagName) ? {} : { Enter: enter }),
  };
  if (keys[event.key]) { event.preventDefault(); keys[event.key](); }
});

// ---------------------------------------------------------------- steps
let timer = 0;
function show(wanted, { isPast = false } = {}) {
  step = Math.max(0, Math.min(graph.steps.length, wanted));
  const now = step ? graph.steps[step - 1] : null;
  const span = ([text, ink, isBold]) => el(isBold ? "b" : "span", { class: ink || null }, text);
  $("slider").value = step;
  $("place").textContent = now ? `${now.half} ${step}/${graph.steps.length}` : "whole graph";
  $("slider").setAttribute("aria-valuetext", $("place").textContent);
  $("caption").replaceChildren(...(now ? now.caption.map((line) => el("div", {}, ...line.map(span))) : []));
  $("back").disabled = !step;
  $("next").disabled = step === graph.steps.length;
  if (!isPast) remember({ isNew: false });
  clear();
  draw();
}
function pause() { clearInterval(timer); timer = 0; $("play").textContent = "Play"; }
function play() {
  if (timer) { pause(); return; }
  if (step === graph.steps.length) show(0);
  timer = setInterval(() => { show(step + 1); if (step === graph.steps.length) pause(); }, PLAY);
  $("play").textContent = "Pause";
}
const go = (to) => () => { pause(); show(to()); };
$("slider").addEventListener("input", go(() => +$("slider").value));
$("back").addEventListener("click", go(() => step - 1));
$("next").addEventListener("click", go(() => step + 1));
$("first").addEventListener("click", go(() => 0));
$("play").addEventListener("click", play);

// ---------------------------------------------------------------- views and buttons
/** Show a view of the graph. */
function use(number) {
  const id = picked && picked.node !== undefined ? graph.nodes[picked.node].id : null;
  pause();
  step = 0;
  picked = trail = null;
  hits = new Set();
  take(number);
  boxOf = undefined;
  $("views").value = number;
  $("time").hidden = !graph.steps.length;
  $("slider").max = graph.steps.length;
  $("across").setAttribute("aria-pressed", String(graph.across));
  for (const button of ["open", "shut"]) $(button).hidden = !graph.groups.length;
  $("list").open = false;
  $("list").querySelectorAll("table, button").forEach((old) => old.remove());
  relayout();
  while (scaleToFit() < READABLE && closeInnermost()) relayout();
  show(0, { isPast: true });
  panel();
  fit();
  if (id !== null && graph.byId.has(id)) pick({ node: graph.byId.get(id) }, { isPast: true });
}
function save(blob, suffix) {
  const link = el("a", { href: URL.createObjectURL(blob), download: `${data.stem}.${suffix}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}
function savePng() {
  const image = new Image(), scale = Math.min(2, 16000 / Math.max(drawn.w, drawn.h));
  image.onload = () => {
    const canvas = document.createElement("canvas");
    canvas.width = (drawn.w + 20) * scale;
    canvas.height = (drawn.h + 20) * scale;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, "png"));
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(picture())}`;
}
function fold(isOpen) {
  graph.closed.clear();
  if (!isOpen) graph.groups.forEach((_, g) => graph.closed.add(g));
  relayout();
  fit();
}
function flip(button, is) { $(button).setAttribute("aria-pressed", String(is)); relayout(); fit(); }
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
const actions = {
  fit, less: () => zoom(0.8, ...middle()), more: () => zoom(1.25, ...middle()), open: () => fold(true), shut: () => fold(false),
  numbers: () => { hasNumbers = !hasNumbers; flip("numbers", hasNumbers); },
  across: () => { graph.across = !graph.across; flip("across", graph.across); },
  dark: () => { document.documentElement.dataset.theme = isDark() ? "light" : "dark"; draw(); },
  svg: () => save(new Blob([picture()], { type: "image/svg+xml" }), "svg"), png: savePng, help: () => $("keys").showModal(),
};
for (const [id, action] of Object.entries(actions)) $(id).addEventListener("click", action);
$("notes").replaceChildren(...data.notes.map((text) => el("div", {}, text)));
const VIEWS = { torchviz: "autograd graph", dataflow: "values and gradients" };
$("views").append(...data.views.map((one, i) => el("option", { value: i }, VIEWS[one.name] || one.name)));
$("views").hidden = data.views.length < 2;
$("views").addEventListener("change", () => { use(+$("views").value); remember(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
addEventListener("popstate", fromHash);
addEventListener("hashchange", fromHash);

// ---------------------------------------------------------------- a page that is loaded again
const KEY = `gviz ${location.pathname}`;
addEventListener("pagehide", () => {
  const closed = graph.groups.map((group, g) => [group.name, graph.closed.has(g)]);
  const state = { view, closed, hasNumbers, across: graph.across, theme: document.documentElement.dataset.theme };
  try { sessionStorage.setItem(KEY, JSON.stringify(state)); } catch { /* a sandboxed frame has no storage */ }
});
/** Stay where the page was when it is loaded again, be it with another graph: what has the same name is folded as it was. */
function resume() {
  let state = null;
  try { state = JSON.parse(sessionStorage.getItem(KEY)); } catch { return; }
  if (!state || performance.getEntriesByType("navigation")[0].type === "navigate") return;
  const closed = new Map(state.closed);
  graph.groups.forEach((group, g) => { if (closed.has(group.name)) graph.closed[closed.get(group.name) ? "add" : "delete"](g); });
  ({ hasNumbers, view } = state);
  graph.across = state.across;
  if (state.theme) document.documentElement.dataset.theme = state.theme;
  for (const [button, is] of [["numbers", hasNumbers], ["across", graph.across]]) $(button).setAttribute("aria-pressed", String(is));
  isSized = true;
  relayout();
}

// ---------------------------------------------------------------- print, and the start
let held = null;
addEventListener("beforeprint", () => {
  held = { ...view };
  world.setAttribute("transform", "");
  world.setAttribute("display", "inline");
  clear();
  $("frames").append(...drawn.frames.map((frame) => frameShape(frame, true)));
  $("lines").append(...drawn.lines.map(lineShape));
  $("boxes").append(...drawn.boxes.map((box) => boxShape(box, true)));
  $("near").setAttribute("viewBox", `-5 -5 ${drawn.w + 10} ${drawn.h + 10}`);
});
addEventListener("afterprint", () => { view = held; $("near").removeAttribute("viewBox"); clear(); paint(); });
let isSized = false;
new ResizeObserver(() => {
  if (isSized || !stage.getBoundingClientRect().width) { paint(); return; }
  isSized = true;  // a frame that was out of sight had no size
  fit();
  if (picked) reveal(picked);
  draw();
}).observe(stage);
use(0);
fromHash();
resume();
draw();  // at once: a page that is out of sight gets no animation frames
