/* The box that was chosen, and the address that says so: #node=w, #step=3, #view=dataflow. */

let picked = null;     // {node} or {group}
let trail = null;      // what lies between the chosen box and the roots, where it is lit

/** Choose a box or a group, unfold what hides it, and put it into the address, so that the browser's Back goes back. */
function pick(what, { isPast = false } = {}) {
  picked = what;
  trail = null;
  if (what && !isGroup(what)) {
    let isHidden = false;
    for (let g = graph.nodes[what.node].in; g >= 0; g = graph.groups[g].up) if (graph.closed.delete(g)) isHidden = true;
    if (isHidden) relayout(what.node);
  }
  if (!isPast) remember();
  panel();
  if (what) reveal(what);
  draw();
}
function boxFor(what) {
  const isIt = (box) => box.group === what.group;
  return isGroup(what) ? drawn.boxes.find(isIt) || drawn.frames.find(isIt) : boxOf[what.node];
}

/** Bring a box into sight, large enough to be read. */
function reveal(what) {
  const box = boxFor(what), { width, height } = stageBox();
  if (!box) return;
  if (isFitted && view.k >= 0.6) return;
  if (view.k < 0.6) view.k = 0.9;
  isFitted = false;
  const x = (box.x + box.w / 2) * view.k + view.x, y = (box.y + box.h / 2) * view.k + view.y;
  if (x < 60 || y < 40 || x > width - 60 || y > height - 40) { view.x += width / 2 - x; view.y += height / 2 - y; }
}
function focusOn(what) {
  pick(what);
  const box = boxFor(what), one = box && mounted.get(box.id || `f${box.group}`);
  (one ? one.made : stage).focus({ preventScroll: true });
}
function toggle(group) {
  const keep = graph.nodes.findIndex((_, i) => isIn(i, group));
  if (!graph.closed.delete(group)) graph.closed.add(group);
  relayout(keep);
  focusOn({ group });
}

// ---------------------------------------------------------------- the address
function remember({ isNew = true } = {}) {
  const of = (what) => isGroup(what) ? `group:${graph.groups[what.group].name}` : graph.nodes[what.node].id;
  const words = [
    graph.number ? `view=${graph.name}` : "",
    step === firstStep() ? "" : `step=${step ? graph.steps[step - 1].number : 0}`,
    picked ? `node=${encodeURIComponent(of(picked))}` : "",
  ];
  const hash = words.filter(Boolean).join("&"), address = hash ? `#${hash}` : location.pathname + location.search;
  if (location.hash.slice(1) === hash) return;
  try {
    if (isNew) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch { /* a sandboxed frame has no history */ }
}

/** Show what the address says, several of its words with & between; #8 is #step=8. */
function fromHash() {
  const text = location.hash.slice(1), words = new Map();
  for (const word of (/^\d+$/.test(text) ? `step=${text}` : text).split("&")) words.set(...word.split(/=(.*)/, 2));
  const named = data.views.findIndex((one) => one.name === words.get("view"));
  const stepped = data.views.findIndex((one) => one.steps && one.steps.length);
  const number = named >= 0 ? named : words.get("step") > 0 && !data.player ? Math.max(0, stepped) : 0;
  if (number !== graph.number) use(number);
  const wanted = stepOf(words.get("step"));
  if (wanted !== step) show(wanted, { isPast: true });
  let id = "";
  try { id = decodeURIComponent(words.get("node") || ""); } catch { return; }
  const node = !id ? -1 : graph.byId.get(id) ?? graph.nodes.findIndex((one) => one.name === id);
  const group = graph.groups.findIndex((one) => `group:${one.name}` === id);
  if (node >= 0) pick({ node }, { isPast: true });
  else if (group >= 0) pick({ group }, { isPast: true });
  else if (picked) pick(null, { isPast: true });
  if (words.has("step")) remember({ isNew: false });  // there may be no such step
}
