"""The page of a graph in headless Chromium: folding, search, keys, steps, addresses; hostile names; no network."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from browser import Browser, program as browser_program
from program import ROOT
from scripts import nested

import gviz
from gviz import RenderOptions
from gviz.derivations.quiz import Question, blanked, questions_of
from gviz.graphs import Edge, Graph, Module, Node
from gviz.graphs.numbers import Numbers
from gviz.pictures import interactive
from gviz.render import RenderWarning, html

AXE = next((path for path in (ROOT / "node_modules/axe-core/axe.min.js",) if path.exists()), None)
"""A checker of accessibility, which is no part of gviz: ``make test-page`` fetches it."""

needs_browser = pytest.mark.skipif(browser_program() is None, reason="needs Chromium")

HOSTILE = (
    "</script><script>window.hit=1</script>", "<!--", "<img src=x onerror=window.hit=1>", "\u2028\u2029", "a\u202eb", "\ud800",
    "__proto__", '"><svg onload=window.hit=1>', "{{data}}", "constructor", "'\"&amp;", "javascript:window.hit=1",
)  # fmt: skip


def net(blocks: int) -> Graph:
    """A chain of operations, each in a module of its own inside one."""
    nodes = [Node("root", "output", name="y")]
    edges = []
    for i in range(blocks):
        module = Module(f"net.blocks.{i}", "Block", 1)
        nodes.append(Node(f"n{i}", "operation", "TanhBackward0", module=module, expression="tanh(x)"))
        edges.append(Edge(f"n{i}", "root" if not i else f"n{i - 1}"))
    return Graph(tuple(nodes), tuple(edges), ("root",), title="y")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("browser"), "--window-size=1000,700")
    yield browser
    browser.close()


@pytest.fixture
def formula(browser: Browser, tmp_path: Path) -> Browser:
    """The page of the first article's formula."""
    gviz.read("y=(x+w)*(w+1)", x=2, w=1).save(tmp_path / "y.html")
    browser.requests.clear()
    browser.open((tmp_path / "y.html").as_uri())
    return browser


def data_of(page: str) -> dict[str, object]:
    """The graph that a page holds."""
    found = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found[1])
    return data


def test_a_page_is_small_and_the_same_each_time() -> None:
    graph = net(300)
    page = html.render(graph, RenderOptions(format="html"))
    bare = html.render(Graph((Node("n0", "leaf", name="x"),), roots=("n0",)), RenderOptions(format="html"))
    assert page == html.render(graph, RenderOptions(format="html"))
    assert len(bare.encode()) < 60_000
    for formula in ("y=(x+w)*(w+1)", "y=1/(1+exp(-(w*x+b)))", "y=tanh(a*b+c)*d-e**2"):  # each with its circuit
        graph_of_formula = gviz.read(formula, gviz.SourceOptions(flow=True)).graph
        own = html.render(graph_of_formula, RenderOptions(format="html"))
        assert len(own.encode()) < 70_000 + 400 * len(graph_of_formula.nodes)
    assert len(page.encode()) - len(bare.encode()) < 400 * len(graph.nodes)


@needs_browser
def test_boxes_say_what_the_picture_says_and_nothing_is_loaded(formula: Browser) -> None:
    texts = formula.value("[...document.querySelectorAll('.box')].map(b => b.textContent.trim())")
    assert {"x = 2 grad = 2", "w = 1 grad = 5", "AddBackward0 a = x + w = 3", "y = 6"} <= set(texts)
    assert all(url.startswith(("file:", "about:")) for url in formula.requests)
    assert formula.value("document.querySelector('h1').textContent") == "y"


@needs_browser
def test_each_use_has_a_line_and_the_table_names_boxes_as_it_refers_to_them(browser: Browser, tmp_path: Path) -> None:
    gviz.read("y=x*x", x=3).save(tmp_path / "y.html")
    browser.open((tmp_path / "y.html").as_uri())
    twice = browser.value("drawn.lines.map((line) => line.edges.map((e) => graph.edges[e].to)).flat().join()")
    assert twice == "2,1,1,0"
    assert browser.value("new Set(drawn.lines.map((line) => line.d)).size") == 4
    browser.value("fillTable()")
    texts = "[...row.children].map((cell) => cell.textContent)"
    cells = browser.value(f"[...$('list').querySelectorAll('tbody tr')].map((row) => {texts})")
    names = {row[0] for row in cells}
    assert {name for row in cells for cell in row[3:] for name in cell.split(", ") if name} == names


