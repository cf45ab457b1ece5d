"""The contact sheet: 15 expressions, 10 scripts and 5 networks, each in two views that suit it, to be looked at.

``make sheet`` draws them into docs/pictures/contact-1.png ... and lists their commands in docs/sheet.md.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

NEURON = '"y=sigmoid(w1*x1+w2*x2+b)" w1=2 x1=-1 w2=-3 x2=-2 b=-3'
LAYER = '"y=sum(relu(W@x+b))" "W=[[1,2],[3,-4]]" "x=[5,6]" "b=[1,1]"'
SOFTMAX = '"p=softmax(W@x,dim=0); L=-log(p[0])" "W=[[1,0],[0,1],[1,1]]" "x=[1,2]" --frozen x'
RNN = '"h=tanh(w*x1); g=tanh(w*h+u*x2); y=(g-t)**2" x1=0.5 x2=-0.4 w=0.7 u=-0.3 t=1'
RESIDUAL = '"a=relu(w1*x); y=w2*a+x" w1=0.5 x=1.5 w2=-1'
FIVE = '"b=w1*a; c=w2*a; d=w3*b+w4*c; L=10-d" a=2 w1=1 w2=2 w3=3 w4=4'
E = '"e=a*b+log(d)*c" a=2 b=3 c=5 d=10'
LOSS = '"L=(tanh(w*x+b)-t)**2" w=0.5 x=2 b=-1.5 t=1'
NORM = '"m=mean(x); d=x-m; v=mean(d**2); y=d/sqrt(v); L=(c*y).sum()" "x=[1,5]" "c=[1,3]" --frozen c'
CHAIN = '"y=exp(sin(log(x**2)))" x=1.5'
TWO_ROOTS = '"a=x*w; y=a+x; z=a*w" x=2 w=3 --root y,z'

COMMANDS = (
    # expressions
    '"y=(x+w)*(w+1)" x=2 w=1 --fit slide',
    '"y=(x+w)*(w+1)" x=2 w=1 --path w --fit slide',
    f"{NEURON} --view circuit --fit slide",
    '"y=(x+w)*(w+1)" x=2 w=1 --view teaching --fit slide',
    f"{LOSS} --view circuit --arrows both",
    f"{LOSS} --view circuit --theme dark --fit slide",
    f"{E} --view circuit --theme print --fit a4",
    '"c=a*b" a=2 b=3 --view autograd --fit slide',
    f"{FIVE} --path a --fit slide",
    f"{FIVE} --view dataflow --fit slide",
    f"{LAYER} --view matrices --fit slide",
    f"{LAYER} --view matrices --theme dark",
    f"{SOFTMAX} --view matrices --fit slide",
    f"{SOFTMAX} --view circuit --fit slide",
    '"y=sum((X@W+b)**2)" "X=[[1,2],[3,4]]" "W=[[1,-1],[0,2]]" "b=[1,0]" --view matrices --theme print --fit a4',
    '"y=sum((X@W+b)**2)" "X=[[1,2],[3,4]]" "W=[[1,-1],[0,2]]" "b=[1,0]" --path b --fit slide',
    f"{RNN} --view circuit --fit slide",
    f"{RNN} --path w --fit slide",
    f"{RESIDUAL} --view circuit --fit slide",
    f"{RESIDUAL} --view micrograd --fit slide",
    f"{NORM} --view circuit --fit slide",
    f"{NORM} --view matrices --fit slide",
    f"{CHAIN} --view circuit --fit slide",
    f"{CHAIN} --view teaching --theme print --fit a4",
    '"y=x**3*w" x=2 w=3 --order 2 --fit slide',
    '"y=x**3*w" x=2 w=3 --order 1 --wrt x --view circuit --fit slide',
    '"y=x*x*x" x=2 --view circuit --theme dark --fit slide',
    '"y=x*x*x" x=2 --path x --fit slide',
    f"{TWO_ROOTS} --view circuit --fit slide",
    f"{TWO_ROOTS} --view dataflow --theme dark --fit slide",
    # scripts
    "five_neurons.py --fit slide",
    "five_neurons.py --view circuit --fit slide",
    "five_neurons_frozen.py --ghosts --fit slide",
    "five_neurons_frozen.py --view circuit --theme print --fit a4",
    "five_neurons_twice.py --fit slide",
    "five_neurons_twice.py --view circuit --fit slide",
    "five_neurons_update.py --fit slide",
    "five_neurons_update.py --view circuit --fit slide",
    "contagious.py --fit slide",
    "contagious.py --view dataflow --theme dark --fit slide",
    "slides/rnn.py --view circuit --fit slide",
    "slides/rnn.py --fit slide",
    "slides/residual.py --view circuit --fit slide",
    "slides/residual.py --view dataflow --fit slide",
    "slides/detach.py --view circuit --fit slide",
    "slides/detach.py --view dataflow --theme print --fit a4",
    "slides/inplace.py --view circuit --fit slide",
    "slides/inplace.py --fit slide",
    "h_wxb_frozen.py --ghosts",
    "h_wxb_frozen.py --view micrograd --fit slide",
    # networks
    "models/mlp.py --fit slide",
    "models/mlp.py --by module --theme dark",
    "models/gpt.py --fit slide",
    "models/gpt.py --by module --depth 2 --fold on",
    "models/resnet.py --fit slide",
    "models/resnet.py --by module --depth 2 --theme print --fit a4",
    "models/encoder.py --fit slide",
    "models/encoder.py --by module --depth 3 --fold on",
    "models/gan.py --fit slide",
    "models/gan.py --by module --depth 1 --theme dark",
)
"""What follows ``gviz render``, in the folder of the samples."""

EACH, ACROSS, WIDE, HIGH, GAP = 12, 3, 640, 400, 8
"""Pictures of a sheet, how many stand side by side, and the pixels of the place of each."""

HEAD = """\
# The contact sheet

