"""Short programs with what real PyTorch prints for them: values, graphs, warnings and errors, as a person would see them.

``snippets.txt`` has the programs, ``snippets.out`` what PyTorch printed, both with a line ``%%`` between two of them; so have
the files of modules that are named seldom, ``snippets_NAME.txt`` and ``.out``.
``python tests/snippets.py`` (with the real torch) records anew.
"""

from __future__ import annotations

import copy
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("snippets*.txt"))


def programs() -> list[str]:
    """The programs."""
    return [program for file in FILES for program in pieces(file)]


def recorded() -> list[str]:
    """The text that PyTorch printed for each."""
    return [printed for file in FILES for printed in pieces(file.with_suffix(".out"))]


def pieces(file: Path) -> list[str]:
    """What a file has between the lines ``%%``."""
    return file.read_text(encoding="utf-8").rstrip("\n").split("\n%%\n")


def transcript(torch: Any, program: str) -> str:
    """Return what a program prints, the error that ends it and the warnings it gives, without addresses and places in files."""
    out = io.StringIO()

    def show(*values: Any) -> None:
        print(*values, file=out)

    torch.manual_seed(0)
    torch.set_grad_enabled(True)  # a program may have left it off
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "np": np, "copy": copy, "print": show}
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            exec(program, names)  # noqa: S102 - programs of ours
        except Exception as error:  # noqa: BLE001 - whatever a program does wrong is what is compared
            show("error:", type(error).__name__, error)
    for one in warned:
        if one.category is not RuntimeWarning and not re.search(r"__array|NumPy \d|torch.jit", str(one.message)):  # not
            # numpy's, nor what PyTorch says of itself when it loads a part
            text = re.sub(r" \(Triggered internally.*", "", str(one.message), flags=re.DOTALL)
            show("warning:", one.category.__name__, text.partition("Traceback of forward call")[0])
    printed = out.getvalue().replace(" and no __dict__ for setting new attributes", "")  # so says Python from 3.12 on
    return re.sub(r"0x[0-9a-f]+", "0x", printed).replace("gviz.engine", "torch").strip()


def main() -> None:
    """Record."""
    import torch

    torch.set_warn_always(True)  # else the first program alone is warned

    for file in FILES:
        printed = "\n%%\n".join(transcript(torch, program) for program in pieces(file))
        file.with_suffix(".out").write_text(printed + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
