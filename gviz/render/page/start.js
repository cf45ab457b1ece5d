/* The views of the page, and how it opens. */

const VIEWS = { torchviz: "autograd graph", dataflow: "values and gradients", circuit: "circuit" };

const MANY = 20000;    // boxes that are not unfolded all at once
const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");

/** Light or dark: as the system has it, or as somebody has chosen since. */
function useTheme(isDark) { root.dataset.theme = isDark ? "dark" : "light"; paint(); }

/** Show a view of the graph. */
function use(number) {
  const id = picked && !isGroup(picked) ? graph.nodes[picked.node].id : null;
  const shown = step ? String(graph.steps[step - 1].number) : "";
  pause();
  step = 0;
  picked = trail = null;
  hits = new Set();
  take(number);
  boxOf = undefined;
  $("views").value = number;
  $("time").hidden = !graph.steps.length;
  $("slider").min = firstStep();
  $("slider").max = graph.steps.length;
  roomForCaptions();
  $("across").setAttribute("aria-pressed", graph.across);
  $("across").hidden = !!graph.circuit;
  for (const button of ["open", "shut"]) $(button).hidden = !graph.groups.length || !!graph.circuit;
  $("open").disabled = graph.nodes.length > MANY;
  $("gradients").hidden = !graph.nodes.some((node) => node.says.some(tellsGradient));
  $("list").open = false;
  emptyTable();
  relayout();
  while (!graph.circuit && scaleToFit() < READABLE && closeInnermost()) relayout();
  show(stepOf(shown), { isPast: true });
  panel();
  fitToRead();
  if (id !== null && graph.byId.has(id)) pick({ node: graph.byId.get(id) }, { isPast: true });
}

$("notes").replaceChildren(...data.notes.map((text) => el("div", {}, text)));
$("views").append(...data.views.map((one, i) => el("option", { value: i }, VIEWS[one.name])));
$("views").hidden = data.views.length < 2;
on($("views"), "change", () => { use(+$("views").value); remember(); });
if (!root.dataset.theme) {
  useTheme(dark.matches);
  on(dark, "change", () => useTheme(dark.matches));
}
on(window, "popstate", fromHash);
on(window, "hashchange", fromHash);
new ResizeObserver(() => {
  if (JSON.stringify(view) === opened) fitToRead();  // a frame that was out of sight had no size
  else if (isFitted) fit();
  if (picked) reveal(picked);
  draw();
}).observe(stage);
use(0);
fromHash();
draw();  // at once: a page that is out of sight gets no animation frames
