/* Elements of the page, found and made; numbers and texts for them. */

const SVG = "http://www.w3.org/2000/svg";
const $ = (id) => document.getElementById(id);
const on = (where, event, act, options) => where.addEventListener(event, act, options);
const tenth = (x) => Math.round(x * 10) / 10;

/** Make an element; a tag that begins with a colon is SVG's. Texts become text nodes, never markup. */
function el(tag, attributes = {}, ...inside) {
  const made = tag[0] === ":" ? document.createElementNS(SVG, tag.slice(1)) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) on(made, key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value);
  }
  made.append(...inside.filter((one) => one !== null));
  return made;
}

/** Spans of text in their inks, as elements of a tag. */
const spans = (line, tag) =>
  line.map(([text, ink, isBold]) => el(tag, { class: [ink, isBold ? "b" : ""].join(" ").trim() || null }, text));
/** Whether a box, or what was chosen, is a group. */
const isGroup = (what) => what.group !== undefined;
const plain = (line) => line.map(([text]) => text).join("");

const property = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The width of a text in a box. */
const pen = document.createElement("canvas").getContext("2d"), widths = new Map();
pen.font = `12px ${property("--mono")}`;
function wide(text) {
  if (!widths.has(text)) widths.set(text, pen.measureText(text).width);
  return widths.get(text);
}
