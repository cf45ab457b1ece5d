"""Graphviz in this process: what would crash it does not reach it."""

from __future__ import annotations

import subprocess
import sys

DRAW = """
import sys
from gviz.layout.embedded import draw_embedded as draw
for label in sys.argv[1:]:
    dot = 'digraph {' + ''.join('n%d [label=%s fontname=monospace]' % (i, label) for i in range(12)) + '}'
    for _ in range(3):
        assert b'</svg>' in draw(dot.encode(), 'svg')
"""

TWICE = """
from gviz.layout.embedded import draw_embedded as draw
pictures = [draw(b"digraph {a -> b}", "xdot") for _ in range(3)]
assert pictures[0] == pictures[1] == pictures[2], pictures
"""


def test_the_first_picture_of_a_process_is_no_other_than_the_next() -> None:
    done = subprocess.run([sys.executable, "-c", TWICE], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_label_whose_first_line_is_empty_does_not_crash() -> None:
    labels = ['"\\n ()"', '"\n ()"', '"\\l"', '"\\n"', '"a\\n\\nb"', '""']
    done = subprocess.run([sys.executable, "-c", DRAW, *labels], check=False, capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
