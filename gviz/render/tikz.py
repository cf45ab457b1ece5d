r"""TikZ: a picture in gviz's own layout as LaTeX; ``y.tex`` is a document, ``y.tikz`` the picture alone for ``\input``.

Texts are set in LaTeX's own faces, each as wide as gviz has measured it, so that boxes fit. ``pdflatex`` has few
alphabets: it shows other letters by their numbers, ``lualatex`` and ``xelatex`` as they are.
Source: https://tikz.dev.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gviz.graphs import Graph
from gviz.layout.ink import Inked, Outline, Pen, Point, Sheet, Stretch, TextLine, head_of, text_width, word_width
from gviz.pictures.options import RenderOptions
from gviz.text import visible

SUFFIXES = ("tex", "tikz")
TEXTS = SUFFIXES
DESCRIPTION = "LaTeX: tex is a document of the picture, tikz the picture for \\input"
IGNORES = ("scale",)

FACES = {"mono": r"\ttfamily", "sans": r"\sffamily", "bold": r"\sffamily\bfseries", "math": r"\rmfamily\itshape"}
"""LaTeX's face for each of gviz's."""

PREAMBLE = r"""\usepackage{iftex}
\ifPDFTeX\usepackage[T1]{fontenc}\usepackage{textcomp}\fi
\usepackage{amssymb,graphicx,tikz}
\newcommand\gviztext[2]{\resizebox{#1bp}{\height}{#2}}
\newcommand\gvizother[2]{\ifPDFTeX[#1]\else#2\fi}"""
"""What the head of a document needs: texts that are as wide as they are to be, and letters that pdfTeX may not have."""

SIGNS = {sign: f"\\{sign}" for sign in "{}$&#_%"} | {sign: f"{{{sign}}}" for sign in "-',?!"}
SIGNS |= {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
SIGNS |= {">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}"}
SIGNS |= {" ": r"\ ", "\u00a0": "~"}
"""What LaTeX would take for more than a letter, and pairs that it joins to one."""

_COMMANDS = r"""
∂ \partial  × \times  · \cdot  ÷ \div  … \ldots  − -  ± \pm  √ \surd  ∑ \textstyle\sum  ‖ \|  ′ '
∘ \circ  • \bullet  ● \bullet  ○ \circ
→ \rightarrow  ← \leftarrow  ↑ \uparrow  ↓ \downarrow  ↻ \circlearrowright  ⊙ \odot  ⊗ \otimes  ∇ \nabla  ∞ \infty
≈ \approx  ≤ \le  ≥ \ge  ≠ \ne  ∈ \in  ⟨ \langle  ⟩ \rangle  ⌊ \lfloor  ⌋ \rfloor  □ \square  ▢ \square  ✗ \times  ⚠ !
⊤ \top  ᵀ ^{T}  ⁻ ^{-}  ᶻ ^{z}  ⁿ ^{n}  ϕ \phi  ε \varepsilon
Γ \Gamma  Δ \Delta  Θ \Theta  Λ \Lambda  Ξ \Xi  Π \Pi  Σ \Sigma  Φ \Phi  Ψ \Psi  Ω \Omega
"""
_GREEK = """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau
upsilon phi chi psi omega"""
MATH = {chr(0x3B1 + place): f"\\{name}" for place, name in enumerate(_GREEK.split())} | {"ο": "o"}
MATH |= dict(zip(_COMMANDS.split()[::2], _COMMANDS.split()[1::2], strict=True))
MATH |= {power: f"^{{{digit}}}" for digit, power in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")}
MATH |= {low: f"_{{{digit}}}" for digit, low in enumerate("₀₁₂₃₄₅₆₇₈₉")}
"""Signs and letters that are mathematics to LaTeX."""

LATIN = range(0xC0, 0x180)
"""Letters that LaTeX's usual fonts have besides those of ASCII."""


def render(graph: Graph, options: RenderOptions) -> str:
    """Return the picture of a graph."""
    from gviz.render._scene import inked_picture  # it loads the layout

    sheet = inked_picture(graph, options)
    if options.format == "tex":
        return document(sheet)
    needs = "\n".join(f"% {line}" for line in PREAMBLE.splitlines())
    return f"% made by gviz; in the head of the document:\n{needs}\n{tikz_picture(sheet)}\n"


def document(sheet: Sheet) -> str:
    """Return a page as a document with paper of its size."""
    wide, high = sheet.size
    paper = rf"\usepackage[paperwidth={wide:.2f}bp,paperheight={high:.2f}bp,margin=0bp]{{geometry}}"
    colour_of_page = [rf"\pagecolor[HTML]{{{hexadecimal(sheet.page)}}}"] if sheet.page else []
    head = [r"\documentclass{article}% made by gviz", PREAMBLE, paper, r"\pagestyle{empty}\parindent=0pt\topskip=0pt"]
    return "\n".join([*head, r"\begin{document}", *colour_of_page, f"{tikz_picture(sheet)}%", r"\end{document}", ""])


def beamer(sheets: Sequence[Sheet]) -> str:
    """Return pages of one size as a document of Beamer: one frame, with an overlay for each."""
    overlays = [
        rf"\only<{number}>{{\resizebox{{\paperwidth}}{{!}}{{%{chr(10)}{tikz_picture(sheet)}}}}}%"
        for number, sheet in enumerate(sheets, 1)
    ]
    head = [
        r"\documentclass[aspectratio=169]{beamer}% made by gviz",
        PREAMBLE,
        r"\setbeamersize{text margin left=0pt,text margin right=0pt}\setbeamertemplate{navigation symbols}{}",
    ]
    page = [
        rf"\definecolor{{gvizpage}}{{HTML}}{{{hexadecimal(sheets[0].page)}}}",
        r"\setbeamercolor{background canvas}{bg=gvizpage}",
    ]
    frame = [r"\begin{document}", r"\begin{frame}[plain]", *overlays, r"\end{frame}", r"\end{document}", ""]
    return "\n".join([*head, *page, *frame])


def tikz_picture(sheet: Sheet) -> str:
    """Return a page as an environment, which needs the packages of :data:`PREAMBLE`."""
    wide, high = sheet.size
    head = r"\begin{tikzpicture}[x=1bp,y=-1bp,every node/.style={inner sep=0pt,outer sep=0pt}]"
    box = rf"\path[use as bounding box] (0,0) rectangle ({wide:.2f},{high:.2f});"
    return "\n".join([head, box, *commands(sheet), r"\end{tikzpicture}"])


def commands(sheet: Sheet) -> Iterator[str]:
    """Yield the commands that draw a page."""
    for item in sheet.items():
        if isinstance(item, TextLine):
            x, y = item.place
            x -= text_width(item.words, item.size) / 2 * item.is_centred
            for word in item.words:
                if word.text.strip():
                    yield word_node(word, (x, y), item)
                x += word_width(word, item.size)
        elif isinstance(item, Outline):
            (x, y), (wide, high) = item.middle, item.size
            fill = [f"fill={colour(item.fill)}"] if item.fill else []
            corners = (
                [f"rounded corners={min(item.radius, wide / 2 - 0.01, high / 2 - 0.01):.2f}bp"] if item.radius else []
            )
            if fill or item.pen.colour:
                ends = f"({x - wide / 2:.2f},{y - high / 2:.2f}) rectangle ({x + wide / 2:.2f},{y + high / 2:.2f})"
                yield rf"\path[{','.join([*fill, *pen(item.pen), *corners])}] {ends};"
        else:
            yield from line(item)


def line(item: Stretch) -> Iterator[str]:
    """Yield the commands that draw a line and its heads."""
    (start, *others), ink = item.strokes, pen(item.pen)
    path = f"({start[-2]:.2f},{start[-1]:.2f})"
    for stroke in others:
        ends = [f"({x:.2f},{y:.2f})" for x, y in zip(stroke[::2], stroke[1::2], strict=True)]
        path += f" -- {ends[0]}" if len(ends) == 1 else f" .. controls {ends[0]} and {ends[1]} .. {ends[2]}"
    if ink:
        yield rf"\path[{','.join(ink)}] {path};"
    for tip, base in item.heads:
        corners = " -- ".join(f"({x:.2f},{y:.2f})" for x, y in head_of(tip, base, item.size))
        yield rf"\path[fill={colour(item.pen.colour)}] {corners} -- cycle;"


def pen(own: Pen) -> list[str]:
    """Return the options of a line; none for one that is not drawn."""
    if not own.colour:
        return []
    dashes = zip(own.dash[::2], own.dash[1::2], strict=False)
    pattern = " ".join(f"on {on:g}bp off {off:g}bp" for on, off in dashes)
    return [
        f"draw={colour(own.colour)}",
        f"line width={own.width:g}bp",
        *([f"dash pattern={pattern}"] if pattern else []),
    ]


def colour(text: str) -> str:
    """Return ``#RRGGBB`` as an option of TikZ has it.

    >>> colour("#FF8000")
    '{rgb,255:red,255;green,128;blue,0}'
    """
    red, green, blue = (int(hexadecimal(text)[place : place + 2], 16) for place in (0, 2, 4))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


def hexadecimal(text: str) -> str:
    """Return the digits of ``#RRGGBB``; of any other name of a colour those of black."""
    return text[1:7].upper() if text.startswith("#") and len(text) >= len("#RRGGBB") else "000000"


def word_node(word: Inked, place: Point, line_of: TextLine) -> str:
    """Return a piece of a text, from its beginning on the base line."""
    size, face = line_of.size, FACES["bold" if word.face == "sans" and word.is_bold else word.face]
    bold = r"\bfseries" * (word.is_bold and word.face == "mono")
    font = rf"\fontsize{{{size:.3g}bp}}{{{size:.3g}bp}}\selectfont{face}{bold}"
    text = latex_text(word.text)
    is_known = "gvizother" not in text  # the number of a letter is wider than the letter, and would be pressed
    body = rf"\gviztext{{{word_width(word, size):.2f}}}{{{text}}}" if is_known else text
    options = f"anchor=base west,text={colour(word.colour or line_of.colour)},font={{{font}}}"
    return rf"\node[{options}] at ({place[0]:.2f},{place[1]:.2f}) {{{body}}};"


def latex_text(text: str) -> str:
    r"""Return a text as LaTeX shows it.

    >>> print(latex_text("∂y/∂w_1 = 50%"), latex_text("x²"), latex_text("損"))
    $\partial$y/$\partial$w\_1\ =\ 50\% x$^{2}$ \gvizother{U+640D}{損}
    """
    return "".join(map(_sign, text if text.isprintable() else visible(text)))


def _sign(c: str) -> str:
    """Return a character as LaTeX shows it."""
    if c in MATH:
        return f"${MATH[c]}$"
    is_known = c.isascii() or ord(c) in LATIN
    return SIGNS.get(c) or (c if is_known else rf"\gvizother{{U+{ord(c):04X}}}{{{c}}}")
