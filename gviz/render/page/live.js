/* The page of gviz view: it asks whether there is a new picture, and shows what is wrong with the source. */
{
  const LATER = 500, MUCH_LATER = 3000;  // milliseconds to the next question

  const fault = document.createElement("pre");
  fault.id = "fault";
  fault.setAttribute("role", "alert");
  fault.style.cssText = "position:fixed;inset:auto 0 0 0;margin:0;padding:10px 16px;max-height:40vh;overflow:auto;z-index:9;white-space:pre-wrap;font:13px monospace;background:#8F1D1D;color:#FFF";
  function say(text) {
    if (fault.textContent !== text) fault.textContent = text;
    fault.hidden = !text;
  }
  async function ask() {
    let wait = LATER;
    try {
      const state = await (await fetch(`${location.pathname}state`, { cache: "no-store" })).json();
      if (state.number !== {{number}}) { location.reload(); return; }
      say(state.text);
    } catch {
      say("gviz view has ended; this is its last picture");
      wait = MUCH_LATER;
    }
    setTimeout(ask, wait);
  }

  // ---------------------------------------------------------------- a page that is loaded again stays where it was
  const KEY = `gviz ${location.pathname}`, BUTTONS_OF = ["values", "gradients"];
  function keep() {
    const closed = graph.groups.map((group, g) => [group.name, graph.closed.has(g)]);
    const theme = document.documentElement.dataset.theme;
    const state = { view, isFitted, closed, has, across: graph.across, theme };
    try { sessionStorage.setItem(KEY, JSON.stringify(state)); } catch { /* a sandboxed frame has no storage */ }
  }

  /** What has the same name is folded as it was, be it of another graph. */
  function resume() {
    let state = null;
    try { state = JSON.parse(sessionStorage.getItem(KEY)); } catch { return; }
    if (!state || performance.getEntriesByType("navigation")[0].type === "navigate") return;
    const closed = new Map(state.closed);
    graph.groups.forEach(({ name }, g) => {
      if (closed.get(name)) graph.closed.add(g);
      else if (closed.has(name)) graph.closed.delete(g);
    });
    Object.assign(has, state.has);
    graph.across = state.across;
    document.documentElement.dataset.theme = state.theme;
    for (const button of BUTTONS_OF) $(button).setAttribute("aria-pressed", has[button]);
    $("across").setAttribute("aria-pressed", graph.across);
    relayout();
    ({ view, isFitted } = state);
    draw();
  }
  if (document.getElementById("world")) {
    resume();
    addEventListener("pagehide", keep);
  }
  say("");
  document.body.append(fault);
  ask();
}
