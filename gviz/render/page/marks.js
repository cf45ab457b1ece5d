/* What is marked: the box that was chosen and what is near it, what was found, the ways to the root, the step. */

/** Return what each box and line is now. A circuit shows its steps itself. */
function lights() {
  const now = !graph.circuit && graph.steps[step - 1], near = new Set(), nearEdges = new Set();
  if (picked && !isGroup(picked) && !trail) {
    for (const e of [...graph.out[picked.node], ...graph.into[picked.node]]) {
      nearEdges.add(e);
      near.add(graph.edges[e].from).add(graph.edges[e].to);
    }
  }
  const any = (box, set) => set.size > 0 && box.members.some((i) => set.has(i));
  const isIt = (box) => (isGroup(picked) ? picked.group === box.group : box === boxOf[picked.node]);
  return {
    box: (box) => ({
      picked: !!picked && isIt(box),
      near: any(box, near),
      hit: any(box, hits),
      lit: !!now && any(box, now.isLit),
      ghost: (!!trail && !any(box, trail.nodes)) || (!!now && !any(box, now.isKnown) && !any(box, now.isLit)),
    }),
    line: ({ edges }) => ({
      on: edges.some((e) => nearEdges.has(e) || (!!trail && trail.edges.has(e))),
      back: !!now && edges.some((e) => now.isHanded.has(e)),
      ghost: !edges.some((e) => (!trail || trail.edges.has(e)) && (!now || now.isKnown.has(graph.edges[e].to))),
    }),
  };
}

/** Mark what is mounted, and only where it changes: a class that is set anew costs a style. */
function mark() {
  const hot = lights();
  for (const { made, box, line } of mounted.values()) {
    if (!box && !line) continue;
    const state = line ? hot.line(line) : hot.box(box), text = JSON.stringify(state);
    if (made.state === text) continue;
    made.state = text;
    setClasses(made, state, !!line);
    if (box) made.setAttribute("tabindex", state.picked ? 0 : -1);
  }
}
function setClasses(made, { ghost, ...words }, isLine) {
  made.classList.toggle("ghost", ghost);
  for (const part of isLine ? made.children : [made]) {
    for (const [word, is] of Object.entries(words)) part.classList.toggle(word, is);
  }
  return made;
}
