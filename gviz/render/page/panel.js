/* What the page says of a box beside the picture: facts, neighbours, its ways to the root and their product. */

const MOST_PATHS = 6, MOST_NEIGHBOURS = 50, MOST_LINES = 400;
const NUMBER = /(?:^|= )(-?[\d.]+(?:e[+-]?\d+)?)$/;

function panel() {
  const side = $("panel"), isCode = !picked && step > 0 && data.code.length > 0;
  const inside = !picked ? (isCode ? codeLines() : []) : isGroup(picked) ? ofGroup(picked.group) : ofNode(picked.node);
  side.hidden = !inside.length;
  side.setAttribute("aria-label", isCode ? "The program" : "Selected box");
  side.replaceChildren(...inside);
  if (isCode && $("now")) $("now").scrollIntoView({ block: "nearest" });
}
function ofGroup(g) {
  const word = graph.closed.has(g) ? "Unfold" : "Fold";
  return [
    el("h2", {}, graph.groups[g].name), el("p", {}, `a group of ${graph.groups[g].size} boxes`),
    el("button", { onclick: () => toggle(g) }, word),
  ];
}
function ofNode(i) {
  const node = graph.nodes[i], { into, out, groups } = graph;
  const ink = (key) => (key.startsWith("grad") ? "gradient" : null);
  const facts = factsOf(node).flatMap(([key, value]) => [el("dt", {}, key), el("dd", { class: ink(key) }, value)]);
  const way = { id: "trail", "aria-pressed": String(!!trail), onclick: light, "aria-keyshortcuts": "p" };
  const canFold = node.in >= 0 && !graph.circuit;
  const fold = canFold ? el("button", { onclick: () => toggle(node.in) }, `Fold ${groups[node.in].name}`) : null;
  const items = (edges, end) => edges.slice(0, MOST_NEIGHBOURS).map((e) => neighbour(graph.edges[e], end));
  const list = (edges, end) => el("ul", {}, ...items(edges, end));
  return [
    el("h2", {}, name(i)), el("dl", {}, ...facts), el("p", {}, el("button", way, "Paths to the root"), " ", fold),
    ...chainRule(i),
    ...(node.code ? [el("h3", {}, node.place), el("pre", {}, node.code)] : []),
    ...(into[i].length ? [el("h3", {}, `Made from (${into[i].length})`), list(into[i], "from")] : []),
    ...(out[i].length ? [el("h3", {}, `Used by (${out[i].length})`), list(out[i], "to")] : []),
  ];
}
function neighbour(edge, end) {
  const head = `${end === "to" ? "→" : "←"} ${title(edge[end])}`;
  const texts = [head, edge.local && `local derivative ${edge.local}`, edge.handed && `hands back ${edge.handed}`];
  const action = { onclick: () => focusOn({ node: edge[end] }) };
  return el("li", {}, el("button", action, texts.filter(Boolean).join("\n   ")));
}

// ---------------------------------------------------------------- ways to the root
/** The local derivatives along each path to the root with their product, where all of them are known as factors. */
function chainRule(i) {
  if (graph.roots.has(i) || graph.edges.length > MOST_LINES) return [];
  const isFactor = ({ to, local }) => local || !["accumulate", "output"].includes(graph.nodes[to].kind);
  const localsOf = (edges) => edges.map((e) => graph.edges[e]).filter(isFactor).map(({ local }) => local);
  const found = paths(i), factors = found.map(localsOf);
  if (!factors.flat().length || !factors.flat().every((text) => NUMBER.test(text))) return [];
  const rows = factors.slice(0, MOST_PATHS).map((texts) => texts.map((text) => `(${text})`).join(" · "));
  const end = found.length > MOST_PATHS ? "\n+ …" : productText(factors);
  const head = `Chain rule: ∂${[...graph.roots].map(name).join(" + ")}/∂${name(i)}`;  // grad may be more than that
  return [el("h3", {}, head), el("pre", { class: "gradient" }, rows.join("\n+ ") + end)];
}

/** What paths come to: as it is where all factors are whole numbers, else about. */
function productText(factors) {
  const numbers = factors.map((texts) => texts.map((text) => +text.match(NUMBER)[1]));
  const products = numbers.map((row) => row.reduce((product, one) => product * one, 1));
  const sum = products.reduce((all, one) => all + one, 0), most = Math.max(...products.map(Math.abs));
  const isWhole = numbers.flat().every(Number.isInteger) && most < 1e9;
  if (products.length === 1 && numbers[0].length === 1) return "";
  const text = (number) => String(isWhole ? number : +number.toPrecision(3)), sign = isWhole ? "=" : "≈";
  const terms = products.map((one, k) => (k && one < 0 ? `(${text(one)})` : text(one))).join(" + ");
  const isCancelled = !isWhole && Math.abs(sum) < most / 20;  // the factors are rounded
  const end = products.length > 1 && !isCancelled ? [sign, text(sum)] : [];
  return `\n${[sign, terms, ...end].join(" ")}`;
}
function paths(i) {
  const found = [], todo = [[i, []]];
  while (todo.length && found.length <= MOST_PATHS) {
    const [at, edges] = todo.pop();
    if (graph.roots.has(at)) { found.push(edges); continue; }
    for (const e of [...graph.out[at]].reverse()) {
      if (!graph.edges[e].kind) todo.push([graph.edges[e].to, [...edges, e]]);
    }
  }
  return found;
}

/** All boxes and lines between a box and the roots. */
function reach(i) {
  const found = { nodes: new Set([i]), edges: new Set() }, todo = [i];
  while (todo.length) {
    for (const e of graph.out[todo.pop()]) {
      const { kind, to } = graph.edges[e];
      if (kind) continue;  // no data goes along it
      found.edges.add(e);
      if (!found.nodes.has(to)) { found.nodes.add(to); todo.push(to); }
    }
  }
  return found;
}
function light() {
  trail = trail ? null : reach(picked.node);
  if ($("trail")) $("trail").setAttribute("aria-pressed", !!trail);
  draw();
}
