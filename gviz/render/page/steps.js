/* The steps of the computation: a slider, the caption, the program beside the picture, and playing. */

const calm = matchMedia("(prefers-reduced-motion: reduce)");
let timer = 0;

/** The first step that the page shows: a player's is 1, else the whole graph comes first. */
const firstStep = () => (data.player && graph.steps.length ? 1 : 0);

/** The place of a step by its number, which is the same whatever is left out. */
function stepOf(number) {
  const at = graph.steps.findIndex((one) => String(one.number) === number) + 1;
  return at || number === "0" ? at : firstStep();
}
function show(wanted, { isPast = false } = {}) {
  step = Math.max(0, Math.min(graph.steps.length, wanted));
  const now = graph.steps[step - 1];
  $("slider").value = step;
  $("place").textContent = now ? `${now.half} ${now.number}/${graph.of}` : "whole graph";
  $("slider").setAttribute("aria-valuetext", $("place").textContent.replace("/", " of "));
  $("caption").replaceChildren(...captionLines(now));
  if (now && !isPast && !calm.matches) $("caption").animate([{ opacity: 0.3 }, { opacity: 1 }], 150);
  $("back").disabled = step <= firstStep();
  $("next").disabled = step === graph.steps.length;
  if (!isPast) remember({ isNew: false });
  if (data.code.length) panel();
  clear();
  if (now && now.lit && !isFitted) reveal({ node: now.lit[0] });
  draw();
}

const captionLines = (one) => (one ? one.caption.map((line) => el("div", {}, ...spans(line, "span"))) : []);

/** Leave room for the highest caption, so that the picture does not move from step to step. */
function roomForCaptions() {
  const own = $("caption"), shown = [...own.childNodes];
  own.style.minHeight = 0;
  const heights = graph.steps.map((one) => { own.replaceChildren(...captionLines(one)); return own.offsetHeight; });
  own.style.minHeight = `${Math.max(0, ...heights)}px`;
  own.replaceChildren(...shown);
}
on(window, "resize", roomForCaptions);

/** Go to a step, unless there are none: of the whole graph only the button shows more than the first. */
function go(wanted) {
  pause();
  if (graph.steps.length) show(Math.max(firstStep(), wanted));
}
function pause() { clearInterval(timer); timer = 0; $("play").textContent = "Play"; }
function play() {
  if (timer || !graph.steps.length) { pause(); return; }
  if (step === graph.steps.length) show(firstStep());
  timer = setInterval(() => { show(step + 1); if (step === graph.steps.length) pause(); }, data.seconds * 1000);
  $("play").textContent = "Pause";
}

/** The lines of the program, the one that runs lit. */
function codeLines() {
  const now = graph.steps[step - 1].line;
  const look = (k) => (k + 1 === now ? { class: "now", id: "now", "aria-current": "step" } : {});
  const row = (text, k) => el("li", look(k), text || " ");
  return [el("ol", {}, ...data.code.map(row))];
}
on($("slider"), "input", () => go(+$("slider").value));
on($("back"), "click", () => go(step - 1));
on($("next"), "click", () => go(step + 1));
on($("first"), "click", () => { pause(); show(0); });
on($("play"), "click", play);
