"""The frames of a program that are running: the line that makes a call, and the call of a function that it is in."""

from __future__ import annotations

import linecache
import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dis import opmap
from functools import cache
from itertools import takewhile
from traceback import walk_stack
from types import CodeType
from typing import Any, TypeAlias

from gviz.graphs import Place
from gviz.trace.listening import is_write
from gviz.trace.records import CallRecord, FunctionCall
from gviz.trace.switches import LIBRARY, is_of_library, spans_of

PRECALL = 4
"""From the instruction before a call to that of the call, in Python 3.11: a step that has a place for notes."""

Chain: TypeAlias = tuple[tuple[CodeType, int], ...]
"""Where functions of a program stand that are running: the code of each, and the instruction; the innermost first."""

Switched: TypeAlias = tuple[Place | None, Place | None, str, Place | None, CodeType]
"""The line of an instruction of the program, None in a library; the line to blame if gradients are off there, what
switches them off, and the first line on which it does; the code."""


class RunningProgram:
    """What is running of a program.

    Args:
        is_ours: whether code of a file is the program's, as opposed to a library's.
        columns: whether a place has its column, too.
    """

    def __init__(self, is_ours: Callable[[str], bool], *, columns: bool = False) -> None:
        self.is_ours, self.columns = cache(is_ours), columns
        self.calls: dict[tuple[int, int, str], CallRecord] = {}  # by code, which they keep, and instruction, and name
        self.lines = cache(line_starts)
        self.runs, self.last = 0, (0, 0, 0)  # runs of lines so far; frame, line and place in the code of the last call
        self.stack: list[tuple[Any, FunctionCall]] = []  # frames of functions that ran last, outermost first
        self.counts: Counter[CodeType] = Counter()
        self.switched: dict[tuple[int, int], Switched] = {}
        self.spans = cache(lambda file: spans_of("".join(linecache.getlines(file))))  # where gradients are off

    def note_call(self, name: str, *, is_new: bool = True) -> CallRecord | None:
        """Return the call of that name at the innermost line of the program that is running; None outside of it.

        A call that is new counts one run more, if its line has begun again: each is asked for as a new one once.
        """
        frame: Any = sys._getframe(2)  # noqa: SLF001 - inspect.currentframe costs a large import and does just this
        calls = self.calls
        while frame is not None:
            code = frame.f_code
            call = calls.get((id(code), frame.f_lasti, name))
            if call is None and self.is_ours(code.co_filename):
                call = self.find(code, frame.f_lasti, name)
            if call is not None:
                break
            frame = frame.f_back
        else:
            return None
        if is_new:
            last = self.last
            self.last = now = id(frame), call.place.line, frame.f_lasti
            # another line, or the same one once more
            self.runs += now[0] != last[0] or now[1] != last[1] or now[2] <= last[2]
        return call

    def chain(self) -> Chain:
        """Return where the functions of the program stand that are running."""
        return tuple(
            (one.f_code, one.f_lasti)
            for one, _ in walk_stack(sys._getframe(1))  # noqa: SLF001 - as above
            if self.is_ours(one.f_code.co_filename)
        )

    def find(self, code: CodeType, instruction: int, name: str) -> CallRecord:
        """Return the call of that name at an instruction, and remember it: to find the line takes long in long code."""
        is_before = code.co_code[instruction] == opmap.get("PRECALL")  # of Python 3.11, which makes the call itself
        column = (list(code.co_positions())[instruction // 2][2] or 0) + 1 if self.columns else 0
        call = self.calls[id(code), instruction, name] = CallRecord(
            Place(self.line_of(code, instruction), code.co_filename, column),
            name.strip("_"),
            writes=is_write(name),
            at=(code, instruction + PRECALL * is_before),  # so that a call has one place, however Python runs it
        )
        return call

    def function(self) -> FunctionCall | None:
        """Return the innermost call of a function of the program that is running; None outside of any.

        The frames of the last one are kept until then: so a frame that is another is another call.
        """
        frames = [  # what a comprehension does is done by the function that it is in
            one
            for one, _ in walk_stack(sys._getframe(1))  # noqa: SLF001 - as above
            if (one.f_code.co_name[0] != "<" or one.f_code.co_name == "<lambda>")
            and self.is_ours(one.f_code.co_filename)
        ]
        stack, pairs = self.stack, zip(reversed(frames), self.stack, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1][0], pairs))  # frames that run still
        del stack[same:]
        for one in frames[len(frames) - same - 1 :: -1] if same < len(frames) else ():
            self.counts[one.f_code] += 1
            stack.append(
                (
                    one,
                    FunctionCall(
                        one.f_code.co_qualname.rpartition("<locals>.")[2],
                        self.counts[one.f_code],
                        stack[-1][1] if stack else None,
                    ),
                )
            )
        return stack[-1][1] if stack else None

    def switch(self) -> tuple[Place | None, str, Place | None]:
        """Return the line on which gradients are switched off, what does that, and from which line on.

        None where nothing tells.
        """
        frame: Any = sys._getframe(1)  # noqa: SLF001 - as above
        is_of_library_now = False
        while frame is not None:
            line, at, switch, first, _ = self.switched.get((id(frame.f_code), frame.f_lasti)) or self.find_switch(
                frame.f_code, frame.f_lasti
            )
            if line is None:
                is_of_library_now = is_of_library_now or bool(switch)
            elif is_of_library_now or switch:
                return (line, LIBRARY, line) if is_of_library_now else (at, switch, first)
            frame = frame.f_back
        return None, "", None

    def find_switch(self, code: CodeType, instruction: int) -> Switched:
        """Return what is known of an instruction that makes a call, which each result without gradients asks for."""
        if not self.is_ours(code.co_filename):
            entry: Switched = None, None, LIBRARY if is_of_library(code) else "", None, code
        else:
            line = self.line_of(code, instruction)
            around = (one for one in self.spans(code.co_filename) if one[0] <= line <= one[1])
            first, _, at, switch = max(around, key=lambda one: one[0], default=(0, 0, 0, ""))  # the innermost
            entry = (
                Place(line, code.co_filename),
                Place(at or line, code.co_filename),
                switch,
                Place(first, code.co_filename),
                code,
            )
        self.switched[id(code), instruction] = entry
        return entry

    def line_of(self, code: CodeType, instruction: int) -> int:
        """Return the line of an instruction, as ``frame.f_lineno`` does, which takes longer, the longer the code is."""
        starts, lines = self.lines(code)
        return lines[bisect_right(starts, instruction) - 1]


def line_starts(code: CodeType) -> tuple[list[int], list[int]]:
    """Return the instructions of code with which lines begin, and these lines."""
    parts = [(start, line) for start, _, line in code.co_lines() if line is not None]
    return [start for start, _ in parts], [line for _, line in parts]
