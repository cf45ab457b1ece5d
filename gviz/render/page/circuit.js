/* A circuit: Python has laid it out, and says which pieces of ink are there at each step. */

const ON_LINES = ["wire", "value", "grad"];
const SHOWN_WITH = {
  value: "values", "end value": "values",
  grad: "gradients", "end grad": "gradients", note: "gradients", total: "gradients",
};

/** Find whose each part is: of a card (c3), of a wire (w2), or of none; and the parts that are there at each step. */
function takeCircuit(circuit) {
  let there = new Set();
  const seen = circuit.frames.map(([come, go]) => {
    there = new Set(there);
    for (const part of come) there.add(part);
    for (const part of go) there.delete(part);
    return there;
  });
  circuit.at = [seen.pop(), ...seen];  // the whole circuit, and each step
  circuit.all = circuit.parts.flatMap(([owner, ...parts]) => parts.map((part) => ({ owner, pieces: piecesOf(part) })));
  circuit.of = {};
  circuit.all.forEach(({ owner }, part) => (circuit.of[ownerOf(owner)] ||= []).push(part));
  $("looks").textContent = circuit.looks.map((rules, look) => `.k${look}{${rules}}`).join("");
}

/** A part's pieces, each a look and a place, and the text of one that is a text. */
function piecesOf(part) {
  const pieces = [];
  for (let at = 0; at < part.length; at += pieces.at(-1).length) {
    pieces.push(part.slice(at, typeof part[at + 2] === "string" ? at + 3 : at + 2));
  }
  return pieces;
}
function ownerOf(text) {
  const [, word, number] = text.match(/(.*) (\d+)$/) || [];
  return word ? `${ON_LINES.includes(word) ? "w" : "c"}${number}` : "";
}

/** The boxes and lines of a circuit, as a layout has them. */
function circuitLayout() {
  const { cards, wires, size: [w, h] } = graph.circuit;
  const box = ([card, [node, x, y, wide, high]]) => ({ id: `c${card}`, node, x, y, w: wide, h: high });
  const line = (edge, wire) => ({ id: `w${wire}`, edges: [edge], box: [0, 0, w, h] });
  return { boxes: Object.entries(cards).map(box), frames: [], lines: wires.map(line), w, h };
}

/** What is there of a card or a wire now. */
function circuitShapes(key) {
  const { at, of, all } = graph.circuit;
  const isWanted = (owner) => has[SHOWN_WITH[owner.replace(/ \d+$/, "")]] !== false;
  const isThere = (part) => at[step].has(part) && isWanted(all[part].owner);
  return (of[key] || []).filter(isThere).flatMap((part) => all[part].pieces.map(pieceShape));
}
function pieceShape([look, number, text]) {
  const place = graph.circuit.places[number];
  if (typeof place === "string") return el(":path", { class: `edge k${look}`, d: place });
  const [x, y, width, height, rx] = place;  // of a text by its middle, of a head by its tip and how far it reaches
  if (rx !== undefined) return el(":rect", { class: `k${look}`, x, y, width, height, rx });
  if (height !== undefined) return el(":path", { class: `tip k${look}`, d: headPath(place) });
  const attributes = { class: `k${look}`, x, y, "text-anchor": "middle", textLength: width || null };
  return el(":text", { ...attributes, lengthAdjust: "spacingAndGlyphs" }, text);
}

/** An arrowhead, as broad as in all pictures. */
const headPath = ([x, y, dx, dy]) =>
  `M${x},${y}l${-dx - 0.35 * dy},${0.35 * dx - dy} ${0.7 * dy},${-0.7 * dx}z`;
