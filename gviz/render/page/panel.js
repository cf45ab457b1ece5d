/* What the page says of a box beside the picture: facts, neighbours, its ways to the root and their product. */

const MOST_PATHS = 6, MOST_NEIGHBOURS = 50, MOST_LINES = 400;
const NUMBER = /(?<=^|= )-?[\d.]+(?:e[+-]?\d+)?$/;
const LAST = 8, EXACT = 20;  // levels of digits: of the last one that is tried, and of all that there are
const LOST = 2 ** -20;  // a sum that is so small a part of its terms is what rounding has left

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
  const facts = factsOf(node).flatMap(([key, value]) => [
    el("dt", {}, key), el("dd", { class: key.startsWith("grad") ? "gradient" : null }, value),
  ]);
  const way = { id: "trail", "aria-pressed": String(!!trail), onclick: light, "aria-keyshortcuts": "p" };
  const canFold = node.in >= 0 && !graph.circuit;
  const fold = canFold ? el("button", { onclick: () => toggle(node.in) }, `Fold ${groups[node.in].name}`) : null;
  const items = (edges, end) => edges.slice(0, MOST_NEIGHBOURS).map((e) => neighbour(graph.edges[e], end));
  const list = (word, edges, end) =>
    edges.length ? [el("h3", {}, `${word} (${edges.length})`), el("ul", {}, ...items(edges, end))] : [];
  return [
    el("h2", {}, name(i)), el("dl", {}, ...facts), el("p", {}, el("button", way, "Paths to the root"), " ", fold),
    ...chainRule(i),
    ...(node.code ? [el("h3", {}, node.place), el("pre", {}, node.code)] : []),
    ...list("Made from", into[i], "from"), ...list("Used by", out[i], "to"),
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
  const factors = paths(i).map((edges) => edges.map((e) => graph.edges[e]).filter(isFactor)), all = factors.flat();
  if (!all.length || !all.every(({ local }) => NUMBER.test(local))) return [];
  const of = [...graph.roots].map(name).join(" + ").replace(/.* .*/, "($&)");
  const wrt = graph.nodes[i].name || name(i);  // its grad may be more
  return [el("h3", {}, `Chain rule: ∂${of}/∂${wrt}`), el("pre", { class: "gradient" }, equation(factors))];
}

/** Each path as its factors, and what they come to: as many digits as let the equation hold as it is printed. */
function equation(ways) {
  const times = (row, at) => row.reduce((all, one) => all * factorAt(one, at), 1);
  const parts = ways.map((row) => times(row, EXACT));
  const sum = (at) => parts.reduce((all, one) => all + +printed(one, at), 0);
  const total = Math.abs(sum(EXACT)) < LOST * Math.max(...parts.map(Math.abs)) ? 0 : sum(EXACT);
  const level = levelFor(total, 0, sum);
  const levels = ways.map((row, k) => levelFor(parts[k], level, (at) => times(row, at)));
  const text = (row, k) => row.map((one) => `(${one.local.replace(NUMBER, factorAt(one, levels[k]))})`).join(" · ");
  const lines = ways.slice(0, MOST_PATHS).map(text).join("\n+ ");
  if (ways.length > MOST_PATHS) return `${lines}\n+ …`;
  if (ways.flat().length === 1) return lines;
  const terms = parts.map((one) => printed(one, level)).join(" + ").replace(/\+ (-\S+)/g, "+ ($1)");
  const sign = [level, ...levels].includes(LAST) ? "≈" : "=", end = ` ${sign} ${printed(total, 0)}`;
  return `${lines}\n${sign} ${terms}${parts.length > 1 ? end : ""}`;
}
function factorAt({ local, exact }, at) {
  const [text] = local.match(NUMBER);
  return at ? printed(exact ?? +text, at) : text;
}

/** A number as a box prints it, or with one digit more at each level. */
function printed(number, level) {
  const short = number.toPrecision(5);
  return String(+(Math.fround(short) === Math.fround(number) ? short : number.toPrecision(digitsAt(number, level))));
}
function digitsAt(number, level) {
  return Math.max(4, Math.min(5 + Math.floor(Math.log10(Math.abs(number))), 7)) + level;
}

/** The first level at which what is computed is a number in all digits that this has at its own; the last for none. */
function levelFor(number, own, compute) {
  const round = (x) => +(number ? x.toPrecision(digitsAt(number, own)) : x.toFixed(9));
  let at = 0;
  while (at < LAST && round(compute(at)) !== round(number)) at++;
  return at;
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
