/* One level of a drawing in layers: no document, no library. layered() tells the steps, which follow in their order. */

/** Place items one below the other as links go, and find the points of the links.

    items: [{w, h}]; links: [{a, b}], numbers of items, which get `points`; top, bottom: items of the first and last rank.
    Returns {w, h, at}: the size of all, and each item's middle. */
function layered(items, links, top = new Set(), bottom = new Set(), gapX = 16, gapY = 30) {
  turnCycles(items.length, links);
  const rank = ranksOf(items.length, links, top, bottom);
  const nodes = withDummies(items, links, rank);
  const ranks = ordered(nodes);
  const width = placeAcross(nodes, ranks, gapX);
  const bands = placeDown(nodes, ranks, gapY);
  spreadEnds(nodes, links);
  for (const link of links) link.points = pointsOf(nodes, link, bands);
  const last = bands[bands.length - 1];
  return { w: Math.max(0, width), h: last ? last.top + last.height : 0, at: nodes.slice(0, items.length) };
}

/** Both ends of a link, the upper one first. */
const downwards = (link) => (link.isBack ? [link.b, link.a] : [link.a, link.b]);

/** Mark the links that close a cycle: closed groups make cycles out of a graph without. */
function turnCycles(count, links) {
  const out = Array.from({ length: count }, () => []), NEW = 0, OPEN = 1, DONE = 2, state = new Uint8Array(count);
  for (const link of links) out[link.a].push(link);
  for (let start = 0; start < count; start++) {
    if (state[start] !== NEW) continue;
    const stack = [{ node: start, next: 0 }];
    state[start] = OPEN;
    while (stack.length) {
      const at = stack[stack.length - 1], link = out[at.node][at.next++];
      if (!link) { state[at.node] = DONE; stack.pop(); continue; }
      link.isBack = state[link.b] === OPEN;
      if (state[link.b] === NEW) { state[link.b] = OPEN; stack.push({ node: link.b, next: 0 }); }
    }
  }
}

/** The rank of each item: the longest path to it; but what has few inputs sinks towards its users. */
function ranksOf(count, links, top, bottom) {
  const out = Array.from({ length: count }, () => []), into = new Int32Array(count);
  for (const [a, b] of links.map(downwards)) if (a !== b) { out[a].push(b); into[b]++; }
  const rank = new Int32Array(count), waiting = into.slice(), order = [...into.keys()].filter((v) => !into[v]);
  for (const v of order) {  // it grows on the way
    for (const b of out[v]) {
      rank[b] = Math.max(rank[b], rank[v] + 1);
      if (!--waiting[b]) order.push(b);
    }
  }
  for (const v of order.reverse()) {
    if (!out[v].length || top.has(v) || into[v] > out[v].length) continue;
    rank[v] = out[v].reduce((least, b) => Math.min(least, rank[b]), Infinity) - 1;
  }
  let most = 0, isFirstTaken = false;
  rank.forEach((r, v) => { if (!bottom.has(v)) most = Math.max(most, r); });
  for (const v of bottom) rank[v] = most + 1;
  if (!top.size) return rank;
  rank.forEach((r, v) => { isFirstTaken ||= !top.has(v) && !r; });
  return rank.map((r, v) => (top.has(v) ? 0 : r + isFirstTaken));
}

/** The items as nodes with neighbours, and dummies on long links; where there are too many, the longest go straight. */
function withDummies(items, links, rank) {
  let budget = 40000 + 4 * items.length;
  const nodes = items.map(({ w, h }, i) => ({ w, h, rank: rank[i], up: [], down: [] }));
  const join = (a, b, weight) => { nodes[a].down.push([b, weight]); nodes[b].up.push([a, weight]); };
  const length = (link) => Math.abs(rank[link.b] - rank[link.a]);
  for (const link of [...links].sort((p, q) => length(p) - length(q))) {
    const [a, b] = downwards(link), span = rank[b] - rank[a];
    link.via = [];
    if (a === b || span < 1 || span - 1 > budget) continue;
    budget -= span - 1;
    let last = a;
    for (let r = rank[a] + 1; r < rank[b]; r++) {
      const dummy = nodes.push({ w: 2, h: 0, rank: r, up: [], down: [], isDummy: true }) - 1;
      link.via.push(dummy);
      join(last, dummy, last === a ? 2 : 8);
      last = dummy;
    }
    join(last, b, last === a ? 1 : 2);
  }
  return nodes;
}

// ---------------------------------------------------------------- the order in each rank
/** The nodes of each rank in their order: depth first from the ends, then sorted by neighbours, the best of some sweeps. */
function ordered(nodes) {
  let ranks = depthFirst(nodes);
  const number = () => ranks.forEach((row) => row.forEach((v, i) => { nodes[v].place = i; }));
  const copy = () => ranks.map((row) => row.slice());
  number();
  let best = copy(), least = crossings(nodes, ranks);
  for (let sweep = 0; sweep < 8 && least; sweep++) {
    const side = sweep % 2 ? "down" : "up";
    for (const row of sweep % 2 ? [...ranks].reverse() : ranks) {
      const key = new Map(row.map((v) => [v, median(nodes, v, side)]));
      row.sort((p, q) => key.get(p) - key.get(q) || nodes[p].place - nodes[q].place);
      row.forEach((v, i) => { nodes[v].place = i; });
    }
    const now = crossings(nodes, ranks);
    if (now < least) { least = now; best = copy(); }
  }
  ranks = best;
  number();
  return ranks;
}
function depthFirst(nodes) {
  const ranks = [], isSeen = new Uint8Array(nodes.length), all = [...nodes.keys()];
  for (const start of [...all.filter((v) => !nodes[v].down.length).reverse(), ...all]) {
    const stack = [start];
    while (stack.length) {
      const v = stack.pop();
      if (isSeen[v]) continue;
      isSeen[v] = 1;
      (ranks[nodes[v].rank] ||= []).push(v);
      for (const [b] of [...nodes[v].up].reverse()) stack.push(b);
    }
  }
  return Array.from(ranks, (row) => row || []);
}
const byNumber = (p, q) => p - q;
function median(nodes, v, side) {
  const at = nodes[v][side].map(([b]) => nodes[b].place).sort(byNumber), middle = at.length >> 1;
  if (!at.length) return nodes[v].place;
  return at.length % 2 ? at[middle] : (at[middle - 1] + at[middle]) / 2;
}

