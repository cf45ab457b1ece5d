/* The whole graph, not what is in sight, as SVG and PNG in the colours that are shown, and on one printed page. */

function picture() {
  const [w, h] = [tenth(drawn.w + 20), tenth(drawn.h + 20)];
  const rules = `${$("picture-style").textContent}${graph.circuit ? $("looks").textContent : ""}`;
  const css = rules.replace(/var\((--[\w-]+)\)/g, (_, word) => property(word));
  const page = el(":rect", { x: -10, y: -10, width: w, height: h, fill: property("--page") });
  const head = { xmlns: SVG, viewBox: `-10 -10 ${w} ${h}`, width: w, height: h };
  const root = el(":svg", head, el(":title", {}, data.title), el(":style", {}, css), page, ...stillShapes());
  return new XMLSerializer().serializeToString(root);
}
function save(blob, suffix) {
  const link = el("a", { href: URL.createObjectURL(blob), download: `${data.stem}.${suffix}` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}
function savePng() {
  const image = new Image(), scale = Math.min(2, 16000 / Math.max(drawn.w, drawn.h));
  image.onload = () => {
    const [width, height] = [drawn.w, drawn.h].map((side) => Math.round((side + 20) * scale));
    const canvas = el("canvas", { width, height });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => save(blob, "png"));
  };
  image.src = `data:image/svg+xml,${encodeURIComponent(picture())}`;
}

on(window, "beforeprint", () => {
  world.setAttribute("transform", "");
  world.setAttribute("display", "inline");
  clear();
  $("boxes").append(...stillShapes());
  $("near").setAttribute("viewBox", `-5 -5 ${drawn.w + 10} ${drawn.h + 10}`);
});
on(window, "afterprint", () => { $("near").removeAttribute("viewBox"); clear(); paint(); });
