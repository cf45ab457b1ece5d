/* Where boxes and lines are, and how they are drawn: SVG of what is in sight, a canvas from far away. */

const MOST = 500;      // boxes in sight that are SVG; more are drawn on the canvas
const SMALL = 0.28;    // the scale from which down nobody reads what a box says
const LINE = 15;       // pixels from one line of text to the next
const ROUND = ["leaf", "frozen", "intermediate", "placeholder"];
const FILLS = { frozen: "dashed", constant: "dashed", placeholder: "leaf" };
const stage = $("stage"), world = $("world"), stageBox = () => stage.getBoundingClientRect();

let drawn;             // the layout: boxes, frames, lines
let boxOf;             // for each node the box that shows it, its own or that of a closed group
let view = { x: 0, y: 0, k: 1 };
let isFitted = true;   // whether the whole graph is in sight, as it stays when the window gets smaller
let opened;            // the view as text that the page has chosen itself

// ---------------------------------------------------------------- layout
/** The size of a box; it has room for all that it says at any step, so that nothing moves. */
function size(i, isFolded) {
  const atSteps = isFolded ? [] : graph.steps.map((one, s) => one.says[i] ? saysAt(i, s + 1) : []);
  const all = [isFolded ? groupLines(i) : saysAt(i, 0), ...atSteps];
  const widest = Math.max(24, ...all.flat().map((line) => wide(plain(line))));
  return [widest + 16, Math.max(...all.map((lines) => lines.length)) * LINE + 8];
}

/** Lay out anew; the box of node `keep` stays where it is on the screen. */
function relayout(keep) {
  const before = keep !== undefined && boxOf && boxOf[keep];
  const { nodes, edges, groups, closed, across, circuit } = graph;
  const plainGraph = { nodes: nodes.map((node) => ({ g: node.in })), edges: edges.map((e) => [e.from, e.to]), groups };
  drawn = circuit ? circuitLayout() : layout(plainGraph, closed, size, across);
  boxOf = nodes.map(() => null);
  const byGroup = new Map();
  for (const box of drawn.boxes) {
    box.id ||= isGroup(box) ? `g${box.group}` : `n${box.node}`;
    box.members = isGroup(box) ? [] : [box.node];
    if (isGroup(box)) byGroup.set(box.group, box);
    else boxOf[box.node] ||= box;
  }
  nodes.forEach((node, i) => {
    for (let g = node.in; !boxOf[i] && g >= 0; g = groups[g].up) boxOf[i] = byGroup.get(g) || null;
    if (boxOf[i] && isGroup(boxOf[i])) boxOf[i].members.push(i);
  });
  if (!circuit) drawn.lines.forEach(finishLine);
  clear();
  const after = boxOf[keep];
  if (before && after) {
    isFitted = false;
    view.x += (before.x + before.w / 2 - after.x - after.w / 2) * view.k;
    view.y += (before.y + before.h / 2 - after.y - after.h / 2) * view.k;
  }
  tellCount();
  paint();
}

/** Give a line its path, its head and the rectangle that holds it. */
function finishLine(line, number) {
  const last = line.points[line.points.length - 1], all = line.points.flat();
  const xs = all.map((p) => p[0]), ys = all.map((p) => p[1]);
  line.id = `l${number}`;
  line.d = line.points.map(path).join("");
  line.tip = tip(last[last.length - 1]);
  line.box = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
  line.kind = graph.edges[line.edges[0]].kind;
}
function path(points) {
  let d = `M${tenth(points[0][0])},${tenth(points[0][1])}`;
  for (let i = 1; i < points.length; i++) {
    const [x, y] = points[i - 1].map(tenth), [u, v] = points[i].map(tenth);
    const mx = tenth((x + u) / 2), my = tenth((y + v) / 2);
    if (Math.abs(graph.across ? y - v : x - u) < 0.5) d += `L${u},${v}`;
    else d += graph.across ? `C${mx},${y} ${mx},${v} ${u},${v}` : `C${x},${my} ${u},${my} ${u},${v}`;
  }
  return d;
}
function tip([x, y], way = 1) {
  const side = graph.across ? `l${-8 * way},-3.6v7.2z` : `l-3.6,${-8 * way}h7.2z`;
  return `M${tenth(x)},${tenth(y)}${side}`;
}

// ---------------------------------------------------------------- drawing
const mounted = new Map();  // by its key what is in the document, with the box, the line or the frame that it is
let waiting = 0;
function clear() {
  for (const layer of ["frames", "lines", "boxes"]) $(layer).replaceChildren();
  mounted.clear();
}
function paint() { if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; draw(); }); }

/** Draw what is in sight, with a margin; what is there already stays. */
function draw() {
  const { width, height } = stageBox();
  const left = -view.x / view.k, top = -view.y / view.k, right = left + width / view.k, bottom = top + height / view.k;
  const mx = (right - left) * 0.2, my = (bottom - top) * 0.2;
  const sees = (x, y, u, v) => x < right + mx && u > left - mx && y < bottom + my && v > top - my;
  const seesBox = (b) => sees(b.x, b.y, b.x + b.w, b.y + b.h);
  const boxes = drawn.boxes.filter(seesBox);
  const isFar = boxes.length > MOST || (view.k < SMALL && drawn.boxes.length > 60);
  world.setAttribute("transform", `translate(${view.x},${view.y}) scale(${view.k})`);
  world.setAttribute("display", isFar ? "none" : "inline");
  drawFar(isFar ? boxes : [], width, height);
  if (isFar) return;
  const wanted = new Set();
  const mount = (layer, key, make, what) => {
    wanted.add(key);
    if (mounted.has(key)) return;
    const made = make();
    mounted.set(key, { made, ...what });
    $(layer).append(made);
  };
  if (graph.circuit) mount("frames", "circuit", () => el(":g", {}, ...circuitShapes("")));
  for (const frame of drawn.frames) if (seesBox(frame)) mount("frames", `f${frame.group}`, () => frameShape(frame));
  for (const line of drawn.lines) if (sees(...line.box)) mount("lines", line.id, () => lineShape(line), { line });
  for (const box of boxes) mount("boxes", box.id, () => boxShape(box), { box });
  const focused = document.activeElement && document.activeElement.dataset.key;
  for (const [key, { made }] of mounted) {
    if (!wanted.has(key) && key !== focused) { made.remove(); mounted.delete(key); }
  }
  mark();
}

