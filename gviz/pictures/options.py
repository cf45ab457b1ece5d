"""How a picture is wanted: one frozen record that every format reads what it needs from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gviz.errors import RenderError
from gviz.graphs import Stop
from gviz.layout import ENGINES
from gviz.options import declared, documented, option
from gviz.passes.part import HIDABLE
from gviz.pictures.theme import THEMES
from gviz.text import did_you_mean

SHOWABLE = ("value", "grad", "shape", "dtype", "local", "state", "saved", "attrs", "line")
"""Further lines of the boxes; without any of them it is TorchViz's own picture."""

RANKDIRS = ("TB", "BT", "LR", "RL")
"""From the leaves to the root: top to bottom, bottom to top, left to right, right to left."""

VIEWS = {"torchviz": "TB", "dataflow": "LR", "circuit": "LR", "matrices": "LR", "teaching": "TB", "autograd": "TB",
         "micrograd": "LR"}  # fmt: skip
"""Names of views, TorchViz's boxes first, each with the direction in which its data flows."""

READABLE = 150
"""Boxes that a picture may have and still be read; above it, what repeats is folded and modules are boxes."""

SHEETS = {"circuit": "circuits", "matrices": "equations"}
"""Views that gviz lays out by itself, with a formula above, and what they show; DOT has the view dataflow for them."""

MEASURES = ("grad-norm", "value", "memory", "time")
"""What boxes may be shaded by."""

REPEATS = ("auto", "never", "always")
"""Leaves that are drawn again: from the third use on where it is far away, none, or at each further use."""

GROUPS = ("module", "function", "line", "code")
"""What is one box, or a frame around its parts: each call of a module (of a static graph a name scope), each call
of a function of the program, each run of a line; or modules, else functions, and each line outside of them."""

STEPS = ("operation", "statement", *GROUPS)
"""What has a node of its own: each operation, of the formula each statement of the program, or each group."""

GROUPING = ("depth", "collapse", "expand")
"""Options of groups."""

GRADIENTS = ("below", "beside", "off")
"""Where the derivatives of a static graph are drawn."""

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


