"""Graph in, text or bytes out: one module per format in this folder, found by being there, chosen by the file's suffix.

A format is a module with

- ``SUFFIXES``: the suffixes that it serves, without their dots; ``ALSO``, if it serves more than are worth a line of
  help; ``NEVER``, if it takes any word that is asked for, those excepted
- ``DESCRIPTION``: one line for ``gviz formats``
- ``TEXTS``: those of its suffixes for which it makes text; for all others it makes bytes
- ``IGNORES``, if there are options that it does not read: their names
- ``render(graph, options)``: the text or the bytes; ``options.format`` is the suffix that was asked for
- ``PAGE``, if it has pages on which the graph is to be read: their kind, or "" for the one that the options name
- ``save(path, data)``, if its data goes elsewhere than into the file of that name; returns the path as text
- ``NEEDS``, if it needs a package that may be missing: the name of its module, and that of the package
- ``rows()``, if the program behind a suffix depends on the machine: the lines of ``gviz formats``; else it is gviz
  itself

A remark that is not an error (a character that no font has, a layout that takes long, a warning of Graphviz) is a
:class:`RenderWarning` through :func:`warnings.warn`: a program may filter it as any warning, the command line shows it
as one line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any, Protocol

from gviz.errors import RenderError, warn_user
from gviz.files import write, writing_error
from gviz.graphs import Graph
from gviz.layout import RenderWarning
from gviz.pictures.options import RenderOptions
from gviz.pictures.parts import drawn_parts, is_by_module
from gviz.text import closest

__all__ = [
    "Format",
    "FormatRow",
    "RenderOptions",
    "RenderWarning",
    "find",
    "formats",
    "render",
    "require",
    "save",
    "suffix_of",
]


SLIDES = (
    "these programs open pptx; gviz render SOURCE --fit slide -o y.svg (or y.png) makes a picture for a slide, "
    "gviz steps SOURCE -o y.pdf a page for each step"
)
PICTURES = "gviz writes none: svg or png makes a picture to put into it"
FILMS = "gviz steps SOURCE -o y.gif (or y.webp) makes an animation, -o y.html a page that plays"
TABLES = "gviz inspect SOURCE prints a table of the tensors, with --json as data"
ELSEWHERE = {
    "latex": "tex is a picture for LaTeX; gviz explain SOURCE -o y.tex derives gradients",
    **dict.fromkeys(
        ("md", "markdown"), "gviz explain SOURCE -o y.md derives gradients; svg is for a picture in Markdown"
    ),
    **dict.fromkeys(("ppt", "key", "odp"), SLIDES),
    **dict.fromkeys(("docx", "doc", "odt", "rtf"), PICTURES),
    **dict.fromkeys(("mp4", "mov", "avi", "webm", "mpg"), FILMS),
    **dict.fromkeys(("csv", "tsv", "xlsx", "xls"), TABLES),
    "pgf": "tikz is a picture for \\input",
    **dict.fromkeys(("onnx", "pt", "pth", "pb"), "gviz saves a graph as json; -o logs/ is for TensorBoard"),
}
"""Suffixes that people try, which are no format of a picture: the command that makes them, if any, and what to take."""


class Format(Protocol):
    """A module of this folder that writes graphs."""

    SUFFIXES: tuple[str, ...]
    TEXTS: tuple[str, ...]
    DESCRIPTION: str

    def render(self, graph: Graph, options: RenderOptions, /) -> str | bytes:
        """Return the graph in this format."""


class HasGraph(Protocol):
    """A source that was read, for instance."""

    @property
    def graph(self) -> Graph:
        """Its graph."""


@dataclass(frozen=True)
class FormatRow:
    """A line of ``gviz formats``: a suffix, its use, the program that makes it here ("" for none), and if that works.

    A format that does not work tells what to install.
    """

    suffix: str
    description: str
    made_by: str
    works: bool
    mend: str = ""


def find(suffix: str, *, any_word: bool = False) -> Format:
    """Return the format of a suffix, which is without its dot and in any case; of any other word, if wanted, Graphviz.

    Raises:
        RenderError: there is none; the message lists those there are.
    """
    word = suffix.lower()
    module = _serving(word)
    if module is not None:
        return module
    first = ("pdf", "svg", "png")
    suffixes = [*first, *sorted(row.suffix for row in formats() if row.works and row.suffix not in first)]
    if not word:
        hint = f"end it in one of {', '.join(suffixes)}, or give a --format (in Python RenderOptions(format=...))"
        raise RenderError("the file's name has no suffix that tells the format", hint=hint)
    suggestion = closest(word, suffixes) if word not in ELSEWHERE else None
    takers = (module for module in _modules() if word not in getattr(module, "NEVER", (word,)))
    if any_word and suggestion is None and (taker := next(takers, None)):
        return taker
    advice = f"{ELSEWHERE[word]}\n" if word in ELSEWHERE else f"Did you mean {suggestion}? " if suggestion else ""
    hint = f"{advice}The formats are {', '.join(suffixes)}."
    raise RenderError(f"there is no format {suffix!r}", hint=hint)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix that tells a file's format, in small letters and without its dot.

    ``xdot1.2`` has a dot of its own. A folder, by the slash at its end, is TensorBoard's.

    >>> suffix_of("out/a.b.PDF"), suffix_of("y.xdot1.2"), suffix_of("net-1.2"), suffix_of("graph"), suffix_of("logs/")
    ('pdf', 'xdot1.2', '2', '', 'tensorboard')
    """
    name = os.path.basename(os.fspath(path))
    if not name and path:
        return "tensorboard"
    last = os.path.splitext(name)[1][1:].lower()
    longer = ".".join(name.lower().split(".")[1:][-2:])
    return longer if last and _serving(last) is None and _serving(longer) is not None else last


