/* The exercise: a question after the other below the picture, and a hint after an answer that is not right. */

const CLOSE = 0.05;  // how far a rounded answer may be from the number, by the number
const SAYS_WHAT = "a number is asked for, such as 2, -0.5 or 1/3";

let asked = 0, tries = 0, atOnce = 0, helped = 0;

/** The number of a text such as -0.5, 2e-3 or 1/3; NaN if it is none. */
function readNumber(text) {
  const [above, below = "1"] = text.split("/");
  return above.trim() && below.trim() && +below ? above / below : NaN;
}

/** Whether an answer is the number, or the number rounded to the decimals that were typed. */
function isRight(text, number) {
  const given = readNumber(text), away = Math.abs(given - number), most = Math.max(Math.abs(given), Math.abs(number));
  if (given === number || away <= Math.max(1e-4 * most, 1e-9)) return true;
  const [mantissa, power = "0"] = text.toLowerCase().split("e"), decimals = (mantissa.split(".")[1] || "").length;
  return !text.includes("/") && away <= 0.51 * 10 ** (power - decimals) && away <= CLOSE * most;
}

const field = el("input", { id: "answer", autocomplete: "off", size: 8, style: "margin: 0 .4rem" });
const about = el("label", { for: "answer", style: "white-space: pre-wrap" }), said = el("div", { role: "status" });
const hint = el("button", { type: "button", onclick: help }, "Hint");
const quiz = el("form", { id: "quiz", onsubmit: check }, about, field, el("button", {}, "Check"), " ", hint, said);
$("caption").before(quiz);

function ask() {
  const { length } = data.quiz, question = data.quiz[asked];
  field.value = "";
  tries = 0;
  hits = new Set(question ? [graph.byId.get(question.node)] : []);  // the box that it is about
  draw();
  if (!question) {
    quiz.replaceChildren(said);
    said.append(el("p", {}, `${atOnce} of ${length} right at once, ${helped} with hints`));
    return;
  }
  about.textContent = `${asked + 1}/${length}  ${question.about}\n${question.asked} = `;
  field.focus();
}
function check(event) {
  event.preventDefault();
  const question = data.quiz[asked], text = field.value.replace("−", "-").split("=").pop().trim();
  if (isRight(text, +question.answer)) {
    if (tries) helped++;
    else atOnce++;
    next(`right: ${question.asked} = ${text}`);
  } else if (Number.isNaN(readNumber(text))) said.textContent = SAYS_WHAT;
  else help(`not ${text}: `);
}

/** Give the next hint, way by way; after the last the answer. */
function help(before) {
  const { hints, asked: what, answer } = data.quiz[asked], head = typeof before === "string" ? before : "";
  if (tries < hints.length) {
    said.textContent = head + hints[tries++];
    field.select();  // the next answer takes the place of this one
  } else next(`${head}${what} = ${+(+answer).toPrecision(6)}`);
}
function next(text) {
  const { asked: what, answer, node } = data.quiz[asked], one = graph.nodes[graph.byId.get(node)];
  const number = String(+(+answer).toPrecision(6)), filled = ([text, ...look]) => [text.replace("?", number), ...look];
  if (what.endsWith(`∂${one.name}`)) one.says = one.says.map((line) => line.map(filled));
  said.textContent = text;
  asked++;
  relayout();
  ask();
}
ask();