/** Draw on the canvas, without texts; nothing for no boxes. */
function drawFar(boxes, width, height) {
  const canvas = $("far"), ratio = devicePixelRatio || 1, ink = canvas.getContext("2d");
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
  ink.setTransform(1, 0, 0, 1, 0, 0);
  ink.clearRect(0, 0, w, h);
  if (!boxes.length) return;
  const colours = {}, colour = (word) => (colours[word] ||= property(`--${word}`));
  ink.setTransform(view.k * ratio, 0, 0, view.k * ratio, view.x * ratio, view.y * ratio);
  ink.lineWidth = Math.max(1, 0.7 / view.k);
  ink.strokeStyle = colour("line");
  ink.globalAlpha = 0.6;
  ink.stroke(drawn.path ||= new Path2D(drawn.lines.map((line) => line.d).join("")));
  const hot = lights(), hasPens = view.k > 0.05;
  for (const box of boxes) {
    const state = hot.box(box), kind = isGroup(box) ? "output" : graph.nodes[box.node].kind;
    const look = FILLS[kind] || kind;
    ink.globalAlpha = state.ghost ? 0.2 : 1;
    ink.fillStyle = state.picked ? colour("focus") : state.hit ? colour("gradient") : colour(`${look}-fill`);
    ink.strokeStyle = colour(`${look}-pen`);
    ink.fillRect(box.x, box.y, box.w, box.h);
    if (hasPens) ink.strokeRect(box.x, box.y, box.w, box.h);
  }
  ink.globalAlpha = 1;
}

// ---------------------------------------------------------------- shapes
function textShapes(box) {
  const x = box.x + box.w / 2, y = (i) => box.y + 4 + LINE * (i + 0.76);
  return linesOf(box).map((line, i) => el(":text", { x, y: y(i), "text-anchor": "middle" }, ...spans(line, ":tspan")));
}
/** A box: its class says its kind; to be pressed and focused, unless it is still. */
function boxShape(box, isStill = false) {
  const shapes = graph.circuit ? circuitShapes(box.id) : [...rectShapes(box), ...textShapes(box)];
  const attributes = { class: graph.circuit ? "card" : `box ${classOf(box)}`, display: shapes.length ? null : "none" };
  if (isStill) return el(":g", attributes, ...shapes);
  const seen = shapes.map((shape) => shape.textContent).filter(Boolean).join(" ");
  const said = linesOf(box).map(plain).join(" ").trim();
  const label = [...new Set([seen, said, wiresText(box)])].join(" ; "), isFolded = isGroup(box) ? "false" : null;
  const role = { "data-key": box.id, role: "button", tabindex: -1, "aria-label": label, "aria-expanded": isFolded };
  return el(":g", { ...attributes, ...role }, ...shapes.flatMap((shape) => [shape, " "]));
}
function wiresText(box) {
  return isGroup(box) ? "folded" : `${graph.into[box.node].length} inputs, used ${graph.out[box.node].length} times`;
}
function classOf(box) {
  if (isGroup(box)) return "group";
  const { kind, says } = graph.nodes[box.node], isBad = says.flat().some(([, ink]) => ink === "error");
  return (graph.roots.has(box.node) && kind === "operation" ? "output" : kind) + (isBad ? " bad" : "");
}
function rectShapes(box) {
  const isRound = !isGroup(box) && ROUND.includes(graph.nodes[box.node].kind);
  const rect = { x: box.x, y: box.y, width: box.w, height: box.h, rx: isRound ? 7 : 2 };
  const under = isGroup(box) ? [el(":rect", { ...rect, x: box.x + 4, y: box.y + 4, class: "under" })] : [];
  return [...under, el(":rect", rect)];
}
/** Everything, to be printed or saved. */
function stillShapes() {
  const hot = lights();
  const frames = graph.circuit ? circuitShapes("") : drawn.frames.map((frame) => frameShape(frame, true));
  const lines = drawn.lines.map((line) => setClasses(lineShape(line), hot.line(line), true));
  return [...frames, ...lines, ...drawn.boxes.map((box) => setClasses(boxShape(box, true), hot.box(box), false))];
}
function lineShape(line) {
  if (graph.circuit) return el(":g", {}, ...circuitShapes(line.id));
  const head = line.kind === "saved" ? null : el(":path", { d: line.tip, class: "tip" });
  const back = el(":path", { d: tip(line.points[0][0], -1), class: "tip against" });
  return el(":g", {}, el(":path", { d: line.d, class: `edge${line.kind ? " dash" : ""}` }), head, back);
}
function frameShape(frame, isStill = false) {
  const label = `⊟ ${graph.groups[frame.group].name}`;
  const role = {
    "data-key": `f${frame.group}`, role: "button", tabindex: -1,
    "aria-expanded": "true", "aria-label": `${label}, unfolded`,
  };
  const rect = el(":rect", { x: frame.x, y: frame.y, width: frame.w, height: frame.h, rx: 6 });
  const text = el(":text", { x: frame.x + 8, y: frame.y + 15, class: "muted" }, label);
  return el(":g", { class: "frame", ...(isStill ? {} : role) }, rect, text);
}
