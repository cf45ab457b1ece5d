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
  say("");
  document.body.append(fault);
  ask();
}
