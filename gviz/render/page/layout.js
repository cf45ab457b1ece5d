/* Layered drawing of a graph with groups in groups: no document, no library.
   layered() places the items of one level, layout() all levels, the inner ones first. */


/** items: [{w, h}]; links: [{a, b}] item numbers, downwards; top/bottom: items pinned to the first/last rank. */
function layered(items, links, top = new Set(), bottom = new Set(), gapX = 16, gapY = 30) {
  const n = items.length, out = Array.from({ length: n }, () => []), into = Array.from({ length: n }, () => []);
  // 1. reverse what closes a cycle (closed groups make cycles out of a graph without)
  const state = new Uint8Array(n), raw = Array.from({ length: n }, () => []);
  links.forEach((l, i) => raw[l.a].push(i));
  for (let s = 0; s < n; s++) {
    if (state[s]) continue;
    const stack = [[s, 0]];
    state[s] = 1;
    while (stack.length) {
      const at = stack[stack.length - 1], i = raw[at[0]][at[1]++];
      if (i === undefined) { state[at[0]] = 2; stack.pop(); continue; }
      const l = links[i];
      l.back = state[l.b] === 1;
      if (!state[l.b]) { state[l.b] = 1; stack.push([l.b, 0]); }
    }
  }
  for (const l of links) { const [a, b] = l.back ? [l.b, l.a] : [l.a, l.b]; if (a !== b) { out[a].push(b); into[b].push(a); } }
  // 2. ranks: longest path, then whatever may sink towards its users sinks
  const rank = new Int32Array(n), waiting = into.map((x) => x.length), order = [];
  for (let i = 0; i < n; i++) if (!waiting[i]) order.push(i);
  for (let k = 0; k < order.length; k++)
    for (const b of out[order[k]]) { rank[b] = Math.max(rank[b], rank[order[k]] + 1); if (!--waiting[b]) order.push(b); }
  for (let k = order.length - 1; k >= 0; k--) {
    const v = order[k];
    if (!out[v].length || top.has(v) || into[v].length > out[v].length) continue;
    let least = Infinity;
    for (const b of out[v]) least = Math.min(least, rank[b]);
    rank[v] = least - 1;
  }
  if (bottom.size) { let most = 0; for (let i = 0; i < n; i++) if (!bottom.has(i)) most = Math.max(most, rank[i]); for (const i of bottom) rank[i] = most + 1; }
  if (top.size) { let low = false; for (let i = 0; i < n; i++) low ||= !top.has(i) && !rank[i]; for (let i = 0; i < n; i++) rank[i] = top.has(i) ? 0 : rank[i] + low; }
  // 3. dummies on long links; where they would be too many, the longest links go straight
  let budget = 40000 + 4 * n;
  const nodes = items.map((it, i) => ({ w: it.w, h: it.h, r: rank[i], up: [], down: [] }));
  const join = (a, b, weight) => { nodes[a].down.push([b, weight]); nodes[b].up.push([a, weight]); };
  for (const l of [...links].sort((p, q) => Math.abs(rank[p.b] - rank[p.a]) - Math.abs(rank[q.b] - rank[q.a]))) {
    const [a, b] = l.back ? [l.b, l.a] : [l.a, l.b], span = rank[b] - rank[a];
    l.via = [];
    if (a === b || span < 1) continue;
    if (span - 1 > budget) { l.straight = true; continue; }
    budget -= span - 1;
    let last = a;
    for (let r = rank[a] + 1; r < rank[b]; r++) {
      nodes.push({ w: 2, h: 0, r, up: [], down: [], dummy: true });
      l.via.push(nodes.length - 1);
      join(last, nodes.length - 1, last === a ? 2 : 8);
      last = nodes.length - 1;
    }
    join(last, b, last === a ? 1 : 2);
  }
  // 4. order in the ranks: depth first from the ends, then the median of the neighbours, the best of some sweeps
  const ranks = [], seen = new Uint8Array(nodes.length);
  const put = (s) => {
    const stack = [s];
    while (stack.length) {
      const v = stack.pop();
      if (seen[v]) continue;
      seen[v] = 1;
      (ranks[nodes[v].r] ||= []).push(v);
      for (let i = nodes[v].up.length - 1; i >= 0; i--) stack.push(nodes[v].up[i][0]);
    }
  };
  for (let i = nodes.length - 1; i >= 0; i--) if (!nodes[i].down.length) put(i);
  for (let i = 0; i < nodes.length; i++) put(i);
  for (let r = 0; r < ranks.length; r++) ranks[r] ||= [];
  const number = () => ranks.forEach((row) => row.forEach((v, i) => { nodes[v].i = i; }));
  const crossings = () => {
    let sum = 0;
    for (const row of ranks) {
      const ends = [];
      for (const v of row) ends.push(...nodes[v].down.map(([b]) => nodes[b].i).sort((p, q) => p - q));
      const most = Math.max(0, ...ends.slice(0, 1), ends.reduce((m, e) => Math.max(m, e), 0)), tree = new Int32Array(most + 2);
      for (let k = 0; k < ends.length; k++) {
        let below = 0;
        for (let i = ends[k] + 1; i > 0; i -= i & -i) below += tree[i];
        sum += k - below;
        for (let i = ends[k] + 1; i < tree.length; i += i & -i) tree[i]++;
      }
    }
    return sum;
  };
  const middle = (v, side) => {
    const at = nodes[v][side].map(([b]) => nodes[b].i).sort((p, q) => p - q), m = at.length >> 1;
    return at.length ? (at.length % 2 ? at[m] : (at[m - 1] + at[m]) / 2) : nodes[v].i;
  };
  number();
  let best = ranks.map((row) => row.slice()), least = crossings();
  for (let sweep = 0; sweep < 8 && least; sweep++) {
    const side = sweep % 2 ? "down" : "up", rows = sweep % 2 ? ranks.map((_, i) => ranks.length - 1 - i) : ranks.map((_, i) => i);
    for (const r of rows) {
      const key = new Map(ranks[r].map((v) => [v, middle(v, side)]));
      ranks[r].sort((p, q) => key.get(p) - key.get(q) || nodes[p].i - nodes[q].i);
      ranks[r].forEach((v, i) => { nodes[v].i = i; });
    }
    const now = crossings();
    if (now < least) { least = now; best = ranks.map((row) => row.slice()); }
  }
  best.forEach((row, r) => { ranks[r] = row; });
  number();
  // 5. places along a rank: each where its neighbours pull it, no two on top of each other (isotonic regression)
  for (const row of ranks) { let x = 0; for (const v of row) { nodes[v].x = x + nodes[v].w / 2; x += nodes[v].w + gapX; } }
  const settle = (row, sides) => {
    const blocks = [];
    let offset = 0;
    row.forEach((v, i) => {
      const node = nodes[v];
      if (i) offset += (nodes[row[i - 1]].w + node.w) / 2 + (node.dummy && nodes[row[i - 1]].dummy ? gapX / 2 : gapX);
      let pull = 0, weight = 0;
      for (const side of sides) for (const [b, w] of node[side]) { pull += w * nodes[b].x; weight += w; }
      if (!weight) { pull = node.x * 0.05; weight = 0.05; }
      let block = { sum: pull - weight * offset, weight, from: i, offset: [offset] };
      while (blocks.length && blocks[blocks.length - 1].sum / blocks[blocks.length - 1].weight > block.sum / block.weight) {
        const before = blocks.pop();
        block = { sum: before.sum + block.sum, weight: before.weight + block.weight, from: before.from };
      }
      blocks.push(block);
      node.o = offset;
    });
    blocks.forEach((block, k) => {
      const x = block.sum / block.weight, end = k + 1 < blocks.length ? blocks[k + 1].from : row.length;
      for (let i = block.from; i < end; i++) nodes[row[i]].x = x + nodes[row[i]].o;
    });
  };
  for (let k = 0; k < 10; k++) {
    if (k % 2) for (let r = ranks.length - 2; r >= 0; r--) settle(ranks[r], ["down"]);
    else for (let r = 1; r < ranks.length; r++) settle(ranks[r], ["up"]);
  }
  for (const row of ranks) settle(row, ["up", "down"]);
  let left = Infinity, right = -Infinity;
  for (const node of nodes) { left = Math.min(left, node.x - node.w / 2); right = Math.max(right, node.x + node.w / 2); }
  const tops = [], heights = [];
  let y = 0;
  for (const row of ranks) { let h = 0; for (const v of row) h = Math.max(h, nodes[v].h); tops.push(y); heights.push(h); y += h + gapY; }
  for (const node of nodes) { node.x -= left; node.y = tops[node.r] + heights[node.r] / 2; }
  // 6. lines: from the lower side of a box through the bands of its dummies to the upper side of the next
  const ends = new Map();
  links.forEach((l) => { for (const [key, far] of [[`${l.a} o`, l.b], [`${l.b} i`, l.a]]) { if (!ends.has(key)) ends.set(key, []); ends.get(key).push([l, far]); } });
  for (const [key, list] of ends) {
    const own = nodes[parseInt(key, 10)], room = Math.min(own.w * 0.6, 14 * (list.length - 1));
    const near = ([l, far]) => nodes[l.via.length ? l.via[key.endsWith("o") ? 0 : l.via.length - 1] : far].x;
    list.sort((p, q) => near(p) - near(q)).forEach(([l], i) => { l[key.slice(-1)] = list.length > 1 ? room * (i / (list.length - 1) - 0.5) : 0; });
  }
  for (const l of links) {
    const a = nodes[l.a], b = nodes[l.b], points = [[a.x + l.o, a.y + (l.back ? -1 : 1) * a.h / 2]];
    for (const v of l.back ? [...l.via].reverse() : l.via) {
      const band = [tops[nodes[v].r], tops[nodes[v].r] + heights[nodes[v].r]];
      if (l.back) band.reverse();
      points.push([nodes[v].x, band[0]], [nodes[v].x, band[1]]);
    }
    points.push([b.x + l.i, b.y + (l.back ? 1 : -1) * b.h / 2]);
    l.points = points;
  }
  return { w: Math.max(0, right - left), h: Math.max(0, y - gapY), at: nodes.slice(0, n) };
}

