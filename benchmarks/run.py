"""All benchmarks, or those that are named: ``python benchmarks/run.py --torch .venv-torch/bin/python cold walk``."""

from __future__ import annotations

import argparse
import os
import platform
from importlib import import_module

NAMES = (
    "cold",
    "engine",
    "heavy",
    "laptop",
    "training",
    "walk",
    "imports",
    "lines",
    "answers",
    "static",
    "layout",
    "models",
    "make_dot",
    "watch",
    "questions",
)


def main() -> None:
    """Run them one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; all where none is named")
    parser.add_argument("--torch", default=".venv-torch/bin/python", help="the Python that has torch and torchviz")
    given = parser.parse_args()
    for name in given.names:
        if name not in NAMES:
            parser.error(f"{name!r} is none of {', '.join(NAMES)}")
    if not os.path.exists(given.torch):
        parser.error(f"there is no {given.torch}: make bench makes it")
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {os.cpu_count()} processors")
    for name in given.names or NAMES:
        print(f"\n{name}")
        import_module(name).run(os.path.abspath(given.torch))


if __name__ == "__main__":
    main()
