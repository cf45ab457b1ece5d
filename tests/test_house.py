"""The house keeps its shape: floors, no circle below the face, a home for each third-party library, lazy imports, budgets."""

from __future__ import annotations

import ast
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import ROOT, python

from gviz.cli import COMMANDS
from gviz.cli.reading import lean_numpy

PACKAGE = ROOT / "gviz"

FLOORS = {
    "text": 0,
    "wiring": 0,
    "garbage": 0,
    "reaching": 0,
    "standins": 0,
    "errors": 1,
    "graphs": 1,
    "files": 2,
    "options": 2,
    "events": 3,
    "numbers": 0,
    "autograd": 1,
    "signatures": 2,
    "ops": 3,
    "engine": 4,
    "static": 4,
    "walk": 4,
    "formulas": 4,
    "layout": 4,
    "flow": 5,
    "trace": 5,
    "passes": 5,
    "reference": 5,
    "derivations": 6,
    "causes": 6,
    "sources": 6,
    "pictures": 7,
    "render": 8,
    "answers": 8,
    "compare": 9,
    "training": 9,
    "drawing": 10,
    "cli": 11,
    "live": 11,
    "questions": 12,
    "pytest_plugin": 13,
    "sphinx": 13,
}
"""Each part of the package and the floor it stands on; a part imports from lower floors and from itself."""

ENTRANCE = ("gviz", "gviz.__main__")
"""The package's own two modules, which may name every part; nobody imports more of them than ``__version__``."""

HOMES = {
    "numpy": (
        "gviz.numbers",
        "gviz.autograd",
        "gviz.signatures",
        "gviz.ops",
        "gviz.engine",
        "gviz.static",
        "gviz.passes.elements",
        "gviz.passes.repeats",
        "gviz.layout.rows",
    ),
    "ml_dtypes": ("gviz.numbers.dtypes",),
    "graphviz": ("gviz.layout", "gviz.render"),
    "pygraphviz": ("gviz.layout", "gviz.render"),
    "rich": ("gviz.render.terminal", "gviz.cli"),
    "click": ("gviz.cli",),
    "pypdf": ("gviz.render.series",),
    "PIL": ("gviz.render.series",),
    "pptx": ("gviz.render._slides",),
    "pytest": ("gviz.pytest_plugin",),
    "sphinx": ("gviz.sphinx",),
    "docutils": ("gviz.sphinx",),
}
"""Where each third-party library may be imported."""

RENDER_KNOWS = (
    "errors",
    "events",
    "files",
    "graphs",
    "layout",
    "passes",
    "pictures",
    "render",
    "text",
    "wiring",
)
"""A renderer sees the graph, or the picture of it, as data, whoever made it."""

WALKING_RENDERER = "gviz.render.torchviz"
"""make_dot takes tensors, as TorchViz's does, so it walks."""

BUDGETS = {
    "files below gviz/": 2120,
    "answers": 1030,
    "autograd": 1480,
    "causes": 2750,
    "cli": 2210,
    "compare": 1015,
    "derivations": 680,
    "engine": 9280,
    "formulas": 1100,
    "graphs": 680,
    "layout": 1730,
    "numbers": 790,
    "ops": 3545,
    "passes": 2285,
    "pictures": 6578,
    "reference": 370,
    "render": 2090,
    "signatures": 400,
    "sources": 6020,
    "static": 4275,
    "trace": 1260,
    "training": 1064,
}
"""The statements that a room, a folder or file below gviz/, may have at most: today's number and 3% for what somebody adds.

A feature that needs more raises its room's budget, a simplification lowers it: ``python tests/test_house.py`` prints the table
for the package as it is.
"""

TOP = "files below gviz/"
"""The room of the files that are in no folder."""

SPARE = 1.03
"""How much larger than a room its new budget is."""

TWICE = 22
"""Public names of functions and classes that stand in two files or more; only ever lowered."""

LONG_LINES = 175
"""Lines of more than 120 characters outside the table of operations; only ever lowered."""

CATCHES_ALL = {
    "engine/fx/interpreter.py",  # a program's node, whose error goes on
    *("autograd/backward.py", "autograd/modes.py"),  # a program's Functions and hooks, whose error goes on
    *("cli/__init__.py", "cli/options.py"),  # a program's late errors; the last line of defence
    "files.py",  # no half file stays, and the error goes on
    *("sources/script/execution.py", "sources/script/failure.py", "sources/script/names.py"),  # what a script does
    "walk.py",  # hooks that unpack what a program saved
}
"""Files that may catch any error."""

HELD_ROOMS = ("gviz.numbers", "gviz.autograd", "gviz.signatures", "gviz.ops", "gviz.static", "gviz.compare")
"""Rooms whose files import nothing late."""

LOWER_ROOMS = ("gviz.numbers", "gviz.autograd", "gviz.signatures", "gviz.ops")
"""The ground of the faces (engine, static): read from the first file to the last, it never looks back."""


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the package, by its dotted name."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Every module that a file imports at any depth, with its line; ``from gviz import walk`` counts as ``gviz.walk``."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            if node.module == "gviz":
                yield from ((node.lineno, f"gviz.{alias.name}") for alias in node.names)
            elif node.module is not None:
                yield node.lineno, node.module


