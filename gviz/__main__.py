"""The ``gviz`` command: ``gviz ...`` and ``python -m gviz ...`` both start here."""

from __future__ import annotations

import gc
import os
import signal
import sys

EXIT_INTERRUPTED = 130


def main() -> None:
    """Run the command line on ``sys.argv`` and leave with its exit status."""
    usual = (signal.default_int_handler, signal.SIG_DFL)  # the second one since gviz began to load
    if signal.getsignal(signal.SIGINT) in usual:  # if not, the program that started gviz ignores Ctrl-C
        signal.signal(signal.SIGINT, interrupt)
    from gviz.standins import stand_ins  # after the handler: Ctrl-C may come while it loads

    gc.disable()  # loading makes little garbage, and looking for it takes 5 % of the time; a user's script gets it back
    # click has a type for the one, and translates its words by the other: gviz uses neither
    with stand_ins("uuid", "gettext", UUID=object, gettext=str, ngettext=singular_or_plural):
        from gviz.cli import run

    try:
        leave(run(sys.argv[1:]))
    except KeyboardInterrupt:
        leave(EXIT_INTERRUPTED)
    except MemoryError:  # there was none left to say so
        os.write(2, b"error: there is not enough memory for this\n")
        os._exit(1)


def singular_or_plural(singular: str, plural: str, number: int) -> str:
    """Return the words for so many things, as ``gettext.ngettext`` does without a translation."""
    return singular if number == 1 else plural


def interrupt(_number: int, _frame: object) -> None:
    """End at once on Ctrl-C.

    A KeyboardInterrupt that is raised while a module loads becomes another error, or is printed as "Exception ignored".
    While a script of the user runs, which may have to tidy up, :func:`gviz.cli.streams.interruptible` raises it
    nevertheless.
    """
    os._exit(EXIT_INTERRUPTED)


def leave(status: int) -> None:
    """End the process: at once, because taking Python and numpy apart takes 40 ms.

    It ends in full if a user's script has run.
    """
    if "gviz.sources.script" in sys.modules:  # the script may have threads to wait for, and objects to finalize
        sys.exit(status)
    import atexit

    atexit._run_exitfuncs()  # noqa: SLF001 os._exit leaves them out; all output is flushed already
    os._exit(status)


if __name__ == "__main__":
    main()
