"""A stand-in is loaded when it is asked for more."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from program import ROOT, python

NUMPY = """
import sys
from importlib import import_module
sys.path[:0] = {paths!r}
from gviz.cli.reading import SPARED, as_a_script, lean_numpy
before = {{*sys.modules}}
with lean_numpy():
    import numpy as np
assert not {{*SPARED}} & {{*sys.modules}} - before, {{*SPARED}} & {{*sys.modules}} - before
assert np.ndarray.__doc__ is None or "ndarray" not in (np.ndarray.__doc__ or "")
with as_a_script():  # a script gets the whole of it
    assert {{*SPARED}} <= {{*sys.modules}}
for described in (np.ndarray, np.ndarray.sum, np.array, np.float32, np.dtype, np.exp, np.sum):
    assert len(described.__doc__) > 100, described
import numpy.typing, numpy.ma, numpy.random, numpy.fft, numpy.polynomial, numpy.testing
assert numpy.typing.NDArray[np.float32] is not None
assert np.ndarray[tuple[int], np.dtype[np.float32]] is not None
assert np.linalg.eigh(np.eye(2)).eigenvalues.tolist() == [1, 1]
import io, pickle, ctypes, platform, textwrap
stream = io.BytesIO()
np.save(stream, np.array([{{}}, None], object), allow_pickle=True)
stream.seek(0)
assert np.load(stream, allow_pickle=True)[1] is None
assert pickle.loads(pickle.dumps(np.arange(3))).tolist() == [0, 1, 2]
assert np.arange(3, dtype=np.int32).ctypes.data_as(ctypes.POINTER(ctypes.c_int32))[2] == 2
np.show_runtime()
help(np.ndarray.sum)
print(np.__version__)
"""

VERSIONS = [None, *filter(None, os.environ.get("GVIZ_NUMPYS", "").split(os.pathsep))]
"""Folders with further versions of numpy, in GVIZ_NUMPYS: pip install --target FOLDER numpy==2.0.0."""


@pytest.mark.parametrize("folder", VERSIONS, ids=lambda folder: Path(folder).name if folder else "installed")
def test_numpy_loads_without_its_descriptions_and_a_script_gets_them(folder: str | None) -> None:
    paths = [path for path in (folder, str(ROOT)) if path]
    done = subprocess.run(
        [sys.executable, "-c", NUMPY.format(paths=paths)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "a.sum(axis=None" in done.stdout or "sum(" in done.stdout


def test_the_command_line_loads_without_uuid_and_click_s_type_for_it_works() -> None:
    code = """
        import sys
        import gviz.__main__
        sys.argv = ["gviz", "--version"]
        gviz.__main__.leave = lambda status: None
        gviz.__main__.main()
        assert "uuid" not in sys.modules
        import click
        one = click.UUID.convert("12345678123456781234567812345678", None, None)
        import uuid
        assert one == uuid.UUID(int=0x12345678123456781234567812345678)
    """
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_an_expression_loads_nothing_for_translations(tmp_path: Path) -> None:
    code = f"""
        import sys
        import gviz.__main__
        sys.argv = ["gviz", "render", "y=x*w", "-o", {str(tmp_path / "y.pdf")!r}]
        gviz.__main__.leave = lambda status: None
        gviz.__main__.main()
        loaded = {{"gettext", "locale", "string", "unicodedata", "json"}} & sys.modules.keys()
        assert not loaded, loaded
        import click, gettext
        assert gettext.gettext("one") == "one" and click.core.ngettext("one", "two", 2) == "two"
    """
    cached = f"import sys; sys.dont_write_bytecode, sys.pycache_prefix = False, {str(tmp_path / 'cache')!r}\n"
    done = [python(cached + textwrap.dedent(code)) for _ in range(2)][
        -1
    ]  # compiling itself loads unicodedata, for "\\N{...}"
    assert done.returncode == 0, done.stderr