@needs_browser
def test_a_box_tells_its_paths_and_the_address_names_it(formula: Browser) -> None:
    for view in range(2):
        formula.value(f"use({view})")
        formula.value("focusOn({node: graph.nodes.findIndex(n => n.name === 'w')})")
        text = formula.value("document.getElementById('panel').innerText")
        assert "(1) · (b = 2)\n+ (1) · (a = 3)\n= 2 + 3 = 5" in text
    assert re.search(r"node=n\d+$", formula.value("location.hash"))
    formula.value("history.go(-2)")
    formula.wait("document.getElementById('panel').hidden")


@needs_browser
def test_steps_tell_what_is_known_then(formula: Browser) -> None:
    formula.value("use(1)")
    w = "graph.nodes.findIndex(n => n.name === 'w')"
    said = [formula.value(f"show({step}); saysAt({w}, step).map(plain).join('|').trim()") for step in (1, 6, 7, 9)]
    assert said == [
        "leaf|w = 1|grad = None",
        "leaf|w = 1|grad = None",
        "leaf|w = 1|grad = 3 + …",
        "leaf|w = 1|grad = 5|= 3 + 2",
    ]
    assert "done" in formula.value("document.getElementById('caption').innerText")
    assert formula.value("location.hash") == "#view=dataflow&step=9"


@needs_browser
def test_search_finds_names_and_facts_by_keys(formula: Browser) -> None:
    formula.press("/")
    formula.value("$('search').value = 'grad = 5'; $('search').dispatchEvent(new Event('input'))")
    assert formula.value("$('count').textContent") == "1 found"
    formula.press("Enter")
    assert formula.value("graph.nodes[picked.node].name") == "w"
    formula.value("graph.nodes.forEach((node) => { node.code = 'add(x, w)'; node.hay = ''; }); search('add')")
    ranks = formula.value("list.map((i) => title(i).toLowerCase().includes('add'))")
    assert ranks == sorted(ranks, reverse=True)
    assert len(set(ranks)) == 2


@needs_browser
def test_keys_go_along_the_lines(formula: Browser) -> None:
    formula.value("stage.focus()")
    formula.press("Enter")
    names = [formula.value("name(picked.node)")]
    for _ in range(2):
        formula.press("ArrowUp")
        names.append(formula.value("name(picked.node)"))
    assert names == ["y", "MulBackward0", "AddBackward0"]
    formula.press("ArrowDown")
    assert formula.value("name(picked.node)") == "MulBackward0"
    formula.press("Escape")
    assert formula.value("picked") is None


@needs_browser
def test_the_chain_rule_says_which_derivative_it_comes_to(browser: Browser, tmp_path: Path) -> None:
    gviz.read("y=x**2", gviz.SourceOptions(values={"x": 3}, grad_output="0.5")).save(tmp_path / "y.html")
    browser.open((tmp_path / "y.html").as_uri() + "#node=x")
    text = browser.value("document.getElementById('panel').innerText")
    assert "Chain rule: ∂y/∂x\n(2·x = 6)" in re.sub(r"\n+", "\n", text)


@needs_browser
@pytest.mark.parametrize(
    ("view", "text"), [("torchviz", ""), ("dataflow", "derivative 1, Σ over all\n   hands back 600")]
)
def test_a_derivative_that_is_added_up_is_no_factor_of_the_chain_rule(
    browser: Browser, tmp_path: Path, view: str, text: str
) -> None:
    options = gviz.SourceOptions(values={"x": [1.0] * 300, "b": 0.5, "w": 2})
    gviz.read("y=(x+b).sum()*w", options).save(tmp_path / "y.html", view=view)
    panels = {}
    for name in ("b", "w"):
        browser.open((tmp_path / "y.html").as_uri() + f"#node={name}")
        panels[name] = browser.value("document.getElementById('panel').innerText")
    assert text in panels["b"]
    assert ["Chain rule" in panels[name] for name in "bw"] == [False, True]


@needs_browser
def test_the_chain_rule_of_an_operation_names_what_it_makes(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "y.py").write_text(
        "import torch\nw = torch.tensor(3.0, requires_grad=True)\nh = w * 2\ny = h ** 2\ny.backward()\n"
    )
    gviz.read(str(tmp_path / "y.py"), say=lambda _: None).save(tmp_path / "y.html")
    browser.open((tmp_path / "y.html").as_uri() + "#node=h")
    head, _, rest = browser.value("document.getElementById('panel').innerText").partition("\n")
    assert (head, "Chain rule: ∂y/∂h\n" in rest) == ("MulBackward0", True), rest