/** graph: {nodes: [{g}], edges: [[a, b]], groups: [{up}]}; closed: set of groups; size(node|group, isGroup) -> [w, h].
    Returns {boxes: [{node|group, x, y, w, h}], frames, lines: [{edges, points: [[...]]}], w, h}; across: to the right. */
function layout(graph, closed, size, across = false, pad = 12, head = 20) {
  const { nodes, edges, groups } = graph, chains = groups.map((_, g) => { const c = []; for (let k = g; k >= 0; k = groups[k].up) c.unshift(k); return c; });
  const shown = (i) => { // the box that stands for a node, and the open groups around it
    const chain = nodes[i].g < 0 ? [] : chains[nodes[i].g], k = chain.findIndex((g) => closed.has(g));
    return k < 0 ? { key: `n${i}`, around: chain } : { key: `g${chain[k]}`, around: chain.slice(0, k) };
  };
  const levels = new Map(), level = (g) => { if (!levels.has(g)) levels.set(g, { keys: new Map(), items: [], links: new Map(), top: new Set(), bottom: new Set() }); return levels.get(g); };
  const item = (g, key, it) => { const l = level(g); if (!l.keys.has(key)) { l.keys.set(key, l.items.length); l.items.push({ key, ...it }); } return l.keys.get(key); };
  const link = (g, a, b, edge, ports) => { const l = level(g), key = `${a} ${b} ${ports.map((p) => p && p[1])}`; if (!l.links.has(key)) l.links.set(key, { a, b, edges: [], ports }); l.links.get(key).edges.push(edge); return l.links.get(key); };
  const place = nodes.map((_, i) => shown(i)), parent = (around, k) => (k ? around[k - 1] : -1);
  place.forEach((p, i) => {
    const isGroup = p.key[0] === "g", own = size(isGroup ? +p.key.slice(1) : i, isGroup);
    item(parent(p.around, p.around.length), p.key, across ? { w: own[1], h: own[0] } : { w: own[0], h: own[1] });
    p.around.forEach((g, k) => item(parent(p.around, k), `o${g}`, { w: 0, h: 0, open: g }));
  });
  const lines = new Map();
  edges.forEach(([a, b], e) => {
    const p = place[a], q = place[b];
    if (p.key === q.key) return;
    const key = `${p.key} ${q.key}`;
    if (lines.has(key)) { lines.get(key).edges.push(e); return; }
    const line = { edges: [e], parts: [] };
    lines.set(key, line);
    let same = 0;
    while (same < p.around.length && same < q.around.length && p.around[same] === q.around[same]) same++;
    const deep = p.around.length, far = q.around.length, leave = `>${p.key}`, enter = `<${p.key}`, key_of = (g, k) => level(g).keys.get(k);
    for (let k = deep; k > same; k--) { // out of a group by a port at its lower side
      const g = p.around[k - 1], port = item(g, leave, { w: 1, h: 0 }), isFirst = k === deep;
      level(g).bottom.add(port);
      line.parts.push([g, link(g, key_of(g, isFirst ? p.key : `o${p.around[k]}`), port, e, [isFirst ? null : [p.around[k], leave], null])]);
    }
    const inner = [];
    for (let k = far; k > same; k--) { // into a group by a port at its upper side
      const g = q.around[k - 1], port = item(g, enter, { w: 1, h: 0 }), isLast = k === far;
      level(g).top.add(port);
      inner.unshift([g, link(g, port, key_of(g, isLast ? q.key : `o${q.around[k]}`), e, [null, isLast ? null : [q.around[k], enter]])]);
    }
    const common = parent(q.around, same), start = deep > same ? `o${p.around[same]}` : p.key, end = far > same ? `o${q.around[same]}` : q.key;
    const outer = link(common, key_of(common, start), key_of(common, end), e, [deep > same ? [p.around[same], leave] : null, far > same ? [q.around[same], enter] : null]);
    line.parts.push([common, outer], ...inner);
  });
  const done = new Map();
  const draw = (g) => { // inner groups first: their size is an outer item's
    const l = level(g);
    for (const it of l.items) if (it.open !== undefined) {
      draw(it.open);
      const own = done.get(it.open), [w, h] = across ? [own.h + 2 * pad, own.w + 2 * pad] : [own.w + 2 * pad, own.h + 2 * pad + head];
      if (across) { it.w = own.w + 2 * pad + head; it.h = own.h + 2 * pad; } else { it.w = Math.max(w, 90); it.h = h; }
    }
    const links = [...l.links.values()];
    done.set(g, { ...layered(l.items, links, l.top, l.bottom, across ? 12 : 16, across ? 36 : 30), items: l.items });
  };
  draw(-1);
  const boxes = [], frames = [], offset = new Map();
  const spread = (g, dx, dy) => {
    offset.set(g, [dx, dy]);
    const own = done.get(g);
    own.items.forEach((it, i) => {
      const { x, y } = own.at[i], box = { x: x - it.w / 2 + dx, y: y - it.h / 2 + dy, w: it.w, h: it.h };
      if (it.open !== undefined) {
        frames.push({ group: it.open, ...box });
        const inner = done.get(it.open);
        if (across) spread(it.open, box.x + head + pad, box.y + pad);
        else spread(it.open, box.x + (it.w - inner.w) / 2, box.y + head + pad);
      } else if (it.key[0] === "n") boxes.push({ node: +it.key.slice(1), ...box });
      else if (it.key[0] === "g") boxes.push({ group: +it.key.slice(1), ...box });
    });
  };
  spread(-1, 0, 0);
  const turn = (p) => (across ? [p[1], p[0]] : p), flip = (b) => (across ? { ...b, x: b.y, y: b.x, w: b.h, h: b.w } : b);
  const found = [...lines.values()].map((line) => ({
    edges: line.edges,
    points: line.parts.map(([g, l]) => {
      const [dx, dy] = offset.get(g), points = l.points.map(([x, y]) => [x + dx, y + dy]);
      (l.ports || []).forEach((port, end) => { // meet the port where the inner drawing has it
        if (!port) return;
        const inner = done.get(port[0]), at = inner.at[level(port[0]).keys.get(port[1])], [ox, oy] = offset.get(port[0]);
        points[end ? points.length - 1 : 0] = [at.x + ox, at.y + oy];
      });
      return points.map(turn);
    }),
  }));
  const all = done.get(-1);
  return { boxes: boxes.map(flip), frames: frames.map(flip), lines: found, w: across ? all.h : all.w, h: across ? all.w : all.h };
}
