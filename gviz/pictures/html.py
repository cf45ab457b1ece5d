"""Graphviz's HTML-like labels: the lines of a box in their inks, and the legend with the remark on a failed backward.

Source: https://graphviz.org/doc/info/shapes.html#html.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from gviz.graphs import Stop
from gviz.pictures.labels import BAR, EIGHTHS
from gviz.pictures.legend import LegendEntry, legend_lines
from gviz.pictures.look import LONGEST_LINE, MARGIN, PAGES
from gviz.pictures.options import RenderOptions
from gviz.pictures.spans import Box, Line, Span
from gviz.pictures.theme import Theme, box_attributes
from gviz.text import display_width, shorten, visible

_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\n": "<BR/>", "\\": "\\\\"})
"""Graphviz puts a node's own name in place of a backslash and N here too."""

BARE = {"shape": "plain", "style": ""}
"""The attributes of a box whose label draws its outline."""

BANNER, BROAD_BANNER, MOST_LINES = 60, 120, 8
"""Characters of a line, also on a page, and lines, that are told of an error's message."""

CAPTION, MOST_CAPTIONS = 84, 6
"""Characters of a line, and lines, of a caption."""

IN_COLUMN = 44
"""Characters of a remark that stands in a column of the legend."""

AROUND = 40.0
"""Points of the sample of an entry of a legend, with the room around both."""

LETTER = 7.4
"""Points of a letter's width, a bit more than it has in a box."""

ROWS = 'BORDER="0" CELLSPACING="2" CELLPADDING="1"'

COLUMNS = {"TB": 2, "BT": 2, "LR": 4, "RL": 4}


class Html(str):
    """A label that stands in DOT between angle brackets rather than quotes."""

    __slots__ = ()


def escaped(text: str) -> str:
    r"""Return a text that shows as it is.

    >>> escaped("a < b & c"), escaped("two\nlines"), print(escaped(r"\N"))
    \\N
    ('a &lt; b &amp; c', 'two<BR/>lines', None)
    """
    return (text if text.isprintable() else visible(text)).translate(_ESCAPES)


def span_text(span: Span, theme: Theme) -> str:
    """Return a span in its ink, without the middle of a very long one: Graphviz reads 16,384 bytes at a time."""
    text = escaped(span.text if len(span.text) <= LONGEST_LINE else shorten(span.text, LONGEST_LINE, middle=True))
    if span.is_bold:
        text = f"<B>{text}</B>"
    colour = inks(theme).get(span.ink)
    return f'<FONT COLOR="{colour}">{text}</FONT>' if colour else text


def inks(theme: Theme) -> dict[str, str]:
    """Return the colour of each ink but the usual one."""
    colours = {
        "muted": theme.muted,
        "gradient": theme.gradient,
        "value": theme.value,
        "faint": theme.faint,
        "error": theme.boxes["error"].pen,
    }
    return colours | {f"path {number}": colour for number, colour in enumerate(theme.paths)}


def line_text(line: Iterable[Span], theme: Theme) -> str:
    """Return a line, each of its spans in its ink."""
    return "".join(span_text(span, theme) for span in line)


def _rows(lines: Iterable[Line], theme: Theme) -> str:
    """Return a row of a table for each line: a line break alone would set them solid; bars below each other begin level."""
    rows = []
    for has_bar, group in groupby(lines, lambda line: bool(line) and line[-1].text.endswith(tuple(EIGHTHS[1:] + "█"))):
        cells = [_with_bar(line, theme) if has_bar else f"<TD>{line_text(line, theme)}</TD>" for line in group]
        own = "".join(f"<TR>{cell}</TR>" for cell in cells)
        rows.append(
            f'<TR><TD><TABLE BORDER="0" CELLSPACING="0" CELLPADDING="0">{own}</TABLE></TD></TR>' if has_bar else own
        )
    return "".join(rows)


def _with_bar(line: Line, theme: Theme) -> str:
    """Return the two cells of a line that ends in a bar of blocks: letters would have gaps between them."""
    *spans, last = line
    text, _, blocks = last.text.rpartition(" ")
    wide = blocks.count("█") * len(EIGHTHS) + max(EIGHTHS.find(blocks[-1]), 0)
    rest = BAR * len(EIGHTHS) - wide
    sizes = [(wide, f' BGCOLOR="{inks(theme)[last.ink]}"'), *([(rest, "")] if rest else [])]
    cells = "".join(f'<TD{fill} FIXEDSIZE="TRUE" WIDTH="{size}" HEIGHT="9"></TD>' for size, fill in sizes)
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>'
    before = line_text([*spans, last._replace(text=f"{text} ")], theme)
    return f'<TD ALIGN="RIGHT">{before}</TD><TD CELLPADDING="2">{table}</TD>'