@needs_browser
@pytest.mark.parametrize(
    ("formula", "values"),
    [
        ("y=sin(x*tanh(x*tanh(w*x)+3*x))", {"x": -0.3, "w": 0.7}),
        ("y=exp(sin(x*w))*w", {"w": 0.0123, "x": 0.37}),
        ("y=x**2/3000+x*sin(x)/7e6", {"x": 0.01}),
        ("y=tanh(x)*x/3-x*tanh(x)/3", {"x": 0.7}),
        ("y=x**3*1000+sin(x)", {"x": 12.34}),
    ],
)
def test_who_computes_with_the_chain_rule_of_a_page_gets_what_it_says(
    browser: Browser, tmp_path: Path, formula: str, values: dict[str, float]
) -> None:
    options = gviz.SourceOptions(values=values)
    gviz.read(formula, options).save(tmp_path / "y.html")
    browser.open((tmp_path / "y.html").as_uri() + "#node=x")
    text = browser.value("document.querySelector('#panel pre.gradient').textContent")
    *rows, last = text.split("\n")
    terms, *total = re.split(" = ", last.removeprefix("= "))
    of_rows = [math.prod(map(float, re.findall(r"(-?[\d.]+(?:e[+-]?\d+)?)\)", row))) for row in rows]
    printed = [term.strip("()") for term in terms.split(" + ")]
    assert [as_printed(one, term) for one, term in zip(of_rows, printed, strict=True)] == printed
    if total:
        assert [as_printed(sum(map(float, printed)), total[0])] == total
    grad = {row.name: nested(row.grad.value) for row in gviz.read(formula, options).graph.tensors}["x"]
    assert (total or printed) == [as_printed(grad, (total or printed)[0])]


def as_printed(number: float, like: str) -> str:
    """A number with as many digits as another one has that is printed."""
    mantissa, sign, _ = like.partition("e")
    places = len(mantissa.partition(".")[2])
    text = f"{number:.{places}{'e' if sign else 'f'}}"
    return like if float(text) == float(like) else text


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("(x * 2).backward()\ny = x**2\ny.backward()", "it was 2 before, and backward adds to it"),
        ("y = x**2\ny.backward(torch.tensor(0.5))", "backward started with 0.5"),
        ("torch.autograd.backward([x * 2, x**2], [torch.tensor(5.0), None])", "backward started with 5"),
        (
            "h = x * 3\nh.register_hook(lambda grad: 10 * grad)\ny = h**2\ny.backward()",
            "a hook, line 4, has changed it",
        ),
        (
            "x.register_hook(lambda g: 10 * g)\nx.register_hook(lambda g: g + 1)\ny = x**2\ny.backward()",
            "hooks, line 3, line 4, have changed it",
        ),
        ("y = x**2\ny.backward()", ""),
    ],
)
def test_a_gradient_that_is_not_the_chain_rule_alone_says_why(tmp_path: Path, lines: str, reason: str) -> None:
    code = f"import torch\nx = torch.tensor(3.0, requires_grad=True)\n{lines}\n"
    (tmp_path / "net.py").write_text(code)
    drawn = gviz.read(tmp_path / "net.py", gviz.SourceOptions(flow=True)).graph
    facts = data_of(html.render(drawn, RenderOptions(format="html")))["facts"]
    assert isinstance(facts, list)
    told = [text for key, text in facts if key == "grad is"]
    assert told == ([f"not the chain rule alone: {reason}"] if reason else [])


@needs_browser
def test_groups_fold_and_unfold_where_they_are_clicked(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "net.html").write_text(html.render(net(300), RenderOptions(format="html")))
    browser.open((tmp_path / "net.html").as_uri())
    assert browser.value("drawn.boxes.length") < 10
    group = "graph.groups.findIndex(g => g.name === 'net.blocks')"
    browser.value(f"graph.closed.has({group}) || toggle({group})")
    browser.value("draw()")
    browser.click("[data-key^=g]")
    assert browser.value("drawn.boxes.length") == 301
    browser.value("fold(true); draw()")
    assert browser.value("drawn.boxes.length") == 301
    assert browser.value("drawn.frames.length") == 302
    browser.value("fold(false); draw()")
    assert browser.value("drawn.boxes.length") == 2


@needs_browser
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_names_are_shown_as_they_are_and_never_run(browser: Browser, tmp_path: Path, text: str) -> None:
    value = Numbers((), "float32", (1.0,))
    nodes = (
        Node(text or "a", "output", name=text, numbers=value),
        Node("b", "operation", text, expression=text, module=Module(text)),
    )
    graph = Graph(nodes, (Edge("b", text or "a"),), (text or "a",), title=text)
    data = html.render(graph, RenderOptions(format="html")).encode("utf-8", "backslashreplace")
    (tmp_path / "bad.html").write_bytes(data)
    browser.open((tmp_path / "bad.html").as_uri())
    assert browser.value("window.hit") is None
    assert browser.value("drawn.boxes.length") >= 1
    browser.value("focusOn({node: 0}); fillTable(); search('a'); picture()")
    assert browser.value("window.hit") is None
    assert browser.value("document.querySelectorAll('script').length") == 2


