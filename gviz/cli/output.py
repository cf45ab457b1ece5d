"""The options of a picture: its file, its format and its looks. All commands that draw share them."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from gviz.cli import streams
from gviz.cli.options import NAMES, Command, OneOf, not_blank, not_one_of, pairs, refuse_source, with_options
from gviz.cli.values import is_format
from gviz.errors import FileError, RenderError, warn_user
from gviz.files import STDIN
from gviz.graphs import Graph
from gviz.layout import ENGINES, RenderWarning
from gviz.passes.part import HIDABLE
from gviz.pictures.look import docstring_of
from gviz.pictures.options import (
    ARROWS,
    FITS,
    FOLDS,
    LAYOUTS,
    MATH,
    MEASURES,
    RANKDIRS,
    REPEATS,
    SHOWABLE,
    STEPS,
    SYMBOLS,
    VIEWS,
)
from gviz.pictures.parts import may_fold
from gviz.pictures.theme import THEMES
from gviz.records import record
from gviz.render import RenderOptions, find, render, save, suffix_of
from gviz.text import shorten

if TYPE_CHECKING:
    from gviz.sources import Source

TREE_LINES = 20
"""Lines of the tree that is printed beside a picture on a terminal."""

LONGEST_STEM = 100
"""Characters of a file name that is made from a root's name."""

PARTS = (("G", "graph", "the whole picture"), ("N", "node", "all boxes"), ("E", "edge", "all arrows"))

LONGEST_TITLE = 60
"""Characters of a formula as a title."""


def look(name: str, text: str, words: Iterable[str] = (), **more: Any) -> Callable[[Command], Command]:
    """Return the option for a field of :class:`gviz.RenderOptions`, whose default it has.

    Args:
        name: the field.
        text: the help.
        words: what it may be; nothing for a number or any text.
        more: what :func:`click.option` takes besides, another default among it.
    """
    usual = more.pop("default", getattr(RenderOptions, name))
    if words:
        more["type"] = OneOf(words)
    if usual not in ("", False, None, ()):
        more.update(default=usual, show_default=True)
    return click.option(f"--{name.replace('_', '-')}", help=text, **more)


PATTERNS: dict[str, Any] = {"multiple": True, "metavar": "PATTERN"}

THEME = "The colours: TorchViz's, pale ones, light on dark, or shades of grey for a printer."
PRECISION = look("precision", "The decimals of a number.", type=click.IntRange(0, 9), metavar="N")
COLLAPSE = look(
    "collapse", "Draw a module, as net.head or blocks.*, or a name scope as one box; repeatable.", **PATTERNS
)
GRAPHVIZ = look(
    "graphviz", "The program that makes images: the Graphviz that came with gviz, or the system's dot.", ENGINES
)


