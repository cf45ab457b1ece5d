/* The graph that is shown, its layout, and how it is drawn: SVG of what is in sight, a canvas from far away. */

const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const SVG = "http://www.w3.org/2000/svg";
const MOST = 500;      // boxes in sight that are SVG; more are drawn on the canvas
const SMALL = 0.28;    // the scale from which down nobody reads what a box says
const LINE = 15;       // pixels from one line of text to the next
const SCREEN = 90;     // boxes that a screen holds
const READABLE = 0.5;  // the scale from which on what boxes say can be read
const ROUND = ["leaf", "frozen", "intermediate", "placeholder"];
const FILLS = { frozen: "dashed", constant: "dashed", placeholder: "leaf" };
const stage = $("stage"), world = $("world");

let graph;             // the view: nodes, edges, groups, steps, and what follows from them
let drawn;             // the layout: boxes, frames, lines
let boxOf;             // for each node the box that shows it, its own or that of a closed group
let view = { x: 0, y: 0, k: 1 };
let picked = null;     // {node} or {group}
let hits = new Set(), trail = null, step = 0, hasNumbers = true;

/** Make an element; a tag that begins with a colon is SVG's. Texts become text nodes, never markup. */
function el(tag, attributes = {}, ...inside) {
  const made = tag[0] === ":" ? document.createElementNS(SVG, tag.slice(1)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...inside.filter((x) => x !== null));
  return made;
}

// ---------------------------------------------------------------- the view
/** Take a view of the data: its edges and groups as objects, neighbours, and which groups are open at first. */
function take(number) {
  const own = data.views[number];
  const nodes = own.nodes, count = nodes.length;
  const edges = own.edges.map(([from, to, kind = "data", local = "", handed = ""]) => ({ from, to, kind, local, handed }));
  const groups = own.groups.map(([name, up]) => ({ name, up, size: 0, inside: 0 }));
  const out = nodes.map(() => []), into = nodes.map(() => []);
  edges.forEach((edge, e) => { out[edge.from].push(e); into[edge.to].push(e); });
  for (const node of nodes) {
    if (node.in >= 0) groups[node.in].inside++;
    for (let g = node.in; g >= 0; g = groups[g].up) groups[g].size++;
  }
  for (const group of groups) if (group.up >= 0) groups[group.up].inside++;
  const byId = new Map(nodes.map((node, i) => [node.id, i]));
  const steps = own.steps || [];
  graph = { ...own, number, nodes, edges, groups, out, into, byId, steps, roots: new Set(own.roots), across: !!own.across };
  graph.closed = new Set(groups.map((_, g) => g));
  openWhatFits(count);
  let known = [], handed = [];
  for (const one of steps) {  // each tells what is new
    one.isLit = new Set(one.lit);
    one.isKnown = new Set(known = known.concat(one.known));
    one.isHanded = new Set(handed = handed.concat(one.handed));
  }
}

/** Open groups from the outside in, a level at a time, as long as a screen holds it. */
function openWhatFits() {
  const { nodes, groups, closed } = graph;
  let room = SCREEN - nodes.filter((node) => node.in < 0).length;
  let level = groups.map((_, g) => g).filter((g) => groups[g].up < 0);
  while (level.length) {
    const cost = level.reduce((sum, g) => sum + groups[g].inside - 1, 0);
    if (cost > room && nodes.length > SCREEN) break;
    room -= cost;
    for (const g of level) closed.delete(g);
    const open = new Set(level);
    level = groups.map((_, g) => g).filter((g) => open.has(groups[g].up));
  }
}

/** Close the innermost open groups; return whether there were any. */
function closeInnermost() {
  const { groups, closed } = graph, depth = groups.map(() => 0);
  groups.forEach((group, g) => { depth[g] = group.up < 0 ? 1 : depth[group.up] + 1; });  // an outer group has a smaller number
  const open = groups.map((_, g) => g).filter((g) => !closed.has(g)), deepest = Math.max(0, ...open.map((g) => depth[g]));
  for (const g of open) if (depth[g] === deepest) closed.add(g);
  return open.length > 0;
}

// ---------------------------------------------------------------- texts
const pen = document.createElement("canvas").getContext("2d"), widths = new Map();
pen.font = '12px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace';
function wide(text) { if (!widths.has(text)) widths.set(text, pen.measureText(text).width); return widths.get(text); }
const plain = (line) => line.map((span) => span[0]).join("");

