"""Whatever happens while a file is written, it is as it was, or whole; and no other file stays."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from graphs import chain, loop
from program import Program, clean_environment, python

needs_posix = pytest.mark.skipif(os.name == "nt", reason="signals as POSIX has them")

ENDS = {
    "svg": b"</svg>\n<!-- made by gviz -->\n",
    "pdf": b"%%EOF\n",
    "dot": b"}\n",
    "json": b"}\n",
    "png": b"IEND\xaeB`\x82",
}
"""How a whole file of a format ends."""


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def started(gviz: Program, *words: str) -> subprocess.Popen[bytes]:
    """Start gviz in a process of its own, to which signals go."""
    line, environment = [sys.executable, "-m", "gviz", *words], clean_environment(gviz.home)
    return subprocess.Popen(line, cwd=gviz.folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_eight_programs_that_write_one_file_leave_that_of_one_of_them(gviz: Program) -> None:
    expressions, alone = [f"y=x*{number}+w" + "*2" * number for number in range(1, 9)], []
    for expression in expressions:
        assert gviz("render", expression, "x=1", "w=1", "-o", "y.svg").status == 0
        alone.append((gviz.folder / "y.svg").read_bytes())
    assert len(set(alone)) == len(alone)
    together = [started(gviz, "render", expression, "x=1", "w=1", "-o", "y.svg") for expression in expressions]
    while any(process.poll() is None for process in together):
        assert (gviz.folder / "y.svg").read_bytes() in alone
        time.sleep(0.01)
    assert [(process.wait(), (process.communicate()[1])) for process in together] == [(0, b"")] * 8
    assert (gviz.folder / "y.svg").read_bytes() in alone
    assert files(gviz.folder) == ["y.svg"]


def test_threads_that_write_one_file_leave_that_of_one_of_them(tmp_path: Path) -> None:
    code = """
        import threading
        from gviz.files import write
        whole = {bytes([65 + k]) * (100_000 + k) for k in range(8)}
        def work(data):
            for _ in range(50):
                write("y", data)
        threads = [threading.Thread(target=work, args=(data,)) for data in whole]
        for thread in threads:
            thread.start()
        write("y", min(whole))
        while any(thread.is_alive() for thread in threads):
            assert open("y", "rb").read() in whole
        assert open("y", "rb").read() in whole
        print("whole")
    """
    done = python(code, tmp_path)
    assert (done.stdout, done.stderr) == ("whole\n", "")
    assert os.listdir(tmp_path) == ["y"]


@needs_posix
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=lambda sent: sent.name)
@pytest.mark.parametrize("suffix", ["svg", "pdf", "dot"])
def test_a_signal_at_any_time_leaves_the_old_file_or_a_whole_one(
    gviz: Program, suffix: str, sent: signal.Signals
) -> None:
    drawing = chain(5_000) if suffix == "dot" else loop(150)
    (gviz.folder / "g.json").write_text(drawing.to_json(), encoding="utf-8")
    start = time.monotonic()
    assert started(gviz, "render", "g.json", "-o", f"y.{suffix}").wait() == 0
    usual, whole = time.monotonic() - start, (gviz.folder / f"y.{suffix}").read_bytes()
    assert whole.endswith(ENDS[suffix])
    chance = random.Random(f"{suffix} {sent}")  # noqa: S311 - times, no secrets
    for old in (b"old", None):
        (gviz.folder / f"y.{suffix}").unlink()
        if old:
            (gviz.folder / f"y.{suffix}").write_bytes(old)
        process = started(gviz, "render", "g.json", "-o", f"y.{suffix}")
        time.sleep(chance.uniform(0.3, 1.0) * usual)
        process.send_signal(sent)
        _, said = process.communicate(timeout=60)
        assert process.returncode in (0, 128 + sent, -sent)
        assert b"Traceback" not in said
        assert files(gviz.folder) in (["g.json"], ["g.json", f"y.{suffix}"])
        left = (gviz.folder / f"y.{suffix}").read_bytes() if f"y.{suffix}" in files(gviz.folder) else None
        assert left in (old, whole)
        (gviz.folder / f"y.{suffix}").touch()


@needs_posix
@pytest.mark.parametrize("step", ["open", "fchmod", "replace"])
@pytest.mark.parametrize("sent", ["SIGTERM", "SIGHUP"])
def test_a_request_to_end_while_writing_leaves_no_other_file(tmp_path: Path, step: str, sent: str) -> None:
    code = f"""
        import builtins, os, signal
        from gviz.cli import run
        home = builtins if "{step}" == "open" else os
        call = getattr(home, "{step}")
        def struck(*words, **options):
            is_aside = "{step}" == "fchmod" or ".gviz-" in str(words[0])
            if is_aside and "{step}" != "open":
                signal.raise_signal(signal.{sent})
            result = call(*words, **options)
            if is_aside and "{step}" == "open":
                signal.raise_signal(signal.{sent})
            return result
        setattr(home, "{step}", struck)
        run(["render", "y=x*w", "x=1", "w=1", "-o", "y.dot"])
    """
    (tmp_path / "y.dot").write_bytes(b"old")
    python(code, tmp_path)
    assert os.listdir(tmp_path) == ["y.dot"]
    content = (tmp_path / "y.dot").read_bytes()
    assert content == b"old" or content.endswith(ENDS["dot"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has /dev/full")
@pytest.mark.parametrize("words", ["render y=x*w -o full.svg", "render y=x*w -o full.pdf", "steps y=x*w -o full.html"])
def test_a_link_to_a_full_disk_is_told_and_stays(gviz: Program, words: str) -> None:
    name = words.rpartition(" ")[2]
    (gviz.folder / name).symlink_to("/dev/full")
    done = gviz(*words.split())
    done.assert_refused("No space left on device", files=(name,))
    assert (gviz.folder / name).is_symlink()


@needs_posix
@pytest.mark.parametrize("suffix", ["svg", "pdf", "png", "json", "dot"])
def test_a_limit_on_the_size_of_files_leaves_the_old_one(gviz: Program, suffix: str) -> None:
    name = f"y.{suffix}"
    (gviz.folder / name).write_bytes(b"old")
    (gviz.folder / "g.json").write_text(loop(40).to_json(), encoding="utf-8")
    line = f'trap "" XFSZ; ulimit -f 1; exec "$0" -m gviz render g.json -o {name}'
    environment = clean_environment(gviz.home)
    done = subprocess.run(
        ["bash", "-c", line, sys.executable], cwd=gviz.folder, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"File too large" in done.stderr
    assert b"Traceback" not in done.stderr
    assert files(gviz.folder) == ["g.json", name]
    assert (gviz.folder / name).read_bytes() == b"old"
