/* The search: words that all stand in a box; first where it says one itself, then by its facts or line of the program. */

const MOST_HITS = 40;
let hits = new Set();  // the boxes that were found
let list = [], chosen = -1;

function haystack(i) {
  const node = graph.nodes[i], facts = factsOf(node).map((fact) => fact.join(" = ")).join(" ");
  return (node.hay ||= `${node.id} ${node.kind} ${title(i)} ${facts} ${node.code || ""}`.toLowerCase());
}
function search(text) {
  const lower = text.toLowerCase().trim().replace(/ *= */g, " = ");  // grad = None is one phrase
  const words = lower.includes("=") ? [lower] : lower.split(/\s+/).filter(Boolean);
  const holds = (i) => words.every((word) => haystack(i).includes(word));
  const says = (i) => words.some((word) => title(i).toLowerCase().includes(word));
  list = words.length ? [...graph.nodes.keys()].filter(holds).sort((a, b) => says(b) - says(a)) : [];
  hits = new Set(list);
  chosen = -1;
  const choose = (i) => () => { closeHits(); focusOn({ node: i }); };
  const role = { role: "option", "aria-selected": "false" };
  const option = (i, k) => el("div", { ...role, id: `hit${k}`, onclick: choose(i) }, title(i).slice(0, 80));
  $("hits").replaceChildren(...list.slice(0, MOST_HITS).map(option));
  tellCount(words.length ? `${list.length || "nothing"} found` : "");
  $("hits").hidden = !list.length;
  $("hits").style.left = `${$("search").offsetLeft}px`;
  $("search").setAttribute("aria-expanded", list.length > 0);
  $("search").removeAttribute("aria-activedescendant");
  draw();
}
function tellCount(text = "") {
  $("count").textContent = text || (graph.circuit ? "" : `${drawn.boxes.length} of ${graph.nodes.length} boxes`);
}
function closeHits() {
  $("hits").hidden = true;
  $("search").setAttribute("aria-expanded", "false");
}
on($("search"), "input", (event) => search(event.target.value));
on($("search"), "blur", () => setTimeout(closeHits, 200));  // a click on a hit comes first
on($("search"), "keydown", (event) => {
  const move = { ArrowDown: 1, ArrowUp: -1, Enter: event.shiftKey ? -1 : 1 }[event.key];
  if (event.key === "Escape") { event.target.value = ""; search(""); stage.focus(); event.stopPropagation(); }
  if (!move || !list.length) return;
  event.preventDefault();
  if (event.key === "Enter") closeHits();
  chosen = (chosen + move + list.length) % list.length;
  [...$("hits").children].forEach((option, k) => option.setAttribute("aria-selected", k === chosen));
  if ($(`hit${chosen}`)) $("search").setAttribute("aria-activedescendant", `hit${chosen}`);
  pick({ node: list[chosen] });
});
