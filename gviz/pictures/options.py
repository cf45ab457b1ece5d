"""How a picture is wanted: one frozen record that every format reads what it needs from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from gviz.errors import RenderError
from gviz.graphs import Stop
from gviz.layout import ENGINES
from gviz.passes.part import HIDABLE
from gviz.pictures.theme import THEMES
from gviz.records import record
from gviz.text import did_you_mean

SHOWABLE = ("value", "grad", "shape", "dtype", "local", "state", "saved", "attrs", "line")
"""Further lines of the boxes; without any of them it is TorchViz's own picture."""

RANKDIRS = ("TB", "BT", "LR", "RL")
"""From the leaves to the root: top to bottom, bottom to top, left to right, right to left."""

VIEWS = {"torchviz": "TB", "dataflow": "LR", "circuit": "LR", "matrices": "LR", "teaching": "TB", "autograd": "TB",
         "micrograd": "LR"}  # fmt: skip
"""Names of views, TorchViz's boxes first, each with the direction in which its data flows."""

SHEETS = ("circuit", "matrices")
"""Views that gviz lays out by itself, with a formula above."""

MEASURES = ("grad-norm", "value", "memory", "time")
"""What boxes may be shaded by."""

REPEATS = ("auto", "never", "always")
"""Leaves that are drawn again: from the third use on where it is far away, none, or at each further use."""

GROUPS = ("module", "function", "line")
"""What is one box, or a frame around its parts: each call of a module (of a static graph a name scope), each call
of a function of the program, or each run of a line."""

STEPS = ("operation", "statement", *GROUPS)
"""What has a node of its own: each operation, of the formula each statement of the program, or each group."""

GROUPING = ("depth", "collapse", "expand")
"""Options of groups."""

FOLDS = ("auto", "on", "range", "off")
"""Whether blocks that repeat are drawn once: where that makes a large picture readable, always, always and with the
range of the values and gradients of all blocks, or never."""

EVERY = ("operation", "module", "line")
"""What a step is: an operation, a call of a module, or forward a line of the program."""

SYMBOLS = ("off", "symbol", "number", "both")
"""What stands on the lines of the formula: nothing, the local derivative as a symbol, as a number, or as both."""

ARROWS = ("one", "both")
"""What is drawn for each line of a circuit: the arrow of the data, or beside it that of the gradient, too."""

MATH = ("on", "off")
"""Whether the views that have a formula above set it as mathematics does, or write code."""

LAYOUTS = ("auto", "dot", "layered")
"""What places boxes and lines: Graphviz's dot, gviz's own layout, which never waits, or what is right for the size."""

FITS = ("none", "slide", "a4")
"""The page of a picture: as large as it is, 16:9, or A4 across."""


FOLDING = ("fold", "unfold", "fold_min")
"""Options that TorchViz's boxes alone have a use for."""

LOOKS = (
    "theme",
    "fit",
    "title",
    "caption",
    "legend",
    "font_size",
    "transparent",
    "scale",
    "rankdir",
    "layout",
    "pages",
    "timeout",
    "repeat_leaves",
    "ghosts",
    "color_by",
    "graph",
    "node",
    "edge",
)
"""Options that pictures alone have a use for."""