/** What a node says: all of it, at a step what is known then, or without numbers the first line. */
function says(i) {
  const node = graph.nodes[i];
  if (!hasNumbers) return [node.name ? [[node.name, "", 1]] : node.says[0]];
  for (let s = step; s > 0; s--) { const then = graph.steps[s - 1].says[i]; if (then) return then; }
  return step ? [] : node.says;
}
const title = (i) => graph.nodes[i].says.map(plain).join(" · ").trim() || graph.nodes[i].id;
/** How the page calls a node: an operation that has a box beside its result by its class. */
function name(i) {
  const node = graph.nodes[i], first = plain(node.says[0] || []);
  return (node.kind === "operation" && graph.name === "torchviz" ? first : node.name) || first || node.id;
}
const groupLines = (g) => [[[graph.groups[g].name, "", 1]], [[`${graph.groups[g].size} boxes  ⊞`, "muted"]]];
const linesOf = (box) => box.group !== undefined ? groupLines(box.group) : says(box.node);

/** The size of a box; it has room for all that it says at any step, so that nothing moves. */
function size(i, isGroup) {
  const then = hasNumbers && !isGroup ? graph.steps.map((one) => one.says[i]).filter(Boolean) : [];
  const all = [isGroup ? groupLines(i) : hasNumbers ? graph.nodes[i].says : says(i), ...then];
  const widest = Math.max(24, ...all.flat().map((line) => wide(plain(line))));
  return [widest + 16, Math.max(...all.map((lines) => lines.length)) * LINE + 8];
}

// ---------------------------------------------------------------- layout
/** Lay out anew; the box of node `keep` stays where it is on the screen. */
function relayout(keep) {
  const before = keep !== undefined && boxOf && boxOf[keep];
  const { nodes, edges, groups, closed, across } = graph;
  const plainGraph = { nodes: nodes.map((node) => ({ g: node.in })), edges: edges.map((e) => [e.from, e.to]), groups };
  drawn = layout(plainGraph, closed, size, across);
  boxOf = nodes.map(() => null);
  const byGroup = new Map();
  for (const box of drawn.boxes) {
    box.id = box.group === undefined ? `n${box.node}` : `g${box.group}`;
    box.members = box.group === undefined ? [box.node] : [];
    if (box.group !== undefined) byGroup.set(box.group, box); else boxOf[box.node] = box;
  }
  nodes.forEach((node, i) => {
    for (let g = node.in; !boxOf[i] && g >= 0; g = groups[g].up) boxOf[i] = byGroup.get(g) || null;
    if (boxOf[i] && boxOf[i].group !== undefined) boxOf[i].members.push(i);
  });
  drawn.byKey = new Map(drawn.boxes.map((box) => [box.id, box]));
  for (const line of drawn.lines) {
    const last = line.points[line.points.length - 1], all = line.points.flat();
    const xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
    line.d = line.points.map(path).join("");
    line.tip = tip(last[last.length - 1]);
    line.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    line.kind = edges[line.edges[0]].kind;
  }
  clear();
  const after = boxOf[keep];
  if (before && after) {
    view.x += (before.x + before.w / 2 - after.x - after.w / 2) * view.k;
    view.y += (before.y + before.h / 2 - after.y - after.h / 2) * view.k;
  }
  $("count").textContent = `${drawn.boxes.length} of ${nodes.length} boxes`;
  paint();
}
const tenth = (x) => Math.round(x * 10) / 10;
function path(points) {
  let d = `M${tenth(points[0][0])},${tenth(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i - 1].map(tenth), [u, v] = points[i].map(tenth);
    const isStraight = graph.across ? Math.abs(y - v) < 0.5 : Math.abs(x - u) < 0.5;
    const mx = tenth((x + u) / 2), my = tenth((y + v) / 2);
    d += isStraight ? `L${u},${v}` : graph.across ? `C${mx},${y} ${mx},${v} ${u},${v}` : `C${x},${my} ${u},${my} ${u},${v}`;
  }
  return d;
}
const tip = ([x, y], way = 1) => `M${tenth(x)},${tenth(y)}${graph.across ? `l${-8 * way},-3.6v7.2z` : `l-3.6,${-8 * way}h7.2z`}`;

// ---------------------------------------------------------------- drawing
const mounted = new Map();
let waiting = 0;
function clear() { for (const layer of ["frames", "lines", "boxes"]) $(layer).replaceChildren(); mounted.clear(); }
function paint() { if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; draw(); }); }

/** Draw what is in sight, with a margin; what is there already stays. */
function draw() {
  const { width, height } = stage.getBoundingClientRect();
  const left = -view.x / view.k, top = -view.y / view.k, right = left + width / view.k, bottom = top + height / view.k;
  const mx = (right - left) * 0.2, my = (bottom - top) * 0.2;
  const sees = (x, y, u, v) => x < right + mx && u > left - mx && y < bottom + my && v > top - my;
  const seesBox = (b) => sees(b.x, b.y, b.x + b.w, b.y + b.h);
  const boxes = drawn.boxes.filter(seesBox);
  const isFar = boxes.length > MOST || (view.k < SMALL && drawn.boxes.length > 60);
  world.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.k})`);
  world.setAttribute("display", isFar ? "none" : "inline");
  drawFar(isFar ? boxes : [], width, height, [left, top, right, bottom]);
  if (isFar) return;
  const wanted = new Set();
  const mount = (layer, key, make) => {
    wanted.add(key);
    if (mounted.has(key)) return;
    const made = make();
    mounted.set(key, made);
    $(layer).append(made);
  };
  for (const frame of drawn.frames) if (seesBox(frame)) mount("frames", `f${frame.group}`, () => frameShape(frame));
  drawn.lines.forEach((line, i) => { if (sees(...line.box)) mount("lines", `l${i}`, () => lineShape(line)); });
  for (const box of boxes) mount("boxes", box.id, () => boxShape(box));
  const focused = document.activeElement && document.activeElement.dataset && document.activeElement.dataset.key;
  for (const [key, made] of mounted) if (!wanted.has(key) && key !== focused) { made.remove(); mounted.delete(key); }
  mark();
}