@record
class Output:
    """A picture that was asked for.

    Args:
        files: where it goes: each a file, - for standard output, or None for ROOT.pdf in the current folder.
        options: how it is drawn; their format is "" for the suffix of the file.
        opens: whether it is shown when it is written.
    """

    files: tuple[str | None, ...]
    options: RenderOptions
    opens: bool = False

    @property
    def is_stdout(self) -> bool:
        """Whether the picture goes to standard output, too."""
        return "-" in self.files

    @property
    def has_details(self) -> bool:
        """Whether the picture, or the data, tells what each operation saved, however large the graph is."""
        return "attrs" in self.options.show or "json" in map(self.format_of, self.files)

    @property
    def format(self) -> str:
        """The format that is asked for, of several files that of the first; FileError for a folder."""
        return self.format_of(self.files[0])

    def format_of(self, file: str | None) -> str:
        """Return the format that a file is to have; FileError for a folder."""
        if file is not None and file.endswith("/") and self.options.format not in ("", "tensorboard"):
            raise FileError(f"{file} is a folder", hint=f"name a file in it: {file}graph.{self.options.format}")
        if self.options.format or file is None:
            return (self.options.format or "pdf").lower()
        if file == "-":
            return "txt" if streams.is_terminal(sys.stdout) else "dot"
        suffix = suffix_of(file)
        if suffix != "tensorboard" and os.path.isdir(file):
            example = os.path.join(file, "graph.pdf")
            raise FileError(
                f"{file} is a folder",
                hint=f"name a file in it: {example}; with a slash, {file}/, it is for TensorBoard",
            )
        return suffix

    @property
    def may_fold(self) -> bool:
        """Whether blocks that repeat may be drawn once."""
        return any(may_fold(self.options, self.format_of(file)) for file in self.files)

    def check(self, source: Source | None) -> None:
        """Refuse, before a script runs, a file that is the source, and a format that is unknown or not to be shown."""
        streams.hear_warnings()
        for file in self.files:
            refuse_source(file, source, "picture", "picture")
            suffix = self.format_of(file)
            try:
                module = find(suffix, any_word=bool(self.options.format))
            except RenderError as error:
                raise (
                    click.BadParameter(str(error), param_hint="'--format'") if self.options.format else error
                ) from None
            if file == "-" and streams.is_terminal(sys.stdout) and suffix not in module.TEXTS:
                ways = f"Name a file (-o FILE.{suffix}), or send it on (-o - --format {suffix} | ...)."
                raise click.UsageError(f"{suffix} is binary, which a terminal cannot show. {ways}")
            # of several files some may well have no use for what the others need
            is_sharp = suffix not in getattr(module, "RASTER", (suffix,))  # at any size
            names = (*getattr(module, "IGNORES", ()), *(["scale"] if is_sharp else []))
            if len(self.files) == 1 and names and (ignored := self.options.differs(*names)):
                warn_user(f"the format {suffix} has no use for {' and '.join(ignored)}", RenderWarning)

    def write(self, graph: Graph) -> None:
        """Draw a graph, and write the picture; FileError if ROOT.pdf would replace a file that gviz did not make."""
        for name in self.files:
            if name == "-":
                streams.write_product(render(graph, self.format_of(name), for_terminal(self.options)))
                continue
            file = name or unnamed_file(default_stem(graph), self.format)
            save(graph, file, self.options)
            if name is None:
                if streams.is_terminal(sys.stdout):
                    tree = replace(for_terminal(self.options), max_lines=TREE_LINES)
                    streams.write_product(render(graph, "txt", tree))
                streams.write_product(f"{file}\n")
            if self.opens and click.launch(file):
                streams.complain(f"{file} is written, but there is no program here to show it", "warning")

    def drawn_with(self, **look: Any) -> Output:
        """Return the same picture with other options."""
        return replace(self, options=replace(self.options, **look))

    def write_events(self, data: bytes, graph: Graph) -> None:
        """Write an event file for TensorBoard into the folder that was asked for."""
        from gviz.events import write_events

        if self.is_stdout:
            streams.write_product(data)
            return
        folder = write_events(self.files[0] or f"{default_stem(graph)}.tensorboard", data)
        if self.files[0] is None:
            streams.write_product(f"{folder}\n")


