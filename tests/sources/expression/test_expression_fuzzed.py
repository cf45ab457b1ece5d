"""Any text and options, from the parser to the picture: a result or an error in words, and nothing else happens."""

from __future__ import annotations

import io
import os
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from fuzzing import Escape, guarded, relaxed
from hypothesis import given, strategies as st

from gviz.errors import GvizError
from gviz.render import render
from gviz.sources import Source, SourceOptions, read
from gviz.sources.expression import allowed

pytestmark = pytest.mark.fuzz

VALUES = {"x": "[1.,2.]", "w": "2", "W": "[[1,2],[3,4]]", "k": "-0.5"}

ATOMS = (
    "x", "w", "W", "k", "z", "m", "2", "0", "-1", "3.5", "1e400", "2**63", "10**30", "1j", "0x1F", "1_0", "pi", "inf", "nan",
    "None", "True", "...", "'mean'", "b'x'", "f'{x}'", "(2,3)", "()", "[]", "[1,2]", "[x,w]", "{}", "{1:2}", "{x}", "float64",
    "torch.long", "ones(2,3)", "randn(2)", "arange(4)", "W[0]", "W[:,None]", "W[W>1]", "x[...,-1]", "max(x,dim=0)", "lambda: 1",
)  # fmt: skip
OPERATORS = (
    "+",
    "-",
    "*",
    "/",
    "**",
    "@",
    "//",
    "%",
    "<",
    "==",
    "!=",
    ">=",
    "&",
    "|",
    "^",
    "<<",
    "and",
    "or",
    "if x else",
    "is",
    "in",
)
KEYWORDS = (
    "dim=",
    "keepdim=",
    "dtype=",
    "p=",
    "out=",
    "inplace=",
    "reduction=",
    "weight=",
    "size=",
    "*",
    "**",
    "nosuch=",
)
NAMES = (
    "y",
    "y",
    "z",
    "m",
    "x",
    "a",
    "b",
    "torch",
    "e",
    "π",
    "W",
    "y, z",
    "y, *z",
    "x[0]",
    "x.T",
    "(y)",
    "y: int",
    "_",
)
BREAKS = ("; ", "\n", " ;; ", ", ", " = ", "\n  ", " # ", "\\\n")

HOSTILE = (
    "__import__('os').system('touch escaped')",
    "open('escaped', 'w')",
    "eval('1')",
    "exec('import os')",
    "().__class__.__bases__[0].__subclasses__()",
    "x.__class__.__mro__",
    "ones.__globals__['__builtins__']",
    "x.backward.__func__.__globals__",
    "getattr(x, '__cl' + 'ass__')",
    "globals()['x']",
    "torch.save(x, 'escaped')",
    "torch.load('escaped')",
    "torch.from_file('escaped')",
    "x.numpy().tofile('escaped')",
    "x.numpy().dump('escaped')",
    "x.apply_(print)",
    "x.register_hook(print)",
    "x.data",
    "x.grad_fn.next_functions",
    "x.requires_grad_()",
    "torch.autograd.Function",
    "np.save('escaped', x)",
    "'{0.__class__}'.format(x)",
    "f'{x.__class__}'",
    "(lambda: x)()",
    "[x for x in ().__class__.__subclasses__()]",
    "(yield x)",
    "await x",
    "(x := open('escaped', 'w'))",
    "breakpoint()",
    "import os",
    "from os import system as log",
    "print(x)",
    "help()",
    "exit()",
    "class y: pass",
    "with open('escaped','w') as x: y=x",
    "def log(x): return x",
    "del x",
    "global x",
    "assert x",
    "raise SystemExit",
    "while 1: pass",
    "for i in range(10**9): y=x",
    "ones(10**5, 10**5)",
    "W**10**10",
    "9**9**9",
    "arange(10**12)",
    "x.repeat(10**9)",
    "'a'*10**10",
    "[x]*10**9",
)