def test_a_browser_without_scripts_shows_what_repeats_in_a_large_graph_once() -> None:
    page = html.render(net(300), RenderOptions(format="html"))
    still = re.search(r"<noscript><p>.*?</noscript>", page, re.DOTALL)
    assert still is not None
    assert "<svg" in still[0]
    assert "× 300" in still[0]


def test_large_pages_are_warned_of_and_their_boxes_without_a_module_are_folded_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(html, "MANY", 500)
    monkeypatch.setattr(interactive, "MANY", 500)
    graph = net(601)
    bare = graph.changed(nodes=tuple(node._replace(module=None) for node in graph.nodes))
    with pytest.warns(RenderWarning, match="602 boxes"):
        data: Any = data_of(html.render(bare, RenderOptions(format="html")))
    assert data["notes"] == ["602 boxes are too many to be seen at once: they are folded"]
    groups, nodes = data["views"][0]["groups"], data["views"][0]["nodes"]
    assert [groups[0], groups[-1]] == [["boxes 601 to 602", -1], ["boxes 1 to 8", -1]]
    assert all(group is not None for _, _, group in nodes)


def test_the_formula_of_a_graph_without_gradients_has_no_steps() -> None:
    views: Any = data_of(html.render(net(3), RenderOptions(format="html")))["views"]
    steps = {view["name"]: len(view.get("steps", [])) for view in views}
    assert steps == {"torchviz": 0, "dataflow": 0, "circuit": 0}


@needs_browser
def test_why_a_program_stopped_stands_below_the_graph(browser: Browser, tmp_path: Path) -> None:
    script = tmp_path / "e.py"
    script.write_text("import torch\nw = torch.tensor(2.0, requires_grad=True)\na = w.exp()\na.add_(1)\na.backward()\n")
    gviz.read(script).save(tmp_path / "e.html")
    browser.open((tmp_path / "e.html").as_uri())
    assert "modified by an inplace operation" in browser.value("$('notes').innerText")


@needs_browser
def test_a_quiz_checks_the_answers_and_gives_hints(browser: Browser, tmp_path: Path) -> None:
    graph = gviz.read("y=(x+w)*tanh(w)", gviz.SourceOptions(values={"x": 2, "w": 0.5}, flow=True)).graph
    questions = questions_of(graph)
    page = html.render_quiz(blanked(graph), [one._asdict() for one in questions], RenderOptions(format="html"))
    assert "grad = ?" in page
    assert {view["name"] for view in cast("Any", data_of(page))["views"]} == {"torchviz"}
    (tmp_path / "quiz.html").write_text(page, encoding="utf-8")
    browser.open((tmp_path / "quiz.html").as_uri())

    def answer(text: str) -> str:
        said: str = browser.value(f"field.value = '{text}'; quiz.requestSubmit(); said.textContent")
        return said

    assert answer("two") == "a number is asked for, such as 2, -0.5 or 1/3"
    assert answer("7").startswith(f"not 7: {questions[0].hints[0]}")
    assert browser.value("field.value.slice(field.selectionStart, field.selectionEnd)") == "7"
    assert browser.value("document.querySelector('.hit').textContent.includes('MulBackward0')")
    for one in questions:
        assert answer(f"{one.answer:.3f}") == f"right: {one.asked} = {one.answer:.3f}" or one is questions[-1]
    assert browser.value("quiz.innerText.trim()").endswith(
        f"{len(questions) - 1} of {len(questions)} right at once, 1 with hints"
    )
    assert browser.value("graph.nodes.some((node) => node.says.flat().some(([text]) => text === 'grad = 0.462117'))")
    cases = ("0.1966", "0.2", "0.197", "0.196", "0.1", "1.97e-1", "0", "1/5", "1/0", "")
    for text in cases:
        says = browser.value(f"isRight('{text}', 0.19661)")
        assert says == (bool(text) and text != "1/0" and Question("", "", 0.19661, ()).is_right(text)), text


STATES = (
    "use(0)",
    "focusOn({node: 0})",
    "pick(null); search('a')",
    "search(''); $('list').open = true",
    "use(1); show(3)",
    "use(2)",
    "useTheme(true)",
)
"""What the page is brought to, one after the other, as people do."""


@needs_browser
@pytest.mark.skipif(AXE is None, reason="needs axe-core: make test-page")
def test_axe_finds_no_failure(formula: Browser) -> None:
    assert AXE is not None
    formula.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    formula.value(AXE.read_text(encoding="utf-8") + "; 0")
    for state in STATES:
        formula.value(f"{state}; draw(); window.found = null")
        run = "axe.run().then(({ violations }) => violations.map((one) => one.help), (error) => [String(error)])"
        formula.value(f"{run}.then((found) => {{ window.found = found; }}); 0")
        formula.wait("window.found !== null")
        assert formula.value("window.found") == [], state