def label(each: Box, theme: Theme) -> str:
    """Return the label of a box: plain text where it is one line in the usual ink."""
    is_plain = len(each.lines) == 1 and all(not (span.ink or span.is_bold) for span in each.lines[0])
    return framed(each, theme) if each.is_root else plain(each) if is_plain else box(each.lines, theme)


def plain(box: Box) -> str:
    """Return the label of a box in one ink."""
    lines = ("".join(span.text for span in line) for line in box.lines)
    return "\n".join(line if len(line) <= LONGEST_LINE else shorten(line, LONGEST_LINE, middle=True) for line in lines)


def box(lines: Iterable[Line], theme: Theme, *, padding: str = "1.5") -> Html:
    """Return the label of a box."""
    return Html(
        f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="{padding}">{_rows(lines, theme)}</TABLE>>'
    )


def plate(lines: Iterable[Line], theme: Theme) -> dict[str, str]:
    """Return the look of a text that stands on a line, as a box without an outline."""
    return {
        "label": box(lines, theme, padding="0.5"),
        "fillcolor": theme.page,
        "penwidth": "0",
        "margin": "0.02,0.01",
        "height": "0.1",
        "width": "0.1",
        "fontsize": "11",
    }


def on_line(text: str, theme: Theme, options: RenderOptions) -> Html:
    """Return the label of an arrow: with room around it, and with the page behind it, where the arrow touches that."""
    page = "" if options.transparent else f' BGCOLOR="{theme.page}"'
    table = f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="3" CELLPADDING="1"><TR><TD{page}>'
    return Html(f"<{table}{span_text(Span(text), theme)}</TD></TR></TABLE>>")


def record_label(cells: Sequence[Line], theme: Theme, look: Mapping[str, str]) -> Html:
    """Return a label of cells side by side, with lines between."""
    text = "<VR/>".join(f"<TD>{line_text(cell, theme)}</TD>" for cell in cells)
    return Html(f'<<TABLE {table_attributes(look)} CELLPADDING="5"><TR>{text}</TR></TABLE>>')


def stacked(parts: Sequence[tuple[Iterable[Line], str]], theme: Theme, look: Mapping[str, str]) -> Html:
    """Return a label of parts above each other; each has its lines and its fill ("" for the box's)."""
    fills = [f' BGCOLOR="{fill}"' if fill else "" for _, fill in parts]
    cells = [f"<TR><TD{fill}>{inner(lines, theme)}</TD></TR>" for fill, (lines, _) in zip(fills, parts, strict=True)]
    return Html(f'<<TABLE {table_attributes(look)} CELLPADDING="4">{"<HR/>".join(cells)}</TABLE>>')


def fields(title: str, pairs: Mapping[str, Span], below: Iterable[Line], theme: Theme, look: Mapping[str, str]) -> Html:
    """Return a label with a title, a row for each field, and lines below; arrows find a field's value by its name."""
    cells = (
        f'<TR><TD ALIGN="LEFT">{span_text(Span(name, "muted"), theme)}</TD>'
        f'<TD ALIGN="LEFT" PORT="{name}">{span_text(value, theme)}</TD></TR>'
        for name, value in pairs.items()
    )
    foot = _rows(below, theme).replace("<TD>", '<TD ALIGN="LEFT" COLSPAN="2">')
    head = f'<TR><TD COLSPAN="2"><FONT POINT-SIZE="14"><B>{escaped(title)}</B></FONT></TD></TR><HR/>'
    return Html(f'<<TABLE {table_attributes(look)} CELLPADDING="2">{head}{"".join(cells)}{foot}</TABLE>>')


def inner(lines: Iterable[Line], theme: Theme) -> str:
    """Return a table of lines, to stand in a cell."""
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="1">{_rows(lines, theme)}</TABLE>'


def table_attributes(look: Mapping[str, str]) -> str:
    """Return the attributes of a table that looks as a box would."""
    return f'{outline(look)} COLOR="{look["color"]}" BGCOLOR="{look["fillcolor"]}" CELLBORDER="0" CELLSPACING="0"'


def outline(look: Mapping[str, str]) -> str:
    """Return the attributes of a table, or of a cell, with the outline that a box has."""
    words = [word for word in ("ROUNDED", "DASHED", "DOTTED") if word.lower() in look.get("style", "")]
    border = max(round(float(look.get("penwidth", "1"))), 1)
    return f'BORDER="{border}"' + (f' STYLE="{",".join(words)}"' if words else "")


