/* What the page says of a box, its neighbours, its ways to the root; the search; the table of all boxes. */

const MOST_PATHS = 6, MOST_ROWS = 200, MOST_NEIGHBOURS = 50, MOST_HITS = 40;
const NUMBER = /(?:^|= )(-?[\d.]+(?:e[+-]?\d+)?)$/;

// ---------------------------------------------------------------- choosing
/** Choose a box or a group, unfold what hides it, and put it into the address, so that the browser's Back goes back. */
function pick(what, { isPast = false } = {}) {
  picked = what;
  trail = null;
  if (what && what.node !== undefined) {
    let isHidden = false;
    for (let g = graph.nodes[what.node].in; g >= 0; g = graph.groups[g].up) if (graph.closed.delete(g)) isHidden = true;
    if (isHidden) relayout(what.node);
  }
  if (!isPast) remember();
  panel();
  if (what) reveal(what);
  draw();
}
function remember({ isNew = true } = {}) {
  const of = (what) => what.node !== undefined ? graph.nodes[what.node].id : `group:${graph.groups[what.group].name}`;
  const words = [graph.number ? `view=${graph.name}` : "", step ? `step=${step}` : "", picked ? `node=${encodeURIComponent(of(picked))}` : ""];
  const hash = words.filter(Boolean).join("&"), address = hash ? `#${hash}` : location.pathname + location.search;
  if (location.hash.slice(1) === hash) return;
  try { if (isNew) history.pushState(null, "", address); else history.replaceState(null, "", address); } catch { /* a sandboxed frame has no history */ }
}

/** Show what the address says: #node=ID, #node=NAME, #step=3, #view=dataflow, or several of them with & between. */
function fromHash() {
  const words = new Map(location.hash.slice(1).split("&").map((word) => { const at = word.indexOf("="); return [word.slice(0, at), word.slice(at + 1)]; }));
  const wantedStep = +words.get("step") || 0, wantedView = data.views.findIndex((one) => one.name === words.get("view"));
  const number = wantedView >= 0 ? wantedView : wantedStep && !words.has("view") ? Math.max(0, data.views.findIndex((one) => (one.steps || []).length)) : 0;
  if (number !== graph.number) use(number);
  if (wantedStep !== step) show(wantedStep, { isPast: true });
  let wanted = "";
  try { wanted = decodeURIComponent(words.get("node") || ""); } catch { return; }
  const named = () => graph.nodes.findIndex((node) => node.name === wanted);
  const node = !wanted ? -1 : graph.byId.has(wanted) ? graph.byId.get(wanted) : named();
  const group = graph.groups.findIndex((one) => `group:${one.name}` === wanted);
  if (node >= 0) pick({ node }, { isPast: true });
  else if (group >= 0) pick({ group }, { isPast: true });
  else if (picked) pick(null, { isPast: true });
}
function boxFor(what) {
  const isIt = (box) => box.group === what.group;
  return what.node !== undefined ? boxOf[what.node] : drawn.boxes.find(isIt) || drawn.frames.find(isIt);
}

/** Bring a box into sight, large enough to be read. */
function reveal(what) {
  const box = boxFor(what), { width, height } = stage.getBoundingClientRect();
  if (!box) return;
  if (view.k < 0.6) view.k = 0.9;
  const x = (box.x + box.w / 2) * view.k + view.x, y = (box.y + box.h / 2) * view.k + view.y;
  if (x < 60 || y < 40 || x > width - 60 || y > height - 40) { view.x += width / 2 - x; view.y += height / 2 - y; }
}
function focusOn(what) {
  pick(what);
  const box = boxFor(what), made = box && mounted.get(box.id || `f${box.group}`);
  (made || stage).focus({ preventScroll: true });
}
function isIn(i, group) {
  for (let g = graph.nodes[i].in; g >= 0; g = graph.groups[g].up) if (g === group) return true;
  return false;
}
function toggle(group) {
  const keep = graph.nodes.findIndex((_, i) => isIn(i, group));
  if (!graph.closed.delete(group)) graph.closed.add(group);
  relayout(keep);
  focusOn({ group });
}

// ---------------------------------------------------------------- the panel
function panel() {
  const side = $("panel");
  side.hidden = !picked;
  if (!picked) side.replaceChildren();
  else if (picked.group !== undefined) side.replaceChildren(...ofGroup(picked.group));
  else side.replaceChildren(...ofNode(picked.node));
}
function ofGroup(g) {
  const word = graph.closed.has(g) ? "Unfold" : "Fold";
  return [el("h2", {}, graph.groups[g].name), el("p", {}, `a group of ${graph.groups[g].size} boxes`), el("button", { onclick: () => toggle(g) }, word)];
}
function ofNode(i) {
  const node = graph.nodes[i], { into, out, groups } = graph;
  const facts = node.facts.flatMap(([key, value]) => [el("dt", {}, key), el("dd", { class: key.startsWith("grad") ? "gradient" : null }, value)]);
  const way = el("button", { id: "trail", "aria-pressed": String(!!trail), onclick: light, "aria-keyshortcuts": "p" }, "Paths to the root");
  const fold = node.in >= 0 ? el("button", { onclick: () => toggle(node.in) }, `Fold ${groups[node.in].name}`) : null;
  const list = (edges, end) => el("ul", {}, ...edges.slice(0, MOST_NEIGHBOURS).map((e) => neighbour(graph.edges[e], end)));
  return [
    el("h2", {}, name(i)), el("dl", {}, ...facts), el("p", {}, way, " ", fold), ...chainRule(i),
    ...(node.code ? [el("h3", {}, node.place), el("pre", {}, node.code)] : []),
    ...(into[i].length ? [el("h3", {}, `Made from (${into[i].length})`), list(into[i], "from")] : []),
    ...(out[i].length ? [el("h3", {}, `Used by (${out[i].length})`), list(out[i], "to")] : []),
  ];
}
function neighbour(edge, end) {
  const texts = [`${end === "to" ? "→" : "←"} ${title(edge[end])}`, edge.local && `local derivative ${edge.local}`, edge.handed && `hands back ${edge.handed}`];
  return el("li", {}, el("button", { onclick: () => focusOn({ node: edge[end] }) }, texts.filter(Boolean).join("\n   ")));
}

