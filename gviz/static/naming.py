"""How operations get their names: open scopes go in front, and a name that is taken counts up.

Upper and lower case clash (``add``, ``add_1``, ``Add_2``) and scopes share one list with operations, as in TensorFlow.
"""

from __future__ import annotations

import re
from itertools import count

__all__ = ["Names"]

ROOT = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
SCOPED = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")


class Names:
    """The names in use in one graph, and the scope that is open."""

    def __init__(self) -> None:
        self.scope = ""
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def unique(self, name: str, *, use_up: bool = True) -> str:
        """The name with the open scope in front, counted up where it is taken; it is taken from then on with ``use_up``."""
        full = self.scope + name
        key = full.lower()
        chosen = full
        if key in self._taken:
            number = next(n for n in count(self._next.get(key, 1)) if f"{key}_{n}" not in self._taken)
            chosen = f"{full}_{number}"
            if use_up:
                self._next[key] = number + 1
        if use_up:
            self._taken.add(chosen.lower())
        return chosen

    def of_operation(self, name: str) -> str:
        """The whole name of a new operation; ``name/`` stands as it is. ValueError where TensorFlow allows no such name."""
        if name.endswith("/"):
            return name[:-1]
        check = SCOPED if self.scope else ROOT
        if not name or not check.match(name):
            raise ValueError(f"'{name}' is not a valid node name. Accepted names conform to Regex /{check.pattern}/")
        return self.unique(name)

    def of_scope(self, name: str | None) -> str:
        """The prefix of a new scope: "" for the root, else ``name/``, which re-enters one; ValueError as for operations."""
        if not name:
            return ""
        if name.endswith("/"):
            return name
        pattern, root = (SCOPED, "") if self.scope else (ROOT, "root ")
        if not pattern.match(name):
            raise ValueError(
                f"'{name}' is not a valid {root}scope name. A {root}scope name has to match the following pattern: "
                f"{pattern.pattern}"
            )
        return self.unique(name) + "/"
