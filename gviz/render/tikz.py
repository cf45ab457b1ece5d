r"""TikZ: a picture of gviz's own layout as LaTeX, which ``pdflatex`` turns into a page of the picture's size.

``\input`` takes it into a document, too: with the package ``standalone`` the head is left out there. Texts are set in
LaTeX's own faces, each as wide as gviz has measured it.
Source: https://tikz.dev.
"""

from __future__ import annotations

from collections.abc import Iterator

from gviz.graphs import Graph
from gviz.layout.ink import Outline, Pen, Sheet, Stretch, TextLine, text_width, word_width
from gviz.pictures import picture_of, sheet_of
from gviz.pictures.options import RenderOptions
from gviz.text import visible

SUFFIXES = ("tikz",)
TEXTS = SUFFIXES
