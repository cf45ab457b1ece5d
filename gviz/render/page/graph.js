/* The graph that is shown: boxes, lines, groups and steps; which groups are closed; what boxes say. */

const SCREEN = 90;     // boxes that a screen holds
const data = JSON.parse($("data").textContent);
const inked = data.spans.map(([text, ink = 0, isBold]) => [text, data.inks[ink], isBold]);

let graph;             // the view: nodes, edges, groups, steps, and what follows from them
let step = 0;          // the step that is shown, counted from 1; 0 for the whole graph
const has = { values: true, gradients: true };

/** Take a view of the data: its edges (those of data have no kind) and groups as objects, neighbours, what is open. */
function take(number) {
  const one = data.views[number], own = { ...data.views.find((other) => other.name === one.like), ...one };
  const { circuit, steps = [] } = own;
  const nodes = own.nodes.map(([box, says, group = -1]) => {
    const [id, facts = [], line, name, kind = "operation"] = data.boxes[box], [place, code] = data.facts[line] || [];
    return { id, facts, name, kind, place, code, says: linesIn(says), in: group };
  });
  const edgeOf = ([from, to, kind = "", local = "", handed = "", exact]) => ({ from, to, kind, local, handed, exact });
  const edges = own.edges.map(edgeOf);
  const groups = own.groups.map(([name, up]) => ({ name, up, size: 0, inside: 0 }));
  const out = nodes.map(() => []), into = nodes.map(() => []);
  edges.forEach((edge, e) => { out[edge.from].push(e); into[edge.to].push(e); });
  for (const node of nodes) {
    if (node.in >= 0) groups[node.in].inside++;
    for (let g = node.in; g >= 0; g = groups[g].up) groups[g].size++;
  }
  for (const group of groups) if (group.up >= 0) groups[group.up].inside++;
  const byId = new Map(nodes.map((node, i) => [node.id, i])), roots = new Set(own.roots);
  graph = { ...own, number, nodes, edges, groups, out, into, byId, roots, across: !!own.across };
  graph.closed = new Set(circuit ? [] : groups.keys());
  if (circuit) takeCircuit(circuit);
  else openWhatFits();
  graph.steps = stepsOf(steps);
}

/** Lines of text, of the numbers of their spans. */
const linesIn = (lines) => lines.map((line) => line.map((number) => inked[number]));

/** Each step tells what is new: make sets of what is there. */
function stepsOf(steps) {
  let known = [], handed = [], half = "";
  return steps.map((one, at) => ({
    number: at + 1,
    ...one,
    half: half = one.half || half,
    caption: linesIn(one.caption),
    says: Object.fromEntries(Object.entries(one.says).map(([node, lines]) => [node, linesIn(lines)])),
    isLit: new Set(one.lit || []),
    isKnown: new Set(known = known.concat(one.known || [])),
    isHanded: new Set(handed = handed.concat(one.handed || [])),
  }));
}

// ---------------------------------------------------------------- groups
/** Open groups from the outside in, a level at a time, as long as a screen holds it. */
function openWhatFits() {
  const { nodes, groups, closed } = graph;
  let room = SCREEN - nodes.filter((node) => node.in < 0).length;
  let level = [...groups.keys()].filter((g) => groups[g].up < 0);
  while (level.length) {
    const cost = level.reduce((sum, g) => sum + groups[g].inside - 1, 0);
    if (cost > room && nodes.length > SCREEN) break;
    room -= cost;
    for (const g of level) closed.delete(g);
    const open = new Set(level);
    level = [...groups.keys()].filter((g) => open.has(groups[g].up));
  }
}

/** Close the innermost open groups; return whether there were any. */
function closeInnermost() {
  const { groups, closed } = graph, depth = [];
  groups.forEach((group, g) => { depth[g] = group.up < 0 ? 1 : depth[group.up] + 1; });  // an outer group comes first
  const open = [...groups.keys()].filter((g) => !closed.has(g)), deepest = Math.max(0, ...open.map((g) => depth[g]));
  for (const g of open) if (depth[g] === deepest) closed.add(g);
  return open.length > 0;
}
function isIn(i, group) {
  for (let g = graph.nodes[i].in; g >= 0; g = graph.groups[g].up) if (g === group) return true;
  return false;
}

// ---------------------------------------------------------------- what boxes say
const tellsGradient = (line) => line.some(([text, ink]) => ink === "gradient" || /^grad\b/.test(text));

/** What a node says at a step, as far as values and gradients are wanted; its name without them. */
function saysAt(i, at) {
  const node = graph.nodes[i];
  let last = at;  // the last step that has told something new of it
  while (last && !graph.steps[last - 1].says[i]) last--;
  const lines = at ? [node.says[0], ...(last ? graph.steps[last - 1].says[i] : [])] : node.says;
  const gradients = has.gradients ? lines.filter(tellsGradient) : [];
  if (has.values) return has.gradients ? lines : lines.filter((line) => !tellsGradient(line));
  const own = node.name && !(node.kind === "operation" && graph.name === "torchviz") ? [[node.name, "", 1]] : node.says[0];
  return [own, ...gradients];
}
const groupLines = (g) => [[[graph.groups[g].name, "", 1]], [[`${graph.groups[g].size} boxes  ⊞`, "muted"]]];
const factsOf = (node) => node.facts.map((fact) => data.facts[fact]);
const linesOf = (box) => isGroup(box) ? groupLines(box.group) : saysAt(box.node, step);
const title = (i) => graph.nodes[i].says.map(plain).join(" · ").trim() || graph.nodes[i].id;

/** How the page calls a node: an operation that has a box beside its result by its class. */
function name(i) {
  const node = graph.nodes[i], first = plain(node.says[0] || []);
  return (node.kind === "operation" && graph.name === "torchviz" ? first : node.name) || first || node.id;
}