@documented
@dataclass(frozen=True)
class RenderOptions:
    """How to draw a graph.

    Raises:
        RenderError: a word that is none of those that an option may be.
    """

    show: tuple[str, ...] = option(
        ("value", "grad"),
        f"The lines in the boxes: {', '.join(SHOWABLE)}, or none (TorchViz's own picture), or all.",
        SHOWABLE,
        metavar="WORD,...",
        example="WORD,...",
        short="lines in the boxes: value, grad, shape ... or none",
    )
    rankdir: str = option(
        "",
        "The direction of the arrows: top to bottom (TB), left to right (LR) ... [default: that of the view]",
        RANKDIRS,
        metavar="TB|BT|LR|RL",
        example="LR",
        short="left to right; or TB, BT, RL",
        is_look=True,
    )
    layout: str = option(
        "auto",
        "What places the boxes: Graphviz's dot, or gviz's own for large graphs, which never waits.",
        LAYOUTS,
        is_look=True,
    )
    pages: bool = option(
        False, "Cut a PDF that is larger than a page can be into pages; else it is made smaller.", is_look=True
    )
    timeout: float = option(
        0.0,
        "Stop drawing after so many seconds. [default: no limit]",
        metavar="SECONDS",
        bounds=(0, None),
        is_look=True,
    )
    graphviz: str = option(
        "auto", "The program that makes images: the Graphviz that came with gviz, or the system's dot.", ENGINES
    )
    format: str = option("", "The format, if it is not the suffix of the file.", metavar="SUFFIX")
    width: int = option(80, "Columns of the terminal.")
    ascii: bool = option(False, "Draw the tree with ASCII alone.")
    color: bool = option(False, "Colour the tree with ANSI escapes.")
    max_chars: int = option(50, "Longest line in a box; what is longer is cut, or goes onto a line of its own.")
    max_lines: int = option(0, "Longest tree; 0 is no limit.")
    theme: str = option(
        "",
        "The colours: TorchViz's, pale ones, light on dark, or shades of grey for a printer. [default: torchviz; light "
        "on a page]",
        THEMES,
        example="NAME",
        is_look=True,
    )
    legend: bool = option(
        True, "Say below the picture what its boxes are, or not.", flags="--legend/--no-legend", is_look=True
    )
    precision: int = option(4, "The decimals of a number.", metavar="N", bounds=(0, 9))
    view: str = option(
        "",
        "What is drawn. [default: torchviz; circuit for --path and --arrows; dataflow for --symbols]",
        VIEWS,
        example="NAME",
    )
    path: tuple[str, ...] = option(
        (),
        "Draw each path of the chain rule to NAME, and what they come to; repeatable.",
        example="NAME",
        short="each path of the chain rule to NAME",
    )
    by: str = option(
        "",
        "What has a node of its own. [default: operation, or module where that makes it readable]",
        STEPS,
        example="module",
        short="a box for each module, line or statement",
    )
    depth: int | None = option(
        None,
        "How many levels of groups are opened. [default: as many as a screen has room for]",
        metavar="N",
        bounds=(1, None),
    )
    collapse: tuple[str, ...] = option(
        (),
        "Draw a module, as net.head or blocks.*, or a name scope as one box; repeatable.",
        metavar="PATTERN",
        example="SCOPE",
        short="draw a scope, such as gradients, as one box",
    )
    gradients: str = option(
        "",
        "Where the derivatives of a static graph are drawn: below the root, beside the operations that they are of, or "
        "not. Without a word --gradients is below; an expression gets the operations of its derivatives by it.",
        GRADIENTS,
        example="beside",
        short="add the derivatives: beside, below",
    )
    expand: tuple[str, ...] = option((), "Draw a module as a frame with what is inside; repeatable.", metavar="PATTERN")
    symbols: str = option("both", "What stands on its lines.", SYMBOLS)
    arrows: str = option(
        "one", "For each line of the circuit one arrow, or a second one back, for the gradient.", ARROWS
    )
    math: str = option("on", "Set formulas as mathematics does, or write code.", MATH)
    every: str = option(
        "operation",
        "What a step is: module is its call; with line the code stands beside the graph.",
        EVERY,
        example="line",
        short="a step for each line, beside the code",
    )
    fit: str = option(
        "none", "The page: as large as the picture is, a 16:9 slide, or A4 across.", FITS, example="PAGE", is_look=True
    )
    title: str = option(
        "",
        "The text above the picture. [default: none; on a page the formula, or the root's name]",
        metavar="TEXT",
        example="TEXT",
        short="the text above the picture",
        is_look=True,
    )
    of: str = option(
        "", "What a title of gviz's own begins with: a script's file, the formula that a derivative is of."
    )
    caption: str = option("", "The text below the picture.", metavar="TEXT", is_look=True)
    color_by: str = option(
        "",
        "Shade the boxes by the norm of their gradient or value, by the bytes saved for backward, or by the time.",
        MEASURES,
        is_look=True,
    )
    repeat_leaves: str = option(
        "auto",
        "Draw a leaf that is used often again beside its later uses: far ones, none, or all.",
        REPEATS,
        is_look=True,
    )
    ghosts: bool = option(False, "Draw constants, and inputs without gradients, in torchviz's view too.", is_look=True)
    around: tuple[str, ...] = option(
        (),
        "Draw only what is near NAME; repeatable.",
        example="NAME",
        short="what is near NAME; --hops N says how near",
    )
    hops: int = option(2, "How many lines away that may be.", metavar="N", bounds=(0, None))
    between: tuple[str, ...] = option((), "Draw only what lies on ways from A to B.", metavar="A B")
    hide: tuple[str, ...] = option((), f"Leave boxes out: {', '.join(HIDABLE)}.", HIDABLE, metavar="WORD")
    max_nodes: int = option(
        0, "Draw at most N boxes, those nearest to the root. [default: all]", metavar="N", bounds=(1, None)
    )
    fold: str = option(
        "auto",
        "Draw blocks that repeat once: where that makes a large picture readable, always, always with the range of "
        "all blocks' values and gradients, or never.",
        FOLDS,
    )
    unfold: tuple[str, ...] = option((), "Draw all blocks of the fold of that title, as net.blocks; repeatable.")
    fold_min: int = option(2, "How many blocks a fold has at least.", metavar="N", bounds=(2, None))
    font_size: int = option(12, "The size of the text in the boxes.", metavar="POINTS", bounds=(4, 72), is_look=True)
    scale: float = option(
        1.0,
        "How many times as large an image (png, jpg, gif ...) is in pixels.",
        metavar="X",
        bounds=(0.1, 10),
        is_look=True,
    )
    transparent: bool = option(False, "Leave the page behind the picture empty.", is_look=True)
    graph: tuple[tuple[str, str], ...] = option(
        (), "An attribute for Graphviz: of the whole picture.", flags="-G", metavar="NAME=VALUE", is_look=True
    )
    node: tuple[tuple[str, str], ...] = option(
        (), "An attribute for Graphviz: of all boxes.", flags="-N", metavar="NAME=VALUE", is_look=True
    )
    edge: tuple[tuple[str, str], ...] = option(
        (), "An attribute for Graphviz: of all arrows.", flags="-E", metavar="NAME=VALUE", is_look=True
    )
    direction: str = field(init=False, repr=False, default="")
    """From where to where the data flows: ``rankdir``, or the view's own."""
    groups: str = field(init=False, repr=False, default="")
    """What the picture groups: one of :data:`GROUPS`, or "" for nothing."""
    needs_flow: bool = field(init=False, repr=False, default=False)
    """Whether the picture shows local derivatives, or gradients on their way."""
    needs_lines: bool = field(init=False, repr=False, default=False)
    """Whether it shows lines of the program."""
    needs_functions: bool = field(init=False, repr=False, default=False)
    """Whether it shows calls of functions of the program, or may."""
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
        is_fitted = self.fit != "none" or self.format.lower() == "pptx"
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
            theme=self.theme or self.usual_theme,
            rankdir=rankdir,
            format=self.format.lower(),
            direction=rankdir or VIEWS.get(view, "TB"),
            needs_lines="line" in show or self.ghosts or groups in ("line", "function", "code"),
            needs_functions=groups in ("function", "code") or (is_fitted and view == "torchviz"),
            needs_costs=self.color_by in ("memory", "time"),
            needs_flow=view != "torchviz" or "local" in show or self.color_by == "grad-norm" or self.format == "html",
        )
        for name, one in DECLARED.items():
            value = getattr(self, name)
            words = value if isinstance(value, tuple) else [value] if value != getattr(RenderOptions, name) else []
            for word in words:
                if one.words and word not in one.words:
                    hint = did_you_mean(word, one.words) or None
                    raise RenderError(f"{name} is one of {', '.join(one.words)}, not {word!r}", hint=hint)
        if len(self.between) not in (0, 2):
            raise RenderError(f"between takes two names, not {len(self.between)}", hint='as in between=("x", "y")')
        if self.depth is not None and self.depth < 1:
            raise RenderError(f"depth is 1, which draws the outermost groups as boxes, or more, not {self.depth}")

    @property
    def usual_theme(self) -> str:
        """The theme that nobody has to ask for."""
        return "torchviz" if self.fit == "none" else "light"

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
        usual = {
            "view": next(iter(VIEWS)),
            "theme": self.usual_theme,
        }  # of the other fields the class has what they are without a word
        if self.groups or self.by == "operation":  # groups are there before a view, or a format, sees the graph
            usual["by"] = self.by
        return tuple(name for name in names if getattr(self, name) != usual.get(name, getattr(type(self), name)))

    def has_foot(self, stop: Stop | None) -> bool:
        """Return whether there is text below the picture: the legend, a caption, or why the program stopped."""
        return self.legend or stop is not None or (bool(self.caption) and self.fit == "none")


DECLARED = declared(RenderOptions)
LOOKS = tuple(name for name, one in DECLARED.items() if one.is_look)
"""Options that pictures alone have a use for."""


def flags_of(names: Iterable[str]) -> str:
    """Return options as the command line has them.

    >>> flags_of(["color_by", "node"])
    '--color-by and -N'
    """
    return " and ".join(DECLARED[name].flag(name) for name in names)


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of which there may be only one."""
    return (names,) if isinstance(names, str) else tuple(names)
