"""Where gviz itself ends the run of a script, and what it sees on the way: calls that are put between the script's statements.

The calls stand in the syntax tree, so that a script runs as fast as without them, on any engine, and with its own line
numbers.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import CodeType
from typing import Any

from gviz.errors import SourceError
from gviz.graphs import Place
from gviz.options import SourceOptions, split_stop
from gviz.sources.notes import Note
from gviz.sources.pasted import Parsed
from gviz.sources.script.program import Script

HOOK = "__gviz__"
"""The name, among the builtins, of what the calls call."""

BEFORE, AFTER, CAUGHT = range(3)
"""A statement that the run is to end at; one that has run; an ``except`` that has caught something."""

JUMPS = (ast.Return, ast.Raise, ast.Break, ast.Continue)
"""Statements that go elsewhere: what is put after one of them would never run."""


class Stopped(BaseException):
    """gviz ends the run of a script here. It is no Exception, so that ``except Exception:`` lets it pass."""


class RunEnd:
    """The place where the run of a script is to end, and whether it has come there.

    The run ends by :class:`Stopped`, so that ``finally`` and ``with`` tidy up. An ``except`` of the script that catches
    it raises it again. If code of another file swallows it, it is raised anew when the run comes to the place once
    more.

    Args:
        options: with ``stop_at`` and ``until``.
        parsed: the script's text and code.
        script: where it is.
        watch: called with the line and the frame of each statement that has run; None for nobody.

    Raises:
        SourceError: the script has no such line.
    """

    def __init__(
        self, options: SourceOptions, parsed: Parsed, script: Script, watch: Callable[[Place, Any], None] | None = None
    ) -> None:
        self.is_wanted = bool(options.stop_at or options.until or watch)
        self.tree = (
            ast.parse(parsed.text) if self.is_wanted else parsed.tree
        )  # a tree of its own, since calls are put into it
        self.watch, self.script = watch, script
        self.last_backward = split_stop(options.stop_at)[1] if options.stop_at else 0
        self.line = self.option_line = self.last_arrival = self.column = 0
        if options.until:
            word, self.last_arrival = split_stop(options.until)
            self.option_line = int(word)
            self.line = self._statement_at(self.option_line)
            columns = (one.col_offset for body in _bodies(self.tree) for one in body if one.lineno == self.line)
            self.column = min(columns)  # of the first statement in the line
        self.arrivals = self.backwards = 0
        self.reason = self.which_time = ""  # what it was ended for, and which time, counted from 1

    def _statement_at(self, line: int) -> int:
        """Return the line of the statement that a line is a part of, or of the next one."""
        statements = [
            (one.lineno, one.end_lineno or 0, one) for body in _bodies(self.tree) for one in body[_first(body) :]
        ]
        around = [start for start, end, one in statements if start <= line <= end and not hasattr(one, "body")]
        after = around or [start for start, *_ in statements if start >= line]
        if not after:
            last = max((start for start, *_ in statements), default=0)
            what = f"the last statement of {self.script.file} is at {self.script.place(last)}"
            raise SourceError(f"--until {self.as_option(str(line))}: {what}")
        return min(after)

    # ------------------------------------------------------------- the program
    def compiled(self, code: CodeType) -> CodeType:
        """Return the script's code with the calls in it; as it is if nothing asks for one."""
        if not self.is_wanted:
            return code
        for body in list(_bodies(self.tree)):
            body[:] = chain.from_iterable(self._with_calls(body))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ExceptHandler):
                node.body.insert(0, _call(CAUGHT, node.body[0], node.lineno))
            elif self.watch and isinstance(node, ast.For | ast.With | ast.AsyncFor | ast.AsyncWith | ast.FunctionDef):
                node.body.insert(
                    _first(node.body), _call(AFTER, node.body[0], node.lineno)
                )  # what the head gives names to
        return compile(self.tree, code.co_filename, "exec", dont_inherit=True)

    def _with_calls(self, body: list[ast.stmt]) -> Iterator[list[ast.stmt]]:
        """Yield each statement with what is to be called before and after it."""
        first = _first(body)
        for number, statement in enumerate(body):
            is_here = number >= first and statement.lineno == self.line and statement.col_offset == self.column
            before = [_call(BEFORE, statement, statement.lineno)] if is_here else []
            is_seen = self.watch and number >= first and not isinstance(statement, JUMPS)
            yield [*before, statement, *([_call(AFTER, statement, statement.lineno)] if is_seen else [])]

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Take the calls that are put between the statements, as long as the block runs."""
        setattr(builtins, HOOK, self._on_call)
        try:
            yield
        finally:
            delattr(builtins, HOOK)

    # ------------------------------------------------------------- the run
    def _on_call(self, kind: int, line: int) -> None:
        """Take a call from between the statements."""
        if kind == BEFORE:
            self.arrivals += 1
            if self.arrivals >= self.last_arrival:
                place = self.script.place(line)
                again = f"--until {self.as_option(f'{line}:{self.arrivals + 1}')}"
                self.end(f"stopped before {place} ran", again, self.arrivals)
        elif kind == AFTER and self.watch is not None:
            self.watch(self.script.place(line), sys._getframe(1))  # noqa: SLF001 - inspect.currentframe costs a large import
        elif kind == CAUGHT and isinstance(sys.exc_info()[1], Stopped):
            raise Stopped

    def after_backward(self) -> None:
        """Take note of a backward that has run."""
        self.backwards += 1
        if self.last_backward and self.backwards >= self.last_backward:
            frame, place = self.script.running()
            if place is not None and self.watch is not None:
                self.watch(place, frame)
            where = f" at {place}" if place is not None else ""
            self.end(f"stopped after backward{where}", f"--stop-at backward:{self.backwards + 1}", self.backwards)

    def end(self, what: str, later: str, count: int) -> None:
        """End the run for what an option has asked for; but not a thread's, which would end itself alone.

        Args:
            what: what has happened.
            later: the option that would end it the next time.
            count: which time this was, counted from 1.
        """
        threading = sys.modules.get("threading")
        if threading is None or threading.current_thread() is threading.main_thread():
            self.reason = self.reason or what
            self.which_time = f"the first time ({later} is the second)" if count == 1 else f"time {count}"
            raise Stopped

    def as_option(self, stop: str) -> str:
        """Return a line of the script, and which time if that follows, as the option ``--until`` has it."""
        line, colon, count = stop.partition(":")
        place = self.script.place(int(line))
        return f'"cell {place.cell}:{place.line}{colon}{count}"' if place.cell else stop

    def note(self, *, is_at_end: bool) -> Note | None:
        """Return what to say of the end of a run: that it came there, or that it did not.

        Args:
            is_at_end: whether the script came to its own end.
        """
        if self.reason and is_at_end:
            more = "but code that the script calls caught that, and the script went on to its end"
            return Note(f"{self.reason}, {more}", "warning")
        if self.reason:
            return Note(f"{self.reason}, {self.which_time}")
        if not is_at_end or not (self.line or self.last_backward):
            return None
        count = self.arrivals if self.line else self.backwards
        times = f"only {count} times" if count > 1 else "only once"
        if self.line:
            place = self.script.place(self.line)
            what = f"came to {place} {times}" if count else f"never came to {place}"
            return Note(
                f"--until {self.as_option(str(self.option_line))}: the script {what}; this is how it ended", "warning"
            )
        what = f"called {times}" if count else "never called"
        return Note(f"--stop-at backward: backward was {what}; this is how the script ended", "warning")


def _bodies(tree: ast.Module) -> Iterator[list[ast.stmt]]:
    """Yield each list of statements."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            body = getattr(node, field, None)
            if isinstance(body, list) and body:
                yield body


def _first(body: list[ast.stmt]) -> int:
    """Return the number of the first statement after the docstring and the imports from ``__future__``."""
    for number, statement in enumerate(body):
        is_text = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        if not is_text and not (isinstance(statement, ast.ImportFrom) and statement.module == "__future__"):
            return number
    return len(body)


def _call(kind: int, near: ast.stmt, line: int) -> ast.stmt:
    """Return the statement that calls the hook, at the place of another."""
    call = ast.Call(ast.Name(HOOK, ast.Load()), [ast.Constant(kind), ast.Constant(line)], [])
    return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), near))
