"""DOT text in, picture out: by Graphviz in this process, in another one, or by the system's ``dot`` if there is none.

Both engines are modules with two functions of the same form, for their version and for a picture; each
raises :class:`NoEngineError` if the engine is not here.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock, current_thread, main_thread

from gviz.errors import warn_user
from gviz.layout import ENGINES, DrawingError, NoEngineError, RenderWarning, embedded, system
from gviz.layout.child import draw_in_child
from gviz.layout.fonts import needs_more, warn_of_missing

_WITHOUT = "SVG, PDF, DOT, JSON and the tree of a graph need no Graphviz: graph.svg"

_INKED = frozenset(
    ("pdf", "png", "ps", "eps", "jpg", "jpeg", "jpe", "gif", "gd", "gd2", "wbmp", "webp", "tif", "tiff", "bmp")
)
"""Formats that hold the shapes of the characters; the others hold their numbers, and the reader's fonts show them."""


_LARGE = 5_000
"""Statements from which another process draws: Graphviz ends its process, without a word, where memory does not
suffice."""


class _Limit:
    """Whether a time limit is set: another process draws then, since nothing stops Graphviz in this one."""

    is_set = False


_ONE_AT_A_TIME = RLock()
"""Graphviz has state of its own, and the environment belongs to the whole process."""


def draw(dot: str, output: str, *, using: str = "auto", program: str = "dot") -> bytes:
    """Lay a graph out and draw it.

    Args:
        dot: the graph in Graphviz's language.
        output: one of Graphviz's formats, with its renderer if need be: ``pdf``, ``ps:cairo``.
        using: one of :data:`gviz.layout.ENGINES`.
        program: which layout: ``dot``, or ``nop2`` for a graph that has its positions already.

    Returns:
        The file's bytes.

    Raises:
        RenderError: the text is not DOT, Graphviz fails, or there is no Graphviz that makes this format.
    """
    if "\0" in dot:
        raise DrawingError("there is a NUL character in the DOT text, at which Graphviz would stop reading")
    raw, wide = dot.encode("utf-8", "backslashreplace"), needs_more(dot)
    missing: list[NoEngineError] = []
    for name in ENGINES[using]:
        try:
            with _ONE_AT_A_TIME:
                picture = _draw_by(name, raw, output, program, wide=wide)
        except NoEngineError as reason:
            missing.append(reason)
        else:
            if wide and output.partition(":")[0] in _INKED:
                warn_of_missing(dot)
            return picture
    ways = "\nor ".join(dict.fromkeys(reason.hint for reason in missing if reason.hint))
    why = "; ".join(reason.what for reason in missing)
    raise NoEngineError(
        f"there is no Graphviz here that makes {output.partition(':')[0]}: {why}",
        hint=f"{ways}\n{_WITHOUT}" if ways else _WITHOUT,
    )


def _draw_by(name: str, raw: bytes, output: str, program: str, *, wide: bool) -> bytes:
    """Return the picture by the renderer that is asked for, else by whichever the engine has for this format."""
    draw = _by_embedded if name == "embedded" else system.draw_by_system
    plain = output.partition(":")[0]
    try:
        return draw(raw, output, program, wide=wide)
    except NoEngineError:
        if plain == output:
            raise
        return draw(raw, plain, program, wide=wide)


def _by_embedded(raw: bytes, output: str, program: str, *, wide: bool) -> bytes:
    """Return the picture by the Graphviz of this process, or of another if this one lacks fonts or perhaps memory."""
    needs_fonts = wide and embedded.is_narrow()
    if needs_fonts or _Limit.is_set or raw.count(b"\n") >= _LARGE:
        try:
            return draw_in_child(raw, output, program, wide=wide)
        except OSError as error:
            if needs_fonts:
                warn_user(
                    f"the system's fonts cannot be used ({error.strerror}): "
                    "characters that gviz's font lacks are boxes",
                    RenderWarning,
                )
    return embedded.draw_embedded(raw, output, program, wide=wide)


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Stop what is drawn in the block after some seconds.

    Args:
        seconds: 0 is no limit. On Windows, and in a thread, there is none: Python has no clock there that interrupts.

    Raises:
        DrawingError: the time is over.
    """

    def stop(*_: object) -> None:
        raise DrawingError(
            f"the picture was not done after {seconds:g} seconds, the --timeout",
            hint="--layout layered is quick for any graph; DOT (graph.dot) and the tree (graph.txt) are there at once",
        )

    has_clock = hasattr(signal, "setitimer") and current_thread() is main_thread()
    if not seconds or not has_clock:
        if seconds:
            warn_user("there is no time limit on this system, or in this thread", RenderWarning)
        yield
        return
    before, _Limit.is_set = signal.signal(signal.SIGALRM, stop), True
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        _Limit.is_set = False


def engines() -> dict[str, str]:
    """Return the engines that are here, each with its name for people: ``{"embedded": "embedded Graphviz 14.1.5"}``."""
    names: dict[str, str] = {}
    for name, version in (("embedded", embedded.embedded_version), ("system", system.system_version)):
        with suppress(NoEngineError):
            names[name] = version()
    return names