/** How often links cross: for each pair of ranks the inversions of their ends, counted in a Fenwick tree. */
function crossings(nodes, ranks) {
  let sum = 0;
  for (const row of ranks) {
    const ends = row.flatMap((v) => nodes[v].down.map(([b]) => nodes[b].place).sort(byNumber));
    const tree = new Int32Array(ends.reduce((most, end) => Math.max(most, end), 0) + 2);
    ends.forEach((end, before) => {
      for (let i = end + 1; i > 0; i -= i & -i) before -= tree[i];
      sum += before;
      for (let i = end + 1; i < tree.length; i += i & -i) tree[i]++;
    });
  }
  return sum;
}

// ---------------------------------------------------------------- places
/** Place the nodes along their ranks, where their neighbours pull them; return the width of all. */
function placeAcross(nodes, ranks, gap) {
  for (const row of ranks) {
    let x = 0;
    for (const v of row) { nodes[v].x = x + nodes[v].w / 2; x += nodes[v].w + gap; }
  }
  for (let turn = 0; turn < 10; turn++) {
    const rows = turn % 2 ? ranks.slice(0, -1).reverse() : ranks.slice(1);
    for (const row of rows) settle(nodes, row, [turn % 2 ? "down" : "up"], gap);
  }
  for (const row of ranks) settle(nodes, row, ["up", "down"], gap);
  let left = Infinity, right = -Infinity;
  for (const { x, w } of nodes) { left = Math.min(left, x - w / 2); right = Math.max(right, x + w / 2); }
  for (const node of nodes) node.x -= left;
  return right - left;
}

/** Move the nodes of a rank to where their neighbours are, no two on top of each other: isotonic regression. */
function settle(nodes, row, sides, gap) {
  const blocks = [], mean = (block) => block.sum / block.weight;
  let offset = 0;
  row.forEach((v, i) => {
    const node = nodes[v], before = nodes[row[i - 1]];
    if (i) offset += (before.w + node.w) / 2 + (node.isDummy && before.isDummy ? gap / 2 : gap);
    node.offset = offset;
    let pull = 0, weight = 0;
    for (const side of sides) for (const [b, w] of node[side]) { pull += w * nodes[b].x; weight += w; }
    if (!weight) { pull = node.x * 0.05; weight = 0.05; }
    let block = { sum: pull - weight * offset, weight, from: i };
    while (blocks.length && mean(blocks[blocks.length - 1]) > mean(block)) {
      const last = blocks.pop();
      block = { sum: last.sum + block.sum, weight: last.weight + block.weight, from: last.from };
    }
    blocks.push(block);
  });
  blocks.forEach((block, k) => {
    const end = k + 1 < blocks.length ? blocks[k + 1].from : row.length;
    for (const v of row.slice(block.from, end)) nodes[v].x = mean(block) + nodes[v].offset;
  });
}

/** Place the ranks one below the other; return where each is and how high. */
function placeDown(nodes, ranks, gap) {
  let top = 0;
  return ranks.map((row) => {
    const band = { top, height: row.reduce((most, v) => Math.max(most, nodes[v].h), 0) };
    for (const v of row) nodes[v].y = top + band.height / 2;
    top += band.height + gap;
    return band;
  });
}

// ---------------------------------------------------------------- lines
/** Spread the ends of the links along the side of a node, in the order of where they come from. */
function spreadEnds(nodes, links) {
  const ends = new Map();  // by "node side" the links that end there
  const add = (key, end) => (ends.get(key) || ends.set(key, []).get(key)).push(end);
  for (const link of links) {
    const { a, b, via } = link;
    add(`${a} out`, { link, side: "out", own: a, near: via.length ? via[0] : b });
    add(`${b} in`, { link, side: "in", own: b, near: via.length ? via[via.length - 1] : a });
  }
  for (const list of ends.values()) {
    const room = Math.min(nodes[list[0].own].w * 0.6, 14 * (list.length - 1));
    list.sort((p, q) => nodes[p.near].x - nodes[q.near].x);
    list.forEach(({ link, side }, i) => { link[side] = list.length > 1 ? room * (i / (list.length - 1) - 0.5) : 0; });
  }
}

/** The points of a link: from the lower side of a node through the bands of its dummies to the upper side of the other. */
function pointsOf(nodes, link, bands) {
  const { isBack, via } = link, a = nodes[link.a], b = nodes[link.b], way = isBack ? -1 : 1;
  const between = (isBack ? [...via].reverse() : via).flatMap((v) => {
    const { top, height } = bands[nodes[v].rank], ends = [[nodes[v].x, top], [nodes[v].x, top + height]];
    return isBack ? ends.reverse() : ends;
  });
  return [[a.x + link.out, a.y + (way * a.h) / 2], ...between, [b.x + link.in, b.y - (way * b.h) / 2]];
}