/** Draw on the canvas, without texts; nothing for no boxes. */
function drawFar(boxes, width, height, [left, top, right, bottom]) {
  const canvas = $("far"), ratio = devicePixelRatio || 1, ink = canvas.getContext("2d");
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  ink.setTransform(1, 0, 0, 1, 0, 0);
  ink.clearRect(0, 0, w, h);
  if (!boxes.length) return;
  const style = getComputedStyle(document.documentElement), colours = {};
  const colour = (word) => (colours[word] ||= style.getPropertyValue(`--${word}`));
  ink.setTransform(view.k * ratio, 0, 0, view.k * ratio, view.x * ratio, view.y * ratio);
  ink.lineWidth = Math.max(1, 0.7 / view.k);
  ink.strokeStyle = colour("line");
  ink.globalAlpha = 0.6;
  const all = new Path2D();
  for (const line of drawn.lines) {
    const [x, y, u, v] = line.box;
    if (x < right && u > left && y < bottom && v > top) all.addPath(line.path ||= new Path2D(line.d));
  }
  ink.stroke(all);
  const hot = lights();
  for (const box of boxes) {
    const state = hot.box(box), kind = box.group !== undefined ? "output" : graph.nodes[box.node].kind;
    const look = FILLS[kind] || kind;
    ink.globalAlpha = state.ghost ? 0.2 : 1;
    ink.fillStyle = state.picked ? colour("focus") : state.hit ? colour("gradient") : colour(`${look}-fill`);
    ink.strokeStyle = colour(`${look}-pen`);
    ink.fillRect(box.x, box.y, box.w, box.h);
    ink.strokeRect(box.x, box.y, box.w, box.h);
  }
  ink.globalAlpha = 1;
}

function textShapes(box) {
  const x = box.x + box.w / 2;
  const span = ([text, ink, isBold]) => el(":tspan", { class: [ink, isBold ? "b" : ""].join(" ").trim() || null }, text);
  return linesOf(box).map((line, i) => el(":text", { x, y: box.y + 4 + LINE * (i + 0.76), "text-anchor": "middle" }, ...line.map(span)));
}
function boxShape(box, isStill = false) {
  const isGroup = box.group !== undefined, node = graph.nodes[box.node];
  const kind = isGroup ? "group" : graph.roots.has(box.node) && node.kind === "operation" ? "output" : node.kind;
  const isBad = !isGroup && node.says.some((line) => line.some((span) => span[1] === "error"));
  const rect = { x: box.x, y: box.y, width: box.w, height: box.h, rx: ROUND.includes(kind) ? 7 : 2 };
  const text = linesOf(box).map(plain).join(" ").trim();
  const wires = isGroup ? "folded" : `${graph.into[box.node].length} inputs, used ${graph.out[box.node].length} times`;
  const attributes = { class: `box ${kind}${isBad ? " bad" : ""}` };
  const role = { "data-key": box.id, role: "button", tabindex: -1, "aria-label": `${text} ; ${wires}`, "aria-expanded": isGroup ? "false" : null };
  const under = isGroup ? el(":rect", { ...rect, x: rect.x + 4, y: rect.y + 4, class: "under" }) : null;
  return el(":g", isStill ? attributes : { ...attributes, ...role }, under, el(":rect", rect), ...textShapes(box));
}
function lineShape(line) {
  const head = line.kind === "saved" ? null : el(":path", { d: line.tip, class: "tip" });
  const back = el(":path", { d: tip(line.points[0][0], -1), class: "tip against" });
  return el(":g", {}, el(":path", { d: line.d, class: `edge${line.kind === "data" ? "" : " dash"}` }), head, back);
}
function frameShape(frame, isStill = false) {
  const label = `⊟ ${graph.groups[frame.group].name}`;
  const role = { "data-key": `f${frame.group}`, role: "button", tabindex: -1, "aria-expanded": "true", "aria-label": `${label}, unfolded` };
  const rect = el(":rect", { x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 6 });
  return el(":g", { class: "frame", ...(isStill ? {} : role) }, rect, el(":text", { x: frame.x + 8, y: frame.y + 15, class: "muted" }, label));
}