def part_of(module: str) -> str:
    """The part of the house that a module belongs to: ``autograd`` for ``gviz.autograd.row``."""
    return module.split(".")[1]


MODULES = dict(modules())


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_from_lower_floors_its_own_part_and_libraries_that_live_there(name: str) -> None:
    own = "" if name in ENTRANCE else part_of(name)
    seen = FLOORS.keys() if own != "render" else {*RENDER_KNOWS, *(["walk"] if name == WALKING_RENDERER else [])}
    for line, imported in imports(MODULES[name]):
        library, where = imported.split(".")[0], f"{MODULES[name].relative_to(ROOT)}:{line} imports {imported}"
        if library == "gviz" and name not in ENTRANCE and imported != "gviz.__version__":
            other = part_of(imported)
            assert other in seen, where
            assert other == own or FLOORS[other] < FLOORS[own], (
                f"{where}: floor {FLOORS[other]} from floor {FLOORS[own]}"
            )
        elif library not in sys.stdlib_module_names and library != "gviz":
            assert library in HOMES, f"{where}, which is not a dependency of gviz"
            assert any(f"{name}.".startswith(f"{home}.") for home in HOMES[library]), where


def test_the_floors_are_those_of_the_folders() -> None:
    parts = {part_of(name) for name in MODULES if name not in ENTRANCE}
    assert parts <= set(FLOORS), f"without a floor: {sorted(parts - set(FLOORS))}"


def texts_outside(*rooms: str) -> dict[Path, str]:
    """Return the files of the package that are in none of the rooms."""
    paths = (path for path in MODULES.values() if path.relative_to(PACKAGE).parts[0] not in rooms)
    return {path: path.read_text(encoding="utf-8") for path in paths}


def statements_of_rooms() -> Counter[str]:
    """Return the number of statements, docstrings left out, of each room; files directly below gviz/ are one."""
    counts: Counter[str] = Counter()
    for path, text in texts_outside().items():
        room, *inside = path.relative_to(PACKAGE).parts
        counts[room if inside else TOP] += len(statements(text))
    return counts


def statements(text: str) -> list[ast.stmt]:
    """Return the statements of a file, without docstrings and other constants that stand alone."""
    nodes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt))
    return [node for node in nodes if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))]


def test_a_statement_is_counted_once_and_a_docstring_is_none() -> None:
    assert len(statements('"""Doc."""\nx = (1,\n  2)\ndef f():\n    """Doc."""\n    if x: return 1\n')) == 4


def test_a_room_keeps_its_budget() -> None:
    counts = statements_of_rooms()
    assert counts.keys() == BUDGETS.keys(), "python tests/test_house.py prints the table"
    larger = {
        room: f"{count} statements, at most {BUDGETS[room]}" for room, count in counts.items() if count > BUDGETS[room]
    }
    assert not larger, "make something smaller; what users get something for may raise the budget"


def test_any_error_is_caught_only_where_it_may_be_a_program_s_own() -> None:
    catching: set[str] = set()
    for path, text in texts_outside().items():
        handlers = (node.type for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ExceptHandler))
        names = {ast.unparse(kind) if kind is not None else "BaseException" for kind in handlers}
        catching |= {str(path.relative_to(PACKAGE))} if names & {"Exception", "BaseException"} else set()
    assert catching <= CATCHES_ALL


def test_few_public_names_stand_in_two_files() -> None:
    places: dict[str, list[str]] = {}
    for path, text in texts_outside("engine", "ops").items():
        defined = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef))
        for name in {node.name for node in defined if not node.name.startswith("_")}:
            places.setdefault(name, []).append(str(path.relative_to(PACKAGE)))
    twice = {name: files for name, files in places.items() if len(files) > 1}
    assert len(twice) <= TWICE, "\n".join(f"{name}: {', '.join(files)}" for name, files in sorted(twice.items()))


def test_few_lines_are_long() -> None:
    long = {
        str(path): sum(len(line) > 120 for line in text.splitlines()) for path, text in texts_outside("ops").items()
    }
    assert sum(long.values()) <= LONG_LINES, {name: count for name, count in long.items() if count}


def imports_of_files() -> dict[str, set[str]]:
    """The modules of gviz that each of them imports: late, for types alone, or by a name in quotes, too."""
    arrows: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        arrows[name] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module=str(module), names=aliases):
                    whole = {f"{module}.{alias.name}" for alias in aliases}
                    arrows[name] |= {each if each in MODULES else module for each in whole}
                case ast.Import(names=aliases):
                    arrows[name] |= {alias.name for alias in aliases}
                case ast.Call(
                    func=ast.Name("import_module") | ast.Attribute(attr="import_module"),
                    args=[ast.Constant(str(module)), *_],
                ):
                    arrows[name].add(module)
        arrows[name] &= MODULES.keys() - {name}
    return arrows