def render(graph: Graph, suffix: str, options: RenderOptions | None = None) -> str | bytes:
    """Return the graph in a format: text, or bytes if the format is binary.

    Args:
        graph: any graph.
        suffix: the format, such as ``pdf``.
        options: how to draw it.

    Raises:
        RenderError: an unknown format, or a picture that cannot be made.
    """
    own_options, module = replace(options or RenderOptions(), format=suffix.lower()), find(suffix, any_word=True)
    if is_by_module(graph, own_options):
        own_options = replace(own_options, by="module")
        word = "name scope" if graph.kind == "static" else "module"
        warn_user(f"the graph has {len(graph.nodes)} boxes: drawn by {word}; --by operation draws all", RenderWarning)
    page = getattr(module, "PAGE", "none") or own_options.fit
    if page != "none":
        from gviz.render._fit import fit_to_page  # few pictures are put on a page

        require(suffix)
        own_options = fit_to_page(graph, own_options, page)
    return module.render(drawn_parts(graph, own_options), own_options)


def save(graph: Graph | HasGraph, path: str | os.PathLike[str], options: RenderOptions | None = None) -> str:
    """Write the graph to a file, whole or not at all.

    Args:
        graph: any graph, or an object with a ``graph``: a :class:`gviz.Reading`.
        path: where to; its suffix is the format unless the options name one, and a slash at its end is TensorBoard's.
        options: how to draw it.

    Returns:
        The path, as text.

    Raises:
        RenderError: an unknown format, or a picture that cannot be made.
        FileError: the file cannot be written.
    """
    own_graph = graph if isinstance(graph, Graph) else graph.graph
    suffix = options.format if options is not None and options.format else suffix_of(path)
    module = find(suffix, any_word=bool(options and options.format))
    try:
        return str(getattr(module, "save", write)(path, render(own_graph, suffix, options)))
    except BrokenPipeError:
        raise
    except OSError as error:  # Graphviz has a file of its own for a moment
        raise writing_error(os.fspath(path), error) from None


def formats() -> tuple[FormatRow, ...]:
    """Return every format, with what makes it here: a module's own rows, else one for each suffix, by gviz itself."""
    rows: list[FormatRow] = []
    for module in _modules():
        name, package = getattr(module, "NEEDS", ("gviz", "gviz"))
        works = find_spec(name) is not None
        facts = module.DESCRIPTION, package * works, works, f"pip install {package}" * (not works)
        own = (FormatRow(suffix, *facts) for suffix in module.SUFFIXES)
        rows += module.rows() if hasattr(module, "rows") else own
    return tuple(rows)


def require(suffix: str) -> None:
    """Refuse a format whose package is not installed, before a script runs.

    Raises:
        RenderError: with what to install.
    """
    name, package = getattr(find(suffix, any_word=True), "NEEDS", ("gviz", "gviz"))
    if find_spec(name) is None:
        raise RenderError(f"{suffix} needs {package}, which is not installed", hint=f"pip install {package}")


def _serving(suffix: str) -> Format | None:
    """Return the format of a suffix in small letters, or None."""
    return next((one for one in _modules(first=suffix) if suffix in (*one.SUFFIXES, *getattr(one, "ALSO", ()))), None)


def _modules(first: str = "") -> Iterator[Format]:
    """Yield the modules of this folder that are formats.

    For a suffix the one of that name comes first, then the pictures.
    """
    from importlib import import_module

    folder = os.path.dirname(__file__)
    names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_"))
    for name in sorted(names, key=lambda name: (name != first, bool(first) and name != "image")):
        module: Any = import_module(f"{__name__}.{name}")
        if hasattr(module, "SUFFIXES"):
            yield module