def makes_picture(by_name: str = "ROOT.pdf", *, has_views: bool = False) -> Callable[[Command], Command]:
    """Give a command the options of a picture: it is called with ``picture``, an :class:`Output`.

    Args:
        has_views: whether it draws a graph that backward goes through, which has more than one view.
        by_name: the file without ``--output``; "" if there is no picture then, and ``picture`` is None.
    """
    default = f" [default: {by_name}]" if by_name else ""
    views = (
        look(
            "view", "What is drawn. [default: torchviz; circuit for --path and --arrows; dataflow for --symbols]", VIEWS
        ),
        click.option(
            "--path", **NAMES, help="Draw each path of the chain rule to NAME, and what they come to; repeatable."
        ),
        look("by", "What has a node of its own. [default: operation, or module where that makes it readable]", STEPS),
        look("depth", "How many levels of groups are opened.", type=click.IntRange(1), metavar="N"),
        COLLAPSE,
        look("expand", "Draw a module as a frame with what is inside; repeatable.", **PATTERNS),
        look("symbols", "What stands on its lines.", SYMBOLS),
        look("arrows", "For each line of the circuit one arrow, or a second one back, for the gradient.", ARROWS),
        look("math", "Set formulas as mathematics does, or write code.", MATH),
        look("ghosts", "Draw constants, and inputs without gradients, in torchviz's view too.", is_flag=True),
    )
    parts = (
        click.option("--around", **NAMES, help="Draw only what is near NAME; repeatable."),
        look("hops", "How many lines away that may be.", type=click.IntRange(0), metavar="N"),
        click.option("--between", nargs=2, metavar="A B", help="Draw only what lies on ways from A to B."),
        click.option("--hide", **{**NAMES, "metavar": "WORD"}, help=f"Leave boxes out: {', '.join(HIDABLE)}."),
        look(
            "max_nodes",
            "Draw at most N boxes, those nearest to the root.",
            type=click.IntRange(1),
            metavar="N",
            default="",
        ),
    )
    folds = (
        look(
            "fold",
            "Draw blocks that repeat once: where that makes a large picture readable, always, always with the range of "
            "all blocks' values and gradients, or never.",
            FOLDS,
        ),
        click.option("--unfold", **NAMES, help="Draw all blocks of the fold of that title; repeatable."),
        look("fold_min", "How many blocks a fold has at least.", type=click.IntRange(2), metavar="N"),
    )
    options = (
        *((*views, *parts, *folds) if has_views else ()),
        click.option(
            "--show",
            default="value,grad",
            show_default=True,
            metavar="WORD,...",
            help=f"The lines in the boxes: {', '.join(SHOWABLE)}, or none (TorchViz's own picture), or all.",
        ),
        click.option(
            "-o",
            "--output",
            "files",
            metavar="FILE",
            multiple=True,
            callback=_files,
            help=f"The file to write; repeatable. Its suffix is the format; - is standard output.{default}",
        ),
        click.option("--format", "suffix", metavar="SUFFIX", help="The format, if it is not the suffix of the file."),
        look("theme", THEME, THEMES),
        look("fit", "The page: as large as the picture is, a 16:9 slide, or A4 across.", FITS),
        look("title", "The text above the picture.", metavar="TEXT"),
        look("caption", "The text below the picture.", metavar="TEXT"),
        look("color_by", "Shade the boxes by the norm of their gradient or value.", MEASURES),
        look(
            "repeat_leaves",
            "Draw a leaf that is used often again beside its later uses: far ones, none, or all.",
            REPEATS,
        ),
        look("font_size", "The size of the text in the boxes.", type=click.IntRange(4, 72), metavar="POINTS"),
        look(
            "scale",
            "How many times as large an image (png, jpg, gif ...) is in pixels.",
            type=click.FloatRange(0.1, 10),
            metavar="X",
        ),
        look("transparent", "Leave the page behind the picture empty.", is_flag=True),
        *(
            click.option(
                f"-{letter}",
                part,
                multiple=True,
                metavar="NAME=VALUE",
                callback=pairs,
                help=f"An attribute for Graphviz: of {what}.",
            )
            for letter, part, what in PARTS
        ),
        click.option("--open", "opens", is_flag=True, help="Show the picture when it is written."),
        PRECISION,
        click.option("--legend/--no-legend", default=True, help="Say below the picture what its boxes are, or not."),
        look(
            "rankdir",
            "The direction of the arrows: top to bottom (TB), left to right (LR) ... "
            f"[default: {'that of the view' if has_views else 'TB'}]",
            RANKDIRS,
            metavar="TB|BT|LR|RL",
        ),
        look(
            "layout",
            "What places the boxes: Graphviz's dot, or gviz's own for large graphs, which never waits.",
            LAYOUTS,
        ),
        look("pages", "Cut a PDF that is larger than a page can be into pages; else it is made smaller.", is_flag=True),
        look(
            "timeout",
            "Stop drawing after so many seconds. [default: no limit]",
            type=click.FloatRange(0.0, min_open=True),
            metavar="SECONDS",
            default=None,
        ),
        GRAPHVIZ,
    )

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_picture(*, show: str, files: tuple[str, ...], suffix: str | None, opens: bool, **given: Any) -> int:
            options = RenderOptions(_lines_of(show), format=suffix or "", **look_of(given))
            if suffix is not None and (len(files) > 1 or not (files or by_name)):
                raise click.UsageError(
                    "--format is for one picture: name its file, -o FILE; of several the suffixes tell."
                )
            if files.count("-") > 1:
                raise click.UsageError("-o - is given twice.")
            picture = Output(files or (None,), options, opens)
            return command(picture=picture if files or by_name else None, **given)

        return with_options(with_picture, options)

    return decorate


