"""``gviz doctor``: what gviz finds on this machine, and what to do about what it lacks."""

from __future__ import annotations

import os
import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import click

from gviz import __version__
from gviz.cli import streams

HEADINGS = ("what", "here", "to do")

USUAL = ("pdf", "svg", "png")
"""The formats that everybody wants."""

OPTIONAL = {
    "PyTorch": ("torch", "--engine torch", "'gviz[torch]'"),
    "notebooks": ("ipython", "%gviz, and pictures below a cell", "ipython"),
    "animations": ("pillow", "gviz steps -o y.gif", "'gviz[animation]'"),
    "slides": ("python-pptx", "-o y.pptx", "'gviz[pptx]'"),
    "TensorBoard": ("tensorboard", "a look at what -o folder/ writes", "'gviz[tensorboard]'"),
}
"""What gviz can do without: its package, what that is for, and what pip installs it by."""

PROGRAMS = {"LaTeX": ("pdflatex", "a PDF of what -o y.tex writes")}
"""Programs that gviz never calls, and what people use them for."""


class Item(NamedTuple):
    """What there is of a thing.

    Args:
        what: the thing.
        found: what there is of it; "" for nothing.
        mend: what to do; "" for nothing.
        is_needed: whether gviz cannot do without.
    """

    what: str
    found: str
    mend: str = ""
    is_needed: bool = False


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def doctor(*, as_json: bool) -> int:
    """Say what gviz finds on this machine, and what it lacks.

    \b
    Examples:
      gviz doctor
      gviz doctor --json

    The exit status is 0 if gviz can draw and write here, else 1. Nothing is changed.
    """
    from gviz.cli.table import print_rows

    streams.hear_warnings()
    found = [*findings()]
    is_well = all(one.found or not one.is_needed for one in found)
    if as_json:
        streams.write_json({"ok": is_well, "findings": [one._asdict() for one in found]})
    else:
        rows = [(one.what, one.found or "none", one.mend) for one in found]
        print_rows(HEADINGS, rows, whole=HEADINGS[:1])
    return 0 if is_well else 1


def findings() -> Iterator[Item]:
    """Yield what there is of each thing, what gviz needs first."""
    from gviz.layout.fonts import system_fonts
    from gviz.render import formats

    yield Item("gviz", f"{__version__}, {os.path.dirname(os.path.dirname(os.path.abspath(__file__)))}")
    yield Item("Python", f"{platform.python_version()}, {platform.platform(terse=True)}")
    rows = formats()
    makers = dict.fromkeys(row.made_by for row in rows if row.suffix in USUAL and row.works)
    is_whole = all(row.works for row in rows if row.suffix in USUAL)
    install = "pip install pygraphviz, or install Graphviz: https://graphviz.org/download"
    yield needed(Item(", ".join(USUAL), ", ".join(makers) * is_whole, install))
    others = {
        row.mend: [one.suffix for one in rows if one.mend == row.mend and not one.works]
        for row in rows
        if not row.works
    }
    mend = "; ".join(f"for {', '.join(suffixes)}: {mend}" for mend, suffixes in others.items())
    yield Item("formats", f"{sum(row.works for row in rows)} of {len(rows)}", mend)
    count = len([*system_fonts()])
    fonts = f"gviz's own, {count} of the system"
    yield Item("fonts", fonts, "for names in Chinese and the like: install a font, such as Noto" * (not count))
    for what, folder in (("this folder", os.getcwd()), ("temporary files", tempfile.gettempdir())):
        is_open = os.access(folder, os.W_OK | os.X_OK)
        yield needed(Item(what, folder * is_open, f"{folder} cannot be written: name another one"))
    mend = "there is none, or no display for one: gviz view prints the address of its page"
    yield optional(Item("browser", browser_name(), mend))
    for what, (package, use, mend) in OPTIONAL.items():
        yield optional(Item(what, package_version(package), f"for {use}: pip install {mend}"))
    for what, (program, use) in PROGRAMS.items():
        yield optional(Item(what, shutil.which(program) or "", f"for {use}: install {program}"))


def optional(item: Item) -> Item:
    """Return an item, without what to do if the thing is there."""
    return item._replace(mend=item.mend * (not item.found))


def needed(item: Item) -> Item:
    """Return an item as one that gviz cannot do without."""
    return optional(item)._replace(is_needed=True)


def package_version(package: str) -> str:
    """Return a package that is installed with its version; "" for none."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return ""


def browser_name() -> str:
    """Return the browser that gviz would open; "" for none."""
    import webbrowser

    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return ""
    return str(getattr(browser, "name", "") or type(browser).__name__)
