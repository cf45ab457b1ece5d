/* The layout of a graph with groups in groups: each open group is a level of its own, drawn first, with ports on its
   frame for the lines that cross it. */

const PAD = 12, HEAD = 20;  // pixels inside a frame, and those of its name
const ROOT = -1;            // the level of what is in no group

/** graph: {nodes: [{g}], edges: [[a, b]], groups: [{up}]}; closed: a set of groups; size(node|group, isFolded) -> [w, h].
    Returns {boxes: [{node|group, x, y, w, h}], frames, lines: [{edges, points: [[...]]}], w, h}; across: to the right. */
function layout(graph, closed, size, across = false) {
  const turn = ([p, q]) => (across ? [q, p] : [p, q]);
  const levels = new Levels(), places = placesOf(graph, closed);
  places.forEach(({ key, around }, i) => {
    const isFolded = key[0] === "g", [w, h] = turn(size(isFolded ? +key.slice(1) : i, isFolded));
    levels.item(around[around.length - 1], key, { w, h });
    around.forEach((g, k) => levels.item(around[k - 1], `o${g}`, { w: 0, h: 0, open: g }));
  });
  const lines = wiresOf(graph.edges, places, levels);
  levels.draw(across);
  const { boxes, frames } = levels.spread(across);
  const flip = (box) => (across ? { ...box, x: box.y, y: box.x, w: box.h, h: box.w } : box);
  const points = (parts) => parts.map((part) => levels.pointsOf(part).map(turn));
  const found = lines.map(({ edges, parts }) => ({ edges, points: points(parts) }));
  const [w, h] = turn([levels.of(ROOT).w, levels.of(ROOT).h]);
  return { boxes: boxes.map(flip), frames: frames.map(flip), lines: found, w, h };
}

/** For each node the key of the box that stands for it, and the open groups around that, from the outside in. */
function placesOf({ nodes, groups }, closed) {
  const chains = groups.map((_, group) => {
    const chain = [];
    for (let g = group; g >= 0; g = groups[g].up) chain.unshift(g);
    return chain;
  });
  return nodes.map(({ g }, i) => {
    const chain = g < 0 ? [] : chains[g], at = chain.findIndex((group) => closed.has(group));
    return at < 0 ? { key: `n${i}`, around: chain } : { key: `g${chain[at]}`, around: chain.slice(0, at) };
  });
}

/** The lines between boxes, each with the links that it has on its way: out of groups, across, and into groups. */
function wiresOf(edges, places, levels) {
  const lines = new Map();
  edges.forEach(([a, b], edge) => {
    const from = places[a], to = places[b], pair = `${from.key} ${to.key}`, first = lines.get(pair);
    if (from.key === to.key) return;
    if (first && pair.includes("g")) { first.edges.push(edge); return; }
    const copy = first ? ` ${edge}` : "";  // what is used twice, as x in x·x, has a line for each use
    lines.set(pair + copy, { edges: [edge], parts: partsOf(from, to, levels, copy) });
  });
  return [...lines.values()];
}

/** The links of a line: by a port at the lower side out of each group, by one at the upper side into each. */
function partsOf(from, to, levels, copy) {
  const out = from.around, into = to.around, leave = `>${from.key}${copy}`, enter = `<${from.key}${copy}`;
  let same = 0;
  while (same < Math.min(out.length, into.length) && out[same] === into[same]) same++;
  const key = (place, k) => (k < place.around.length ? `o${place.around[k]}` : place.key);
  const port = (place, k, name) => (k < place.around.length ? [place.around[k], name] : null);
  const parts = [];
  for (let k = out.length; k > same; k--) {
    const level = out[k - 1];
    levels.port(level, leave, "bottom");
    parts.push(levels.link(level, key(from, k), leave, [port(from, k, leave), null]));
  }
  const inner = [];
  for (let k = into.length; k > same; k--) {
    const level = into[k - 1];
    levels.port(level, enter, "top");
    inner.unshift(levels.link(level, enter, key(to, k), [null, port(to, k, enter)]));
  }
  const ports = [port(from, same, leave), port(to, same, enter)];
  return [...parts, levels.link(out[same - 1], key(from, same), key(to, same), ports, copy), ...inner];
}

/** The drawings of the groups that are open, and of what is in none. */
class Levels {
  constructor() { this.all = new Map(); }

  of(g = ROOT) {
    const level = { keys: new Map(), items: [], links: new Map(), top: new Set(), bottom: new Set() };
    if (!this.all.has(g)) this.all.set(g, level);
    return this.all.get(g);
  }

  /** The number of an item of a level, which is new unless it is there. */
  item(g, key, item) {
    const { keys, items } = this.of(g);
    if (!keys.has(key)) { keys.set(key, items.length); items.push({ key, ...item }); }
    return keys.get(key);
  }
  port(g, key, side) { this.of(g)[side].add(this.item(g, key, { w: 1, h: 0 })); }

  /** A link between items of a level; its ports are those of the open groups at its ends. */
  link(g = ROOT, start, end, ports, copy = "") {
    const { keys, links } = this.of(g), a = keys.get(start), b = keys.get(end);
    const key = `${a} ${b} ${ports.map((port) => port && port[1])}${copy}`;
    if (!links.has(key)) links.set(key, { a, b, ports });
    return { g, link: links.get(key) };
  }

  /** Draw all levels, the inner ones first: their sizes are those of items in the outer ones. */
  draw(across) {
    const isOpen = ({ open }) => open !== undefined, gaps = across ? [12, 36] : [16, 30], order = [ROOT];
    for (const g of order) {  // it grows on the way
      for (const item of this.of(g).items.filter(isOpen)) order.push(item.open);
    }
    for (const g of order.reverse()) {
      const level = this.of(g);
      for (const item of level.items.filter(isOpen)) {
        const { w, h } = this.of(item.open);
        item.w = across ? w + 2 * PAD + HEAD : Math.max(w + 2 * PAD, 90);
        item.h = across ? h + 2 * PAD : h + 2 * PAD + HEAD;
      }
      Object.assign(level, layered(level.items, [...level.links.values()], level.top, level.bottom, ...gaps));
    }
  }

  /** Move each level to where it is in the one around it; return all boxes and frames. */
  spread(across) {
    const boxes = [], frames = [], todo = [[ROOT, 0, 0]];
    while (todo.length) {
      const [g, dx, dy] = todo.pop(), level = this.of(g);
      level.offset = [dx, dy];
      level.items.forEach(({ key, w, h, open }, i) => {
        const { x, y } = level.at[i], box = { x: x - w / 2 + dx, y: y - h / 2 + dy, w, h };
        if (open !== undefined) {
          const left = across ? HEAD + PAD : (w - this.of(open).w) / 2;
          frames.push({ group: open, ...box });
          todo.push([open, box.x + left, box.y + (across ? PAD : HEAD + PAD)]);
        } else if (key[0] === "n") boxes.push({ node: +key.slice(1), ...box });
        else if (key[0] === "g") boxes.push({ group: +key.slice(1), ...box });
      });
    }
    return { boxes, frames };
  }

  /** The points of a part of a line; it meets a port where the inner level has it. */
  pointsOf({ g, link }) {
    const [dx, dy] = this.of(g).offset, points = link.points.map(([x, y]) => [x + dx, y + dy]);
    link.ports.forEach((port, end) => {
      if (!port) return;
      const inner = this.of(port[0]), { x, y } = inner.at[inner.keys.get(port[1])];
      points[end ? points.length - 1 : 0] = [x + inner.offset[0], y + inner.offset[1]];
    });
    return points;
  }
}