/** The product of the local derivatives along each path to the root, where all of them are known as factors. */
function chainRule(i) {
  if (graph.roots.has(i) || graph.edges.length > 400) return [];
  const found = paths(i), factors = found.map((path) => path.map((e) => graph.edges[e].local).filter(Boolean));
  const isProduct = found.length && found.every((path, k) => path.length === factors[k].length && factors[k].every((text) => NUMBER.test(text)));
  if (!isProduct) return [];
  const rows = factors.slice(0, MOST_PATHS).map((path) => path.map((text) => `(${text})`).join(" · "));
  return [el("h3", {}, "Chain rule"), el("pre", { class: "gradient" }, rows.join("\n+ ") + (found.length > MOST_PATHS ? "\n+ …" : ""))];
}
function paths(i) {
  const found = [], todo = [[i, []]];
  while (todo.length && found.length <= MOST_PATHS) {
    const [at, path] = todo.pop();
    if (graph.roots.has(at)) { found.push(path); continue; }
    for (const e of [...graph.out[at]].reverse()) if (graph.edges[e].kind === "data") todo.push([graph.edges[e].to, [...path, e]]);
  }
  return found;
}

/** All boxes and lines between a box and the roots. */
function reach(i) {
  const found = { nodes: new Set([i]), edges: new Set() }, todo = [i];
  while (todo.length) {
    for (const e of graph.out[todo.pop()]) {
      const { kind, to } = graph.edges[e];
      if (kind !== "data") continue;
      found.edges.add(e);
      if (!found.nodes.has(to)) { found.nodes.add(to); todo.push(to); }
    }
  }
  return found;
}
function light() {
  trail = trail ? null : reach(picked.node);
  if ($("trail")) $("trail").setAttribute("aria-pressed", String(!!trail));
  draw();
}

// ---------------------------------------------------------------- search
let list = [], at = -1;
const hay = (i) => {
  const node = graph.nodes[i];
  return (node.hay ||= `${node.id} ${node.kind} ${title(i)} ${node.facts.map((fact) => fact.join(" = ")).join(" ")} ${node.code || ""}`.toLowerCase());
};
function search(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  list = words.length ? graph.nodes.map((_, i) => i).filter((i) => words.every((word) => hay(i).includes(word))) : [];
  hits = new Set(list);
  at = -1;
  const choose = (i) => () => { $("hits").hidden = true; focusOn({ node: i }); };
  const option = (i, k) => el("button", { role: "option", id: `hit${k}`, "aria-selected": "false", tabindex: -1, onclick: choose(i) }, title(i).slice(0, 80));
  $("hits").replaceChildren(...list.slice(0, MOST_HITS).map(option));
  if (words.length) $("hits").append(el("div", { class: "muted", role: "option" }, list.length ? `${list.length} found` : "nothing found"));
  $("hits").hidden = !words.length;
  $("search").setAttribute("aria-expanded", String(!!words.length));
  draw();
}
$("search").addEventListener("input", (event) => search(event.target.value));
$("search").addEventListener("keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1, Enter: event.shiftKey ? -1 : 1 }[event.key];
  if (event.key === "Escape") { event.target.value = ""; search(""); stage.focus(); event.stopPropagation(); }
  if (!move || !list.length) return;
  event.preventDefault();
  at = (at + move + list.length) % list.length;
  [...$("hits").querySelectorAll("button")].forEach((button, k) => button.setAttribute("aria-selected", String(k === at)));
  $("search").setAttribute("aria-activedescendant", `hit${at}`);
  pick({ node: list[at] });
});

// ---------------------------------------------------------------- the table
function fillTable() {
  const button = (i) => el("button", { onclick: () => focusOn({ node: i }) }, graph.nodes[i].id);
  const row = (i) => {
    const texts = [graph.nodes[i].kind, title(i), graph.into[i].map((e) => name(graph.edges[e].from)).join(", "), graph.out[i].map((e) => name(graph.edges[e].to)).join(", ")];
    return el("tr", {}, el("th", { scope: "row" }, button(i)), ...texts.map((text) => el("td", {}, text)));
  };
  const heads = ["Box", "Kind", "Says", "Made from", "Used by"].map((text) => el("th", { scope: "col" }, text));
  const body = el("tbody"), more = el("button", { onclick: () => add() }, "More rows");
  let from = 0;
  const add = () => {
    for (const to = Math.min(from + MOST_ROWS, graph.nodes.length); from < to; from++) body.append(row(from));
    more.hidden = from >= graph.nodes.length;
  };
  const caption = el("caption", { class: "unseen" }, "Every box with what it is made from and what uses it");
  $("list").querySelectorAll("table, button").forEach((old) => { if (!old.closest("summary")) old.remove(); });
  $("list").append(el("table", {}, caption, el("thead", {}, el("tr", {}, ...heads)), body), more);
  add();
}
$("list").addEventListener("toggle", () => { if ($("list").open && !$("list").querySelector("table")) fillTable(); });