// ---------------------------------------------------------------- what is lit
/** Return what each box and line is now: picked, near to it, found, on the way to the root, lit by the step, not there yet. */
function lights() {
  const now = step ? graph.steps[step - 1] : null, near = new Set(), nearEdges = new Set();
  if (picked !== null && picked.node !== undefined && !trail) {
    for (const e of [...graph.out[picked.node], ...graph.into[picked.node]]) {
      nearEdges.add(e);
      near.add(graph.edges[e].from).add(graph.edges[e].to);
    }
  }
  const any = (box, set) => set.size > 0 && box.members.some((i) => set.has(i));
  const isPicked = (box) => picked !== null && (picked.node !== undefined ? box === boxOf[picked.node] : picked.group === box.group);
  return {
    box: (box) => ({
      picked: isPicked(box), near: any(box, near), hit: any(box, hits), lit: !!now && any(box, now.isLit),
      ghost: (!!trail && !any(box, trail.nodes)) || (!!now && !any(box, now.isKnown) && !any(box, now.isLit)),
    }),
    line: (line) => ({
      on: line.edges.some((e) => nearEdges.has(e) || (trail && trail.edges.has(e))),
      back: !!now && line.edges.some((e) => now.isHanded.has(e)),
      ghost: (!!trail && !line.edges.some((e) => trail.edges.has(e))) || (!!now && !line.edges.some((e) => now.isKnown.has(graph.edges[e].to))),
    }),
  };
}

/** Mark what is mounted, and only where it changes: a class that is set anew costs a style. */
function mark() {
  const hot = lights();
  for (const [key, made] of mounted) {
    if (key[0] === "f") continue;
    const state = key[0] === "l" ? hot.line(drawn.lines[+key.slice(1)]) : hot.box(drawn.byKey.get(key));
    const text = JSON.stringify(state);
    if (made.state === text) continue;
    made.state = text;
    setClasses(made, state, key[0] === "l");
    if (key[0] !== "l") made.setAttribute("tabindex", state.picked ? 0 : -1);
  }
}
function setClasses(made, { ghost, ...words }, isLine) {
  made.classList.toggle("ghost", ghost);
  for (const [word, is] of Object.entries(words)) for (const part of isLine ? made.children : [made]) part.classList.toggle(word, is);
}

/** The whole graph, not what is in sight, as SVG in the colours that are shown, for any program. */
function picture() {
  const style = getComputedStyle(document.documentElement), hot = lights();
  const css = $("picture-style").textContent.replace(/var\((--[\w-]+)\)/g, (_, word) => style.getPropertyValue(word).trim());
  const [w, h] = [tenth(drawn.w + 20), tenth(drawn.h + 20)];
  const marked = (made, state, isLine) => { setClasses(made, state, isLine); return made; };
  const root = el(":svg", { xmlns: SVG, viewBox: `-10 -10 ${w} ${h}`, width: w, height: h },
    el(":title", {}, data.title), el(":style", {}, css),
    el(":rect", { x: -10, y: -10, width: w, height: h, fill: style.getPropertyValue("--page").trim() }),
    ...drawn.frames.map((frame) => frameShape(frame, true)),
    ...drawn.lines.map((line) => marked(lineShape(line), hot.line(line), true)),
    ...drawn.boxes.map((box) => marked(boxShape(box, true), hot.box(box), false)));
  return new XMLSerializer().serializeToString(root);
}