@record
class RenderOptions:
    """How to draw a graph.

    Args:
        show: lines of the boxes, of :data:`SHOWABLE`; ``()`` is plain TorchViz.
        rankdir: one of :data:`RANKDIRS`; "" takes that of the view, on a page the one that gives the larger type.
        layout: one of :data:`LAYOUTS`.
        pages: whether a PDF that is larger than a page can be is cut into pages, not made smaller.
        timeout: seconds that a picture may take; 0 is no limit.
        graphviz: one of :data:`gviz.layout.ENGINES`.
        format: the suffix that was asked for; a format module may serve many. "" takes it from the file's name.
        width: columns of the terminal.
        ascii: draw the tree with ASCII alone.
        color: colour the tree with ANSI escapes.
        max_chars: longest line in a box; what is longer is cut, or goes onto a line of its own.
        max_lines: longest tree; 0 is no limit.
        theme: one of :data:`THEMES`.
        legend: whether a line below the picture says what its boxes are.
        precision: decimals of a number in a box.
        view: one of :data:`VIEWS`; "" is circuit if there is a path, or a second arrow, dataflow if there are symbols
            or statements, else torchviz.
        path: names of tensors: the paths to them are drawn, each in a colour and a dash of its own.
        by: one of :data:`STEPS`; "" is operation, or module if there is a depth, or groups to collapse or to expand.
        depth: how many levels of groups are opened, from 1 for the outermost as boxes; None is as many as a screen has
            room for.
        collapse: groups that are boxes besides: ``net.head``, ``blocks.*``.
        expand: groups that are opened besides.
        symbols: one of :data:`SYMBOLS`.
        arrows: one of :data:`ARROWS`.
        math: one of :data:`MATH`.
        every: one of :data:`EVERY`, for steps.
        fit: the page that the picture is put on, one of :data:`FITS`.
        title: what stands above the picture; "" on a page is the formula, or the name of the root.
        of: what a title of gviz's own begins with: the file of a script, the formula that a derivative is of.
        caption: what stands below it.
        color_by: "" for colours by kind, or one of :data:`MEASURES`: shades by the norm of the gradient or of the
            value, by the bytes that an operation saves for backward, or by the time that its call took.
        repeat_leaves: whether a leaf that is used often is drawn again beside its later uses, one of :data:`REPEATS`.
        ghosts: whether the view torchviz has boxes for constants and inputs that need no gradient, too.
        around: names of tensors: what is at most ``hops`` lines from them is drawn.
        hops: see ``around``.
        between: two names of tensors: what lies on ways from one to the other is drawn; ``()`` for all.
        hide: what is left out, of :data:`HIDABLE`.
        max_nodes: boxes that are drawn, those nearest to the root; 0 is no limit.
        fold: whether blocks that repeat are drawn once, one of :data:`FOLDS`.
        unfold: titles of folds, as on their frames (``net.blocks`` for ``net.blocks.{0…11}``), whose blocks are
            all drawn.
        fold_min: how many blocks there are at least in a fold.
        font_size: points of the text in a box.
        transparent: whether the page lets what is behind it through.
        scale: how many times as large an image is in pixels.
        graph, node, edge: further attributes for Graphviz, (name, value), as of its options -G, -N and -E.

    Raises:
        RenderError: a word that is none of the above.
    """

    show: tuple[str, ...] = ("value", "grad")
    rankdir: str = ""
    layout: str = "auto"
    pages: bool = False
    timeout: float = 0.0
    graphviz: str = "auto"
    format: str = ""
    width: int = 80
    ascii: bool = False
    color: bool = False
    max_chars: int = 50
    max_lines: int = 0
    theme: str = "torchviz"
    legend: bool = True
    precision: int = 4
    view: str = ""
    path: tuple[str, ...] = ()
    by: str = ""
    depth: int | None = None
    collapse: tuple[str, ...] = ()
    expand: tuple[str, ...] = ()
    symbols: str = "both"
    arrows: str = "one"
    math: str = "on"
    every: str = "operation"
    fit: str = "none"
    title: str = ""
    of: str = ""
    caption: str = ""
    color_by: str = ""
    repeat_leaves: str = "auto"
    ghosts: bool = False
    around: tuple[str, ...] = ()
    hops: int = 2
    between: tuple[str, ...] = ()
    hide: tuple[str, ...] = ()
    max_nodes: int = 0
    fold: str = "auto"
    unfold: tuple[str, ...] = ()
    fold_min: int = 2
    font_size: int = 12
    transparent: bool = False
    scale: float = 1.0
    graph: tuple[tuple[str, str], ...] = ()
    node: tuple[tuple[str, str], ...] = ()
    edge: tuple[tuple[str, str], ...] = ()
    direction: str = field(init=False, repr=False, default="")
    """From where to where the data flows: ``rankdir``, or the view's own."""
    groups: str = field(init=False, repr=False, default="")
    """What the picture groups: one of :data:`GROUPS`, or "" for nothing."""
    needs_flow: bool = field(init=False, repr=False, default=False)
    """Whether the picture shows local derivatives, or gradients on their way."""
    needs_lines: bool = field(init=False, repr=False, default=False)
    """Whether it shows lines of the program."""
    needs_costs: bool = field(init=False, repr=False, default=False)
    """Whether it shows how long operations took, or what they keep."""

    asks_folds: bool = field(init=False, repr=False, default=False)
    """Whether somebody has asked for blocks that repeat to be drawn once."""

    def __post_init__(self) -> None:
        """Refuse what no format would understand."""
        show, path = _names(self.show), _names(self.path)
        listed = {
            name: _names(getattr(self, name)) for name in ("around", "between", "hide", "collapse", "expand", "unfold")
        }
        is_formula = self.by == "statement" or self.symbols != "both"
        usual = "dataflow" if is_formula else "circuit" if path or self.arrows != "one" else "torchviz"
        view = self.view or usual
        by = self.by or ("module" if self.depth is not None or listed["collapse"] or listed["expand"] else "")
        groups = by if by in GROUPS and view == "torchviz" else ""
        rankdir = (self.rankdir or dict(self.graph).get("rankdir", "")).upper()
        vars(self).update(
            **listed,
            show=show,
            path=path,
            groups=groups,
            asks_folds=self.fold in ("on", "range")
            or bool(listed["unfold"])
            or self.fold_min != RenderOptions.fold_min,
            view=view,
            rankdir=rankdir,
            direction=rankdir or VIEWS.get(view, "TB"),
            needs_lines="line" in show or self.ghosts or groups in ("line", "function"),
            needs_costs=self.color_by in ("memory", "time"),
            needs_flow=view != "torchviz" or "local" in show or self.color_by == "grad-norm",
        )
        for option, words, known in (
            ("show", self.show, SHOWABLE),
            ("rankdir", (self.direction,), RANKDIRS),
            ("layout", (self.layout,), LAYOUTS),
            ("graphviz", (self.graphviz,), ENGINES),
            ("theme", (self.theme,), THEMES),
            ("view", (self.view,), VIEWS),
            ("by", (self.by,) if self.by else (), STEPS),
            ("symbols", (self.symbols,), SYMBOLS),
            ("arrows", (self.arrows,), ARROWS),
            ("math", (self.math,), MATH),
            ("every", (self.every,), EVERY),
            ("hide", self.hide, HIDABLE),
            ("fold", (self.fold,), FOLDS),
            ("fit", (self.fit,), FITS),
            ("repeat_leaves", (self.repeat_leaves,), REPEATS),
            ("color_by", (self.color_by,) if self.color_by else (), MEASURES),
        ):
            for word in words:
                if word not in known:
                    hint = did_you_mean(word, known) or None
                    raise RenderError(f"{option} is one of {', '.join(known)}, not {word!r}", hint=hint)
        if len(self.between) not in (0, 2):
            raise RenderError(f"between takes two names, not {len(self.between)}", hint='as in between=("x", "y")')
        if self.depth is not None and self.depth < 1:
            raise RenderError(f"depth is 1, which draws the outermost groups as boxes, or more, not {self.depth}")

    def unused(self, ignored: Sequence[str]) -> tuple[str, ...]:
        """Return the options that were given and have no effect; ``ignored`` is what the view declares."""
        is_bare = self.view == "torchviz" and not self.show
        title = ("title",) if self.fit == "none" else ()
        names = ("theme", "transparent", "font_size", *title, "repeat_leaves", "ghosts", *FOLDING) if is_bare else ()
        if not self.groups:
            ignored = [*dict.fromkeys([*ignored, *(("by",) if self.by in GROUPS else ()), *GROUPING])]
        names = (*names, *(("arrows", "math") if self.view not in SHEETS else ()))
        return self.differs(*names, *(name for name in ignored if name != "show" or "line" not in self.show))

    def differs(self, *names: str) -> tuple[str, ...]:
        """Return those of these options that are not as they are if nobody says anything.

        >>> RenderOptions(theme="dark", fit="slide").differs("theme", "title")
        ('theme',)
        """
        usual = {"view": next(iter(VIEWS))}  # of the other fields the class has what they are without a word
        if self.groups or self.by == "operation":  # groups are there before a view, or a format, sees the graph
            usual["by"] = self.by
        return tuple(name for name in names if getattr(self, name) != usual.get(name, getattr(type(self), name)))

    def has_foot(self, stop: Stop | None) -> bool:
        """Return whether there is text below the picture: the legend, a caption, or why the program stopped."""
        return self.legend or stop is not None or (bool(self.caption) and self.fit == "none")


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of which there may be only one."""
    return (names,) if isinstance(names, str) else tuple(names)
