"""The ``gviz`` command: ``gviz ...`` and ``python -m gviz ...`` both start here."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line on ``sys.argv`` and leave with its exit status."""
    from gviz.cli import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
