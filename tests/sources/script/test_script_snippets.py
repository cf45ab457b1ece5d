"""Code as people paste it: prompts, printed output, fences and backticks come off, and lines keep their numbers."""

from __future__ import annotations

import pytest

from gviz.errors import SourceError
from gviz.sources.pasted import Parsed, parse


def notes(parsed: Parsed) -> list[str]:
    return [note.text for note in parsed.notes]


def report(text: str) -> str:
    with pytest.raises(SourceError) as caught:
        parse(text, "net.py")
    return str(caught.value)


@pytest.mark.parametrize(
    ("pasted", "code", "said"),
    [
        (
            ">>> x = 1\n>>> for i in range(2):\n...     print(i)\n...\n0\n1\n>>> x\n1\n",
            "x = 1\nfor i in range(2):\n    print(i)\n\n\n\nx\n\n",
            "took the prompts (>>>) off, and left out 3 lines of output",
        ),
        (">> x = 1\n>> x\n1", "x = 1\nx\n", "took the prompts (>>) off, and left out 1 line of output"),
        ("In [1]: x = 1\nIn [2]: y = x", "x = 1\ny = x", "took the prompts (In [1]:) off"),
        ("In [1]:  x = 1\n\nIn [2]:  y = x", "x = 1\n\ny = x", "took the prompts (In [1]:) off"),
        (">>>x = 1\n>>>x", "x = 1\nx", "took the prompts (>>>) off"),
        (
            "In [1]: import torch\n\nIn [2]: x = (1,\n   ...:      2)\n\nIn [3]: x\nOut[3]: (1, 2)\n",
            "import torch\n\nx = (1,\n     2)\n\nx\n\n",
            "took the prompts (In [1]:) off, and left out 1 line of output",
        ),
        (
            "In [1]:\nx = 1\nx\nOut[1]:\n1\nIn [ ]:\ny = 2\n",
            "\nx = 1\nx\n\n\n\ny = 2\n",
            "took the prompts (In [1]:) off, and left out 2 lines of output",
        ),
        (
            ">>> y = (1 +\n  2)\n>>> y\n3",
            "y = (1 +\n  2)\ny\n",
            "took the prompts (>>>) off, and left out 1 line of output",
        ),
        (
            ">>> for i in [1]:\n    print(i)\n    print(2)\n1\n2",
            "for i in [1]:\n    print(i)\n    print(2)\n\n",
            "took the prompts (>>>) off, and left out 2 lines of output",
        ),
        ("x = 1\n>>> y = 2\n", "x = 1\ny = 2\n", "took the prompts (>>>) off"),
        ("# first\n>>> x = 1", "# first\nx = 1", "took the prompts (>>>) off"),
        ("  >>> x = 1\n  >>> y = 2", "x = 1\ny = 2", "took the prompts (>>>) off"),
        ("```python\nx = 1\n```\n", "\nx = 1\n\n", "took the fences (```python) off"),
        ("x = 1\n```\n", "x = 1\n\n", "took the fences (```) off"),
        (
            "So we write\n```\nx = 1\n```\nand then\n~~~ \ny = 2\n~~~",
            "\n\nx = 1\n\n\n\ny = 2\n",
            "took the fences (```) off, and left out 2 lines outside of them",
        ),
        (
            "```bash\npip install torch\n```\n``` Python\nx = 1\n```\n```\ntensor(1.)\n```\n",
            "\n\n\n\nx = 1\n\n\n\n\n",
            "took the fences (```bash) off, and left out 2 lines outside of them",
        ),
        ("`x = 1`", "x = 1", "took the enclosing backticks off"),
        ("`x = 1`\n`y = 2`", "x = 1\ny = 2", "took the enclosing backticks off"),
        ("``x = 1\ny = 2``\n", "x = 1\ny = 2\n", "took the enclosing backticks off"),
        ("    x = 1\n    if x:\n        y = 2\n", "x = 1\nif x:\n    y = 2\n", ""),
        ("%matplotlib inline\nx = 1", "\nx = 1", "left out %matplotlib inline: IPython's, not Python's"),
        (
            "!pip install torch\n%time\nx = 1",
            "\n\nx = 1",
            "left out !pip install torch and 1 more: IPython's, not Python's",
        ),
    ],
)
def test_what_surrounds_pasted_code_comes_off(pasted: str, code: str, said: str) -> None:
    parsed = parse(pasted, "net.py")
    assert parsed.text == code
    assert notes(parsed) == ([said] if said else [])
    assert parsed.text.count("\n") == pasted.count("\n")


def test_prompts_inside_fences_come_off_too() -> None:
    parsed = parse("```\n>>> x = 1\n>>> x\n1\n```", "net.py")
    assert parsed.text == "\nx = 1\nx\n\n"
    assert len(parsed.notes) == 2


@pytest.mark.parametrize(
    "text", ['"""\n>>> x = 1\n1\n"""\ny = 2\n', "y = '''\n```\ncode\n```\n'''\n", "x = 1 >> 2\n", "x = y = ...\n"]
)
def test_what_is_python_is_left_as_it_is(text: str) -> None:
    parsed = parse(text, "net.py")
    assert (parsed.text, parsed.notes) == (text, ())


def test_the_doctest_of_a_script_that_is_wrong_elsewhere_is_not_taken_for_a_session() -> None:
    assert (
        report('x = 1\n\ndef f():\n    """f\n\n    >>> f()\n    """\ny = (\n')
        == "net.py:8: SyntaxError: '(' was never closed\n  y = (\n      ^"
    )


def test_an_error_in_a_session_has_the_line_of_the_paste() -> None:
    assert report(">>> x = 1\n>>> x\n1\n>>> y = = 2\n") == "net.py:4: SyntaxError: invalid syntax\n  y = = 2\n      ^"


def test_a_magic_does_not_hide_another_error() -> None:
    assert report("x = 1\ny = = 2\n%time\n").startswith("net.py:2: SyntaxError: invalid syntax\n")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("x = “a”", 'write " instead of “'),
        ("x ＝ 1", "write = instead of ＝"),
        ("x = f（1）", "write ( instead of （"),
        ("x = 1\u00a0+ 2", "an invisible character came with the paste: write an ordinary space, or none"),
        ("x = \u200b1", "an invisible character came with the paste: write an ordinary space, or none"),
        ("x = 3 − 1", "write - instead of −"),
        ("x = '–' – 1", "write - instead of –"),
        ("größe = 1 +", "             ^"),
        ("x = '×' +", "           ^"),
    ],
)
def test_characters_that_only_look_right_are_named(text: str, hint: str) -> None:
    assert report(text).split("\n")[-1] == hint


def test_an_error_that_spans_lines_marks_the_first() -> None:
    assert report("x = f(1 for i in\n [2], 3)") == (
        "net.py:1: SyntaxError: Generator expression must be parenthesized\n  x = f(1 for i in\n        ^^^^^^^^^^"
    )


@pytest.mark.parametrize("text", ["(" * 300 + ")" * 300, "-" * 100_000 + "1", "[" * 100_000, "+".join(["x"] * 100_000)])
def test_code_beyond_the_parsers_depth_is_refused(text: str) -> None:
    assert "nested" in report(text)