KNOWN_CIRCLES = (
    (
        "graphs render walk flow engine engine.nn.functional formulas.local passes.elements formulas.expressions "
        "formulas.operands"
    ),
)
"""Circles that are still there, by imports that run late or are for types alone; who opens one takes it out of here."""


def circles(arrows: dict[str, set[str]]) -> list[set[str]]:
    """The sets of modules that reach each other."""
    below: dict[str, set[str]] = {}
    for name, imported in arrows.items():
        below[name], todo = set(), [*imported]
        while todo:
            module = todo.pop()
            if module not in below[name]:
                below[name].add(module)
                todo.extend(arrows[module])
    members = {frozenset(other for other in below[name] if name in below[other]) for name in arrows}
    return [set(circle) for circle in sorted(members, key=sorted) if circle]


def test_no_files_import_each_other_in_a_circle() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == [{"b", "c"}]
    arrows = {name: imported - set(ENTRANCE) for name, imported in imports_of_files().items()}
    known = [{f"gviz.{name}" for name in names.split()} for names in KNOWN_CIRCLES]
    more = [sorted(circle) for circle in circles(arrows) if not any(circle <= names for names in known)]
    assert not more, f"a circle among {more}"


def test_nothing_is_imported_late() -> None:
    late = []
    for name, path in MODULES.items():
        if name.startswith(HELD_ROOMS):
            functions = (
                n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.FunctionDef)
            )
            inner = (node for function in functions for node in ast.walk(function))
            late += [f"{name}:{n.lineno}" for n in inner if isinstance(n, ast.Import | ast.ImportFrom)]
    assert not late


def test_the_core_knows_no_operation_and_the_table_no_face() -> None:
    for room in LOWER_ROOMS:
        assert not {name for name in loaded_by(f"import {room}") if name.startswith("gviz.engine")}
    assert not {name for name in loaded_by("from gviz.signatures import names") if name.startswith("gviz.ops")}


def loaded_by(code: str) -> set[str]:
    """The modules that a fresh Python has loaded after the code."""
    done = python(f"import sys\n{code}\nsys.stderr.write('\\n'.join(sys.modules))")
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


HEAVY = {"numpy", "rich", "graphviz", "pygraphviz"}

PICTURE_WORDS = {"gviz.pictures.options"}
"""Holds the words of ``--show``, ``--rankdir`` and ``--graphviz``, which the help lists."""


def test_importing_gviz_imports_no_third_party_library() -> None:
    loaded = loaded_by("import gviz")
    assert not loaded & {*HEAVY, "click"}
    assert {name for name in loaded if name.startswith("gviz.")} == {"gviz.wiring"}


def test_help_and_version_import_click_only() -> None:
    words = [["--help"], ["--version"], *([command, "-h"] for command in COMMANDS)]
    loaded = loaded_by(f"from gviz.cli import run\nassert not any([run(one) for one in {words}])")
    assert "click" in loaded
    assert not loaded & HEAVY
    assert (
        not {name for name in loaded if name.startswith(("gviz.engine", "gviz.sources", "gviz.render."))}
        - PICTURE_WORDS
    )


def test_a_picture_of_an_expression_and_of_a_saved_graph_needs_little(tmp_path: Path) -> None:
    picture, saved = tmp_path / "y.pdf", tmp_path / "graph.json"
    loaded = loaded_by(
        f"from gviz.cli import run\nfor to in {[str(picture), str(saved)]}: run(['render', 'y=x*w', '-o', to])"
    )
    assert picture.read_bytes().startswith(b"%PDF")
    assert not loaded & {"rich", "graphviz", "subprocess", "pathlib", "hypothesis"}
    loaded = loaded_by(f"from gviz.cli import run\nrun(['render', {str(saved)!r}, '-o', '-'])")
    assert "gviz.render.dot" in loaded
    assert not loaded & HEAVY


def test_numpy_gets_lean_numpy_for_an_expression_unless_the_user_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with lean_numpy():
        assert os.environ["OPENBLAS_NUM_THREADS"] == "1"
    assert "OPENBLAS_NUM_THREADS" not in os.environ
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    with lean_numpy():
        assert os.environ["OPENBLAS_NUM_THREADS"] == "3"


def test_every_public_name_can_be_had() -> None:
    import gviz

    for name in gviz.__all__:
        assert getattr(gviz, name) is not None
    assert sorted(gviz.__all__) == dir(gviz)
    with pytest.raises(AttributeError, match="module 'gviz' has no attribute 'nothing'"):
        _ = gviz.nothing


UNTYPED = 375
"""Parameters of the package that are annotated as ``Any`` and no more: a number that is only lowered."""


def test_few_parameters_may_be_anything() -> None:
    count = 0
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.arg) and isinstance(node.annotation, ast.Name):
                count += node.annotation.id == "Any"
    assert count <= UNTYPED, f"{count} parameters are annotated as Any: say what they take"


if __name__ == "__main__":
    for room, count in statements_of_rooms().items():
        print(f'    "{room}": {round(count * SPARE, -1):.0f},  # {count}')  # noqa: T201 - to be pasted into BUDGETS
