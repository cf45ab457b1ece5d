/* The table of all boxes, for screen readers and for reading. */

const MOST_ROWS = 200;

function fillTable() {
  const called = (i) => [...new Set([graph.nodes[i].id, name(i)])].join(" ");
  const button = (i) => el("button", { onclick: () => focusOn({ node: i }) }, called(i));
  const names = (edges, end) => edges.map((e) => called(graph.edges[e][end])).join(", ");
  const row = (i) => {
    const texts = [graph.nodes[i].kind, title(i), names(graph.into[i], "from"), names(graph.out[i], "to")];
    return el("tr", {}, el("th", { scope: "row" }, button(i)), ...texts.map((text) => el("td", {}, text)));
  };
  const heads = ["Box", "Kind", "Says", "Made from", "Used by"].map((text) => el("th", { scope: "col" }, text));
  const body = el("tbody"), more = el("button", { onclick: () => add() }, "More rows");
  let from = 0;
  const add = () => {
    for (const to = Math.min(from + MOST_ROWS, graph.nodes.length); from < to; from++) body.append(row(from));
    more.hidden = from >= graph.nodes.length;
  };
  const caption = el("caption", { class: "unseen" }, "Every box with what it is made from and what uses it");
  emptyTable();
  $("list").append(el("table", {}, caption, el("thead", {}, el("tr", {}, ...heads)), body), more);
  add();
}
function emptyTable() { $("list").querySelectorAll(":scope > :not(summary)").forEach((old) => old.remove()); }
on($("list"), "toggle", () => { if ($("list").open && !$("list").querySelector("table")) fillTable(); });
