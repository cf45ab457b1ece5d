"""Pictures of models, whole processes: the commands of docs/models.md beside torchviz and torchview on the same script."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
from pathlib import Path

from cold import gviz
from measure import ROOT, measure, plain_environment

MODELS = ROOT / "samples" / "models"

LIMIT = 60
"""Seconds after which a peer is ended."""

PEER = """
import runpy, shutil, signal, sys, warnings
signal.alarm(int(sys.argv[1]))
kind, script, sys.argv = sys.argv[2], sys.argv[3], sys.argv[3:]
warnings.simplefilter("ignore")
import torch
calls, call = {}, torch.nn.Module.__call__
def noted(module, *args, **kwargs):
    calls.setdefault(id(module), args)
    return call(module, *args, **kwargs)
torch.nn.Module.__call__ = noted
space = runpy.run_path(script)
torch.nn.Module.__call__ = call
if kind == "torchviz":
    from torchviz import make_dot
    named = [pair for one in space.values() if isinstance(one, torch.nn.Module) for pair in one.named_parameters()]
    roots = [space[name] for name in ("loss", "loss_d", "loss_g") if name in space]
    picture = make_dot(tuple(roots), params=dict(named))
else:
    from torchview import draw_graph
    picture = draw_graph(space["model"], input_data=calls[id(space["model"])]).visual_graph
if shutil.which("dot"):
    picture.render("peer", format="svg")
else:
    import pygraphviz
    pygraphviz.AGraph(string=picture.source).draw("peer.svg", prog="dot")
"""


def run(torch: str, runs: int = 1) -> None:
    """Print the seconds and the boxes of each picture, the ratio to a peer, or why there is none."""
    commands = re.findall(r"^\$ gviz (render .*)$", (ROOT / "docs" / "models.md").read_text(), re.MULTILINE)
    print(f"{'':12} {'gviz':>14} {'torchviz':>14} {'ratio':>6} {'torchview':>14} {'ratio':>6}   (seconds, boxes)")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        (folder / "peer.py").write_text(PEER)
        environment = plain_environment(HOME=str(folder / "home"))
        for command in map(shlex.split, commands):
            picture = command[command.index("-o") + 1]
            words = [str(MODELS / word) if word.endswith(".py") else word for word in command]
            after = words[words.index("--") + 1 :] if "--" in words else []
            peer = [torch, "peer.py", str(LIMIT)]
            programs = {
                picture: [*gviz()[:-6], *words],
                "torchviz": [*peer, "torchviz", words[1], *after],
                "torchview": [*peer, "torchview", words[1], *after],
            }
            seconds: dict[str, list[float]] = {kind: [] for kind in programs}
            for _ in range(runs):  # in turn
                for kind, program in programs.items():
                    try:
                        seconds[kind].append(measure(program, environment, folder).wall / 1000)
                    except SystemExit as error:
                        why = re.search(r"^\w+Error.*", str(error), re.MULTILINE)
                        print(f"{kind} {picture}: {why[0] if why else f'not in {LIMIT} s'}", file=sys.stderr)
                        programs = {one: words for one, words in programs.items() if one != kind}
                    written = folder / (picture if kind == picture else "peer.svg")
                    if written.exists() and kind != picture:
                        written.rename(folder / f"{kind}.svg")
            print(f"{picture.removesuffix('.svg'):12}{_cells(seconds, picture, folder)}", flush=True)


def _cells(seconds: dict[str, list[float]], picture: str, folder: Path) -> str:
    """Return the middle one of some times of each program, the boxes that it drew, and the ratio to a peer."""
    cells, ours = "", sorted(seconds[picture])[len(seconds[picture]) // 2]
    for kind, times in seconds.items():
        if not times:
            cells += f"{'-':>15}" + f"{'-':>7}"
            continue
        middle = sorted(times)[len(times) // 2]
        drawn = (folder / (picture if kind == picture else f"{kind}.svg")).read_text(encoding="utf-8")
        cells += f"{middle:9.2f}{drawn.count('class=' + chr(34) + 'node'):6}"
        cells += "" if kind == picture else f"{ours / middle:7.2f}"
    return cells