def centred(middle: Line, below: Sequence[Line], size: int, theme: Theme) -> Html:
    """Return a label with a large line in the middle of its shape, and lines that hang out below."""
    blank = '<TR><TD HEIGHT="15"> </TD></TR>' * len(below)
    text = line_text(middle, theme)
    sign = f'<TR><TD HEIGHT="36" VALIGN="MIDDLE"><FONT POINT-SIZE="{size}">{text}</FONT></TD></TR>'
    lines = _rows(((Span(" "), *line, Span(" ")) for line in below), theme).replace("<TD>", '<TD HEIGHT="15">')
    return Html(f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0">{blank}{sign}{lines}</TABLE>>')


def beside(middle: Line, lines: Sequence[Line], size: int, theme: Theme) -> Html:
    """Return a label with a large line in the middle of its shape, and lines that hang out to the right."""
    width = round(max((sum(len(span.text) for span in line) for line in lines), default=0) * LETTER) + 8
    text, side = line_text(middle, theme), f'<TD WIDTH="{width}" HEIGHT="36"'
    sign = f'<TD HEIGHT="36" WIDTH="44" VALIGN="MIDDLE"><FONT POINT-SIZE="{size}">{text}</FONT></TD>'
    table = inner(lines, theme).replace("<TD>", '<TD ALIGN="LEFT">') if lines else ""
    cells = f'{side}></TD>{sign}{side} ALIGN="LEFT">{table}</TD>'
    return Html(f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="0" CELLPADDING="0"><TR>{cells}</TR></TABLE>>')


def left_aligned(lines: Iterable[str]) -> Html:
    """Return lines of text that begin below each other."""
    rows = "".join(f'{escaped(line)}<BR ALIGN="LEFT"/>' for line in lines)
    return Html(f"<{rows}>")


def framed(each: Box, theme: Theme) -> Html:
    """Return the label of a root: with an inner frame, so that arrows end at the outer one; a group's has its fill."""
    fill, pen = theme.boxes["output"]
    look = f'BORDER="1" COLOR="{pen}" CELLBORDER="0" CELLSPACING="0" CELLPADDING="3"'
    own = f' BGCOLOR="{fill}"' if each.kind == "group" else ""
    return Html(f"<<TABLE {look}{own}>{_rows(each.lines, theme)}</TABLE>>")


def legend(
    entries: Sequence[LegendEntry],
    theme: Theme,
    options: RenderOptions,
    *,
    stop: Stop | None = None,
    words: Sequence[Line] = (),
) -> Html:
    """Return what stands below a picture: the entries, those with a sample first.

    Args:
        entries: what is said of the picture.
        theme: the colours.
        options: ``direction`` and ``fit`` are read: it is broad where the picture is.
        stop: why the program stopped.
        words: lines that stand before all that, as a caption does.
    """
    shown = sorted(entries if options.legend else (), key=lambda one: not one.kind)
    page, across, below = PAGES.get(options.fit), COLUMNS[options.direction], list[LegendEntry]()
    if page is None:
        if len(shown) > across and any(len(one.text) > IN_COLUMN for one in shown if not one.kind):
            below = [one for one in shown if not one.kind]
        cells = [_cells(one, theme) for one in shown[: len(shown) - len(below)]]
        rows = "".join(f"<TR>{''.join(cells[at : at + across])}</TR>" for at in range(0, len(cells), across))
        tables = [rows] if rows else []
    else:
        from gviz.layout.fonts.faces import type_width  # few pictures need it

        cells = [_cells(one, theme, "\u00a0") for one in shown]
        widths = [type_width(one.text, page.legend) + AROUND for one in shown]
        lines = legend_lines(widths, 0.0, page.width - 2 * MARGIN)
        ends = [sum(widths[at] for at in line) for line in lines]
        rests = [f'<TD WIDTH="{max(ends) - end:.0f}"></TD>' if end < max(ends) else "" for end in ends]
        tables = [
            f"<TR>{''.join(cells[at] for at in line)}{rest}</TR>" for line, rest in zip(lines, rests, strict=True)
        ]
    captions = [*words, *((Span(line),) for line in caption_lines(options.caption))] if page is None else []
    if stop or captions or below or tables[1:]:  # in one table with it a long text would make its column broad
        tables = [f'<TR><TD ALIGN="LEFT"><TABLE {ROWS}>{rows}</TABLE></TD></TR>' for rows in tables]
    tables += [f'<TR><TD ALIGN="LEFT">{line_text(one.line, theme)}</TD></TR>' for one in below]
    ink = f'<FONT COLOR="{theme.ink}" POINT-SIZE="12">'
    head = [f'<TR><TD ALIGN="LEFT">{ink}{line}</FONT></TD></TR>' for line in caption(captions, theme)]
    first = banner(stop, theme, BANNER if page is None else BROAD_BANNER)
    return Html(f"<<TABLE {ROWS}>{''.join([first, *head, *tables])}</TABLE>>")


def _cells(entry: LegendEntry, theme: Theme, margin: str = "") -> str:
    """Return the two cells of an entry: its sample, and what is said."""
    sample = swatch(entry.kind, theme) if entry.kind else "<TD></TD>"
    return f'{sample}<TD ALIGN="LEFT">{margin}{line_text(entry.line, theme)}  </TD>'


def with_scale(legend: str, title: str, steps: Sequence[tuple[str, str, str]]) -> Html:
    """Return a legend with a row of shades below it, each with the number from which on it stands, or the only one."""
    size = 'BORDER="1" FIXEDSIZE="TRUE" WIDTH="26" HEIGHT="15"'
    cells = "".join(
        f'<TD {size} COLOR="{pen}" BGCOLOR="{fill}"></TD><TD>{escaped(text)}  </TD>' for fill, pen, text in steps
    )
    head = f"<TD>{escaped(title)}{' from' * (len(steps) > 1)}</TD>"
    row = f'<TABLE ALIGN="LEFT" {ROWS}><TR>{head}{cells}</TR></TABLE>'
    return Html(legend.removesuffix("</TABLE>>") + f'<TR><TD COLSPAN="16" ALIGN="LEFT">{row}</TD></TR></TABLE>>')


def caption_lines(caption: str) -> list[str]:
    """Return the lines of a caption, broken where they are too long for a page; what is too much is left out."""
    if not caption:
        return []
    from textwrap import wrap

    lines = [line for text in caption.splitlines() for line in wrap(text, fitting(text, CAPTION))]
    return lines if len(lines) <= MOST_CAPTIONS else [*lines[: MOST_CAPTIONS - 1], "…"]


def fitting(text: str, columns: int) -> int:
    """Return how many characters of a text take so many columns."""
    return max(columns * len(text) // max(display_width(text), 1), 1)


def caption(lines: Iterable[Line], theme: Theme) -> list[str]:
    """Return the lines of a caption; their spaces stay."""
    spaced = ((span._replace(text=span.text.replace(" ", "\u00a0")) for span in line) for line in lines)
    return [line_text(line, theme) for line in spaced]


def banner(stop: Stop | None, theme: Theme, columns: int) -> str:
    """Return the rows that say why the program stopped, at most so many lines of its message."""
    if stop is None:
        return '<TR><TD HEIGHT="4"></TD></TR>'
    from textwrap import wrap  # few pictures need it

    lines = wrap(stop.message, columns, max_lines=MOST_LINES, placeholder=" …")
    head = f"<B>✗ {escaped(shorten(stop.where, columns, mark=' …'))}</B>"
    text = "".join(f'{line}<BR ALIGN="LEFT"/>' for line in (head, *map(escaped, lines)))
    fill, pen = theme.boxes["error"]
    look = f'ALIGN="LEFT" CELLPADDING="6" BORDER="1" COLOR="{pen}" BGCOLOR="{fill}"'
    return f'<TR><TD {look}><FONT COLOR="{theme.ink}">{text}</FONT></TD></TR><TR><TD HEIGHT="2"></TD></TR>'


def swatch(kind: str, theme: Theme) -> str:
    """Return a cell that looks as the boxes of a kind do."""
    fill, pen = theme.boxes[kind]
    size = 'FIXEDSIZE="TRUE" WIDTH="{}" HEIGHT="{}"'
    if kind == "output":
        inner = f'<TABLE BORDER="1" COLOR="{pen}" BGCOLOR="{fill}" CELLPADDING="0" CELLSPACING="0"><TR>'
        cell = f'BORDER="1" CELLPADDING="0" COLOR="{pen}" {size.format(32, 21)}'
        return f'<TD {cell}>{inner}<TD BORDER="0" {size.format(20, 7)}></TD></TR></TABLE></TD>'
    own = outline(box_attributes(kind, theme))
    return f'<TD {own} BGCOLOR="{fill}" COLOR="{pen}" {size.format(26, 15)}></TD>'