def _files(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of a picture; refuse one without a name, and several in one word."""
    for name in names:
        parts = not_blank(context, option, name).split(",")
        if len(parts) > 1 and all(is_format(os.path.splitext(part)[1][1:]) for part in parts):
            ways = " ".join(f"-o {part.strip()}" for part in parts)
            raise click.UsageError(f"{name} is the name of one file: write {ways}")
    return names


def look_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the words of a command that are fields of :class:`gviz.RenderOptions`, and take them out."""
    look = {name: given.pop(name) for name in given.keys() & RenderOptions.__annotations__.keys()}
    return {name: value for name, value in look.items() if value is not None}


def _lines_of(show: str) -> tuple[str, ...]:
    """Return the words of ``--show`` in the order of the lines in a box; ``none`` is empty, ``all`` is everything."""
    words = {word.strip().lower() for word in show.split(",") if word.strip()}
    for word in sorted(words - {*SHOWABLE, "none", "all"}):
        raise click.BadParameter(not_one_of(word, (*SHOWABLE, "none", "all")), param_hint="'--show'")
    if "none" in words and len(words) > 1:
        raise click.BadParameter("none cannot be combined with other words.", param_hint="'--show'")
    return SHOWABLE if "all" in words else tuple(word for word in SHOWABLE if word in words)


def for_terminal(options: RenderOptions) -> RenderOptions:
    """Return the options for a tree that fits the terminal, if standard output is one."""
    return replace(options, **streams.terminal_look())


def title_of(source: Source, graph: Graph) -> str:
    """Return what stands above a page: the formula with the derivative that is drawn, or what a script says that it is.

    Of a script that is the first line of its docstring, else its name and the root.
    """
    if source.kind == "expression":
        formula = formula_of(source.text)
        return f"{formula}:  {graph.title}" if "∂" in graph.title else formula
    title = docstring_of(graph.code) or ": ".join(filter(None, [script_name(source), graph.title]))
    return shorten(title, LONGEST_TITLE, mark="…")


def script_name(source: Source) -> str:
    """Return the name of a script's file; "" for any other source."""
    return os.path.basename(source.file or "") if source.kind == "script" and source.file not in (None, STDIN) else ""


def unnamed_file(stem: str, suffix: str) -> str:
    """Return the file of a product that nobody has named; FileError if it would replace one that gviz did not make."""
    from gviz.render.marks import is_by_gviz

    file = f"{stem}.{suffix}"
    if os.path.lexists(file) and not os.path.isdir(file) and not is_by_gviz(file):
        raise FileError(f"{file} is here already and was not made by gviz", hint=f"to replace it: -o {file}")
    return file


def formula_of(formula: str) -> str:
    """Return a formula as mathematics writes it.

    >>> formula_of("y=(x+w)*(w+1)")
    'y = (x + w) × (w + 1)'
    """
    with suppress(SyntaxError):  # notation that gviz alone reads stays as it was typed
        formula = "; ".join(ast.unparse(ast.parse(formula)).split("\n"))
    return shorten(formula.replace(" * ", " × "), LONGEST_TITLE, mark="…")


def default_stem(graph: Graph) -> str:
    """Return a file name from the names of the roots: ``y``, ``d_k`` for ``d['k']``, ``graph`` for none.

    A static graph, which ends in many operations, has the name of its title.

    >>> from gviz.graphs import Graph, Node
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="d['k']"),), roots=("n0",)))
    'd_k'
    >>> default_stem(Graph(nodes=(Node("n0", "output", name="∂²y/∂x²"),), roots=("n0",)))
    'd2y_dx2'
    """
    names = (
        [graph.title] if graph.kind == "static" else [node.name or "" for node in graph.nodes if node.id in graph.roots]
    )
    from unicodedata import normalize  # of a picture whose file has a name, nobody asks this

    plain = normalize("NFKC", "-".join(names).replace("/", "_").replace("∂", "d"))
    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", plain)[:LONGEST_STEM].strip("._-")
    if stem.upper() in {"AUX", "CON", "NUL", "PRN"}:  # devices, not files, on Windows
        stem += "_"
    return stem or "graph"
