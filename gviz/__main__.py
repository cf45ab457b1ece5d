"""The ``gviz`` command: ``gviz ...`` and ``python -m gviz ...`` both start here."""

from __future__ import annotations

import os
import signal
import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line on ``sys.argv`` and leave with its exit status."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started gviz ignores Ctrl-C
        signal.signal(signal.SIGINT, leave)
    from gviz.cli import run

    sys.exit(run(sys.argv[1:]))


def leave(_number: int, _frame: object) -> None:
    """What Ctrl-C does: end at once.

    A KeyboardInterrupt would do harm: raised while a module loads, it comes out as any other error, or is printed as
    "Exception ignored". Where there is something to tidy up, such as a file half written or a script of the
    user's, :func:`gviz.cli.streams.interruptible` brings it back.
    """
    os._exit(EXIT_INTERRUPTED)


if __name__ == "__main__":
    main()