def called(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A part in an operation, a call with any arguments, a method, an attribute or an index."""
    arguments = st.lists(st.tuples(st.sampled_from(("", "", "", *KEYWORDS)), part).map("".join), max_size=3).map(
        ", ".join
    )
    return st.one_of(
        st.tuples(part, st.sampled_from(OPERATORS), part).map("({0[0]} {0[1]} {0[2]})".format),
        st.tuples(
            st.sampled_from(("", "", "torch.", "F.")), st.sampled_from(sorted(allowed.functions())), arguments
        ).map("{0[0]}{0[1]}({0[2]})".format),
        st.tuples(part, st.sampled_from(sorted(allowed.tensor_methods())), arguments).map(
            "({0[0]}).{0[1]}({0[2]})".format
        ),
        st.tuples(part, st.sampled_from(sorted(allowed.ATTRIBUTES | allowed.FIELDS))).map("({0[0]}).{0[1]}".format),
        st.tuples(part, part, part).map("({0[0]})[{0[1]}:{0[2]}]".format),
        part.map("-({0})".format),
        st.tuples(part, part).map("[{0[0]}, {0[1]}]".format),
    )


def computed(part: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """A part in an operation of good sense, of any function for one tensor, or cut."""
    return st.one_of(
        st.tuples(part, st.sampled_from(("+", "-", "*", "/", "**", "@", "<")), part).map(
            "({0[0]} {0[1]} {0[2]})".format
        ),
        st.tuples(st.sampled_from(sorted(allowed.functions())), part).map("{0[0]}({0[1]})".format),
        st.tuples(part, st.sampled_from(sorted(allowed.tensor_methods()))).map("({0[0]}).{0[1]}()".format),
        st.tuples(part, st.sampled_from(("[0]", "[..., :1]", ".T", "[None]", ".sum(0)", ".detach()"))).map("".join),
    )


wild = st.recursive(st.sampled_from(ATOMS) | st.sampled_from(ATOMS + HOSTILE), called, max_leaves=6)
good = st.recursive(st.sampled_from(("x", "x", "w", "W", "k", "2", "0.5")), computed, max_leaves=6)
statements = st.tuples(st.sampled_from(NAMES), st.sampled_from(("=", "=", "=", "+=", ":=")), wild).map(" ".join)
programs = st.one_of(
    st.tuples(good, good).map("a = {0[0]}; y = a * {0[1]}".format),
    good.map("y = {}".format),
    st.lists(statements, min_size=1, max_size=4).map("; ".join),
)
mutations = st.lists(
    st.tuples(
        st.integers(0, 80),
        st.integers(0, 6),
        st.sampled_from((*BREAKS, *ATOMS, *OPERATORS, *HOSTILE)) | st.text(max_size=3),
    ),
    min_size=1,
    max_size=3,
)
GOOD = (
    "y=(x+w)*(w+1)",
    "b = w1*a; c = w2*a; d = w3*b + w4*c; L = 10 - d",
    "h = relu(W @ x + k); y = softmax(h, dim=0)[0]",
    "v, i = max(W, dim=1); y = (v * 2).sum()",
    "y = torch.cat([x, x * w]).view(2, 2).T.exp().mean()",
    "y=W[1:, 0]\nz=y.sum()",
)
options = st.fixed_dictionaries(
    {},
    optional={
        "roots": st.lists(st.sampled_from(("y", "z", "x", "a", "b", "nosuch", "", "\0")), max_size=2),
        "frozen": st.lists(st.sampled_from(("x", "w", "W", "y", "nosuch")), max_size=2),
        "retain": st.lists(st.sampled_from(("a", "y", "x", "nosuch")), max_size=2),
        "wrt": st.lists(st.sampled_from(("x", "w", "nosuch")), max_size=2),
        "dtype": st.sampled_from(("float16", "float64", "int64", "bool", "complex64", "nosuch", "")),
        "grad_output": st.sampled_from(("ones", "1", "[1,2]", "x", "W", "(", "__import__('os')")),
        "order": st.integers(-1, 3),
        "backward": st.booleans(),
        "saved": st.booleans(),
        "flow": st.booleans(),
        "jacobians": st.booleans(),
        "lines": st.booleans(),
        "kept": st.booleans(),
        "diagnose": st.booleans(),
    },
)


def attempt(source: str | Source, **chosen: Any) -> None:
    """Read an expression and draw it, or be refused in words."""
    report = None
    with warnings.catch_warnings(), guarded():
        warnings.simplefilter("ignore")
        try:
            origin = source if isinstance(source, Source) else Source.of(source, io.StringIO("y=x"), VALUES)
            reading = read(origin, SourceOptions(**{"values": VALUES, **chosen}), say=lambda _: None)
            assert render(reading.graph, "dot")
        except GvizError as error:
            report = str(error)
    if report is not None:
        assert report.strip()
        assert all(character.isprintable() or character in "\n\t" for character in report), repr(report)


def expression(text: str) -> Source:
    """The text as an expression, whatever it looks like."""
    return Source("expression", text)


@relaxed(900)
@given(programs, options)
def test_a_program_of_the_grammar_is_drawn_or_refused(text: str, chosen: dict[str, Any]) -> None:
    attempt(expression(text), **chosen)


@relaxed(600)
@given(programs, st.lists(st.sampled_from(("y", "z", "nosuch")), max_size=1))
def test_a_program_of_the_grammar_is_a_static_graph_or_refused(text: str, roots: list[str]) -> None:
    attempt(expression(text), static=True, roots=roots)


@relaxed(600)
@given(st.sampled_from(GOOD), mutations, st.booleans())
def test_a_good_program_with_mistakes_is_drawn_or_refused(
    program: str, mistakes: list[tuple[int, int, str]], static: bool
) -> None:
    for start, length, other in mistakes:
        program = program[:start] + other + program[start + length :]
    attempt(program, static=static)


@relaxed(600)
@given(st.binary(max_size=80), st.sampled_from(("utf-8", "latin-1", "utf-16")), st.booleans())
def test_any_bytes_are_drawn_or_refused(content: bytes, encoding: str, static: bool) -> None:
    attempt(content.decode(encoding, "replace" if encoding == "utf-16" else "surrogateescape"), static=static)


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize(
    "around", ["{}", "y = {}", "y = x * log({})", "y=x; z={}", "y = x[{}]", "y = ones(2, dtype={})"]
)
def test_what_is_meant_to_break_out_is_drawn_or_refused(around: str, text: str) -> None:
    for static in (False, True):
        attempt(expression(around.format(text)), static=static)
        attempt(expression("y=x"), static=static, values={"x": around.format(text)})


@pytest.mark.parametrize(
    "act", [partial(open, "escaped", "w"), partial(os.system, "true"), partial(os.remove, "escaped")]
)
def test_the_guard_sees_what_reaches_out(act: Callable[[], Any]) -> None:
    with pytest.raises(Escape), guarded():
        act()