15 expressions, 10 scripts and 5 networks, each in two views that suit it, on slides, sheets of A4 and for a README, in
light, dark and for a printer. `make sheet` draws them; a test draws each by its command, and reads it. The commands run
in the folder `samples`.
"""


class Cell(NamedTuple):
    """A picture of the sheet: its number, from 1, and the words of its command."""

    number: int
    words: list[str]


CELLS = [Cell(number, shlex.split(command)) for number, command in enumerate(COMMANDS, 1)]


def page() -> str:
    """The page in docs: the sheets, each with its commands below."""
    parts = [HEAD]
    for sheet, start in enumerate(range(0, len(COMMANDS), EACH), 1):
        last = start + len(COMMANDS[start : start + EACH])
        lines = "".join(f"gviz render {command}\n" for command in COMMANDS[start:last])
        parts.append(f"![Pictures {start + 1} to {last}](pictures/contact-{sheet}.png)\n\n```text\n{lines}```\n")
    return "\n".join(parts)


def sheets(images: Sequence[bytes]) -> Iterator[bytes]:
    """Yield the sheets of all pictures, as PNG of few colours."""
    from PIL import Image

    for start in range(0, len(images), EACH):
        own = images[start : start + EACH]
        rows = -(-len(own) // ACROSS)
        sheet: Any = Image.new("RGB", (ACROSS * (WIDE + GAP) + GAP, rows * (HIGH + GAP) + GAP), "#B0B0B0")
        for place, data in enumerate(own):
            picture = Image.open(io.BytesIO(data)).convert("RGB")
            picture.thumbnail((WIDE, HIGH))
            x, y = place % ACROSS * (WIDE + GAP) + GAP, place // ACROSS * (HIGH + GAP) + GAP
            sheet.paste(picture, (x + (WIDE - picture.width) // 2, y + (HIGH - picture.height) // 2))
        out = io.BytesIO()
        sheet.quantize(colors=128, dither=Image.Dither.NONE).save(out, "png", optimize=True)
        yield out.getvalue()
