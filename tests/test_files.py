"""Files appear whole or not at all, with what was there kept as it was when something goes wrong."""

from __future__ import annotations

import errno
import io
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from graphs import article
from program import ROOT, python

from gviz import files
from gviz.errors import FileError
from gviz.files import write, writing_error
from gviz.render import RenderOptions, save
from gviz.render.marks import is_by_gviz

needs_posix = pytest.mark.skipif(os.name == "nt", reason="permissions, links and signals as POSIX has them")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def refused(path: str | Path, data: bytes = b"new") -> FileError:
    with pytest.raises(FileError) as caught:
        write(path, data)
    return caught.value


def test_text_is_written_as_utf_8_with_its_own_line_ends(folder: Path) -> None:
    assert write(folder / "a.txt", "π\nx") == str(folder / "a.txt")
    assert (folder / "a.txt").read_bytes() == "π\nx".encode()


def test_an_existing_file_is_replaced(folder: Path) -> None:
    (folder / "a").write_bytes(b"old, and longer")
    write(folder / "a", b"new")
    assert (folder / "a").read_bytes() == b"new"
    assert os.listdir(folder) == ["a"]


@needs_posix
def test_a_new_file_has_the_permissions_that_any_new_file_gets(folder: Path) -> None:
    before = os.umask(0o027)
    try:
        write(folder / "a", b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o640


@needs_posix
def test_a_replaced_file_keeps_its_permissions(folder: Path) -> None:
    (folder / "a").write_bytes(b"old")
    (folder / "a").chmod(0o604)
    write(folder / "a", b"new")
    assert stat.S_IMODE((folder / "a").stat().st_mode) == 0o604


@needs_posix
def test_a_link_stays_and_its_target_is_written(folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "link").symlink_to("there/a")
    write(folder / "link", b"new")
    write(folder / "link", b"newer")
    assert (folder / "link").is_symlink()
    assert (folder / "there" / "a").read_bytes() == b"newer"
    assert os.listdir(folder / "there") == ["a"]


@needs_posix
def test_a_device_is_written_to_and_not_replaced() -> None:
    write("/dev/null", b"new")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@needs_posix
def test_a_pipe_is_written_to(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["cat", str(folder / "pipe")], stdout=subprocess.PIPE)
    write(folder / "pipe", b"new")
    assert reader.communicate(timeout=10)[0] == b"new"


@needs_posix
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1"])
def test_what_is_open_already_is_written_on_where_it_stands(folder: Path, name: str) -> None:
    with (folder / "log").open("wb") as log:
        log.write(b"before\n")
        log.flush()
        code = f"from gviz.files import write; write({name!r}, 'new\\n')"
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdout=log, check=True)
        log.seek(0, os.SEEK_END)
        log.write(b"after\n")
    assert (folder / "log").read_bytes() == b"before\nnew\nafter\n"


@pytest.mark.parametrize(
    ("name", "sentence", "hint"),
    [
        ("old/a.pdf", "is not a folder", ""),
        ("old/no/such/a.pdf", "is not a folder", ""),
        ("", "{}/ is a folder", "graph.pdf"),
        ("a\0b.pdf", "is not the name of a file", ""),
        pytest.param("\ud800.pdf", "is not the name of a file here", "choose others", marks=needs_posix),
        pytest.param("link", "it is a link into {}/gone, which is not there", "make it first", marks=needs_posix),
        pytest.param("loop", "Too many levels of symbolic links", "leads back to itself", marks=needs_posix),
        pytest.param("y" * 300, "y: File name too long", "give the file a shorter name", marks=needs_posix),
    ],
)
def test_a_name_under_which_no_file_can_be_written_is_refused(
    folder: Path, name: str, sentence: str, hint: str
) -> None:
    (folder / "old").write_bytes(b"old")
    if name in {"link", "loop"}:
        (folder / name).symlink_to("gone/a" if name == "link" else "loop")
    before = os.listdir(folder)
    error = refused(f"{folder}/{name}")
    assert sentence.replace("{}", str(folder)) in error.what
    assert hint in str(error.hint)
    assert os.listdir(folder) == before


def test_folders_that_are_missing_are_made_with_the_file_and_not_without_it(folder: Path) -> None:
    write(f"{folder}/new/dir/a.pdf", b"new")
    assert (folder / "new" / "dir" / "a.pdf").read_bytes() == b"new"
    refused(f"{folder}/other/dir/{'y' * 300}")
    assert not (folder / "other").exists()


def test_a_file_has_to_have_a_name() -> None:
    assert "is not the name of a file" in refused("").what


def test_the_longest_name_that_a_file_may_have_is_fine(folder: Path) -> None:
    write(folder / ("y" * 251 + ".pdf"), b"new")


@needs_posix
def test_a_folder_that_may_not_be_written_to_is_refused(own_folder: Path) -> None:
    (own_folder / "locked").mkdir(mode=0o500)
    error = refused(own_folder / "locked" / "a.pdf")
    assert "Permission denied" in error.what
    assert error.hint == "choose a folder that you may write to"


@needs_posix
def test_a_read_only_file_is_not_replaced(own_folder: Path) -> None:
    (own_folder / "a").write_bytes(b"old")
    (own_folder / "a").chmod(0o400)
    assert "it is read-only" in refused(own_folder / "a").what
    assert (own_folder / "a").read_bytes() == b"old"


@pytest.mark.parametrize(
    ("system", "hint"), [("posix", "choose a folder that you may write to"), ("nt", "close the program that shows it")]
)
def test_the_hint_for_a_file_that_may_not_be_written_is_the_system_s(
    system: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    denied = PermissionError(errno.EACCES, "Permission denied")
    with monkeypatch.context() as patch:
        patch.setattr(os, "name", system)
        error = writing_error("y.pdf", denied)
    assert (error.what, error.hint) == ("cannot write y.pdf: Permission denied", hint)


@needs_posix
def test_a_full_disk_is_told_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.path.exists("/dev/full"):
        error = refused("/dev/full")
        assert error.what == "cannot write /dev/full: No space left on device"
        assert error.hint == "make room, or write somewhere else"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (folder / "a").write_bytes(b"old")
    monkeypatch.setattr(os, "replace", full)
    refused(folder / "a")
    assert (folder / "a").read_bytes() == b"old"
    assert os.listdir(folder) == ["a"]


@needs_posix
def test_a_disk_that_fills_up_while_writing_leaves_nothing(folder: Path) -> None:
    code = """
        import resource, signal, sys
        from gviz.errors import FileError
        from gviz.files import write, writing_error
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write("a", b"x" * 100_000)
        except FileError as error:
            print(error.what)
    """
    done = python(code, folder)
    assert done.stdout == "cannot write a: File too large\n"
    assert os.listdir(folder) == []


@needs_posix
@pytest.mark.parametrize(
    "handler", ["signal.default_int_handler", "lambda *_: os._exit(130)", "signal.SIG_DFL", "signal.SIG_IGN"]
)
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_an_interrupt_while_writing_leaves_a_whole_file_or_none(folder: Path, handler: str, name: str) -> None:
    code = f"""
        import os, signal
        from gviz import files
        signal.signal(signal.{name}, {handler})
        rename = os.replace
        def interrupted(*names):
            signal.raise_signal(signal.{name})
            rename(*names)
        os.replace = interrupted
        files.write("a", b"new")
        print("went on")
    """
    done = python(code, folder)
    assert os.listdir(folder) == ["a"]
    assert (folder / "a").read_bytes() == b"new"
    assert (done.stdout == "went on\n") is (handler == "signal.SIG_IGN")


def test_the_handler_of_interrupts_is_as_it_was(folder: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    write(folder / "a", b"new")
    assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_may_write_too(folder: Path) -> None:
    import threading

    thread = threading.Thread(target=write, args=(folder / "a", b"new"))
    thread.start()
    thread.join()
    assert (folder / "a").read_bytes() == b"new"


# Saving a graph


def test_the_suffix_is_the_format(folder: Path) -> None:
    for name, start in (("y.PDF", b"%PDF"), ("y.dot", b"digraph"), ("y.json", b"{"), ("y.txt", b"y = 6")):
        assert save(article(), folder / name) == str(folder / name)
        assert (folder / name).read_bytes().startswith(start)


def test_a_format_in_the_options_wins(folder: Path) -> None:
    save(article(), folder / "y.pdf", RenderOptions(format="dot"))
    assert (folder / "y.pdf").read_bytes().startswith(b"digraph")


# Whose file is it?


@pytest.mark.parametrize(
    "suffix",
    [
        "pdf", "svg", "png", "ps", "eps", "jpg", "gif", "dot", "json", "txt", "tree", "terminal", "plain", "plain-ext", "xdot",
        "canon", "svgz", "svg_inline", "dot_json", "json0",
    ],
)  # fmt: skip
def test_gviz_knows_its_own_files(folder: Path, suffix: str) -> None:
    file = folder / f"y.{suffix}"
    save(article(), file)
    assert is_by_gviz(file)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"%PDF-1.4 three years of work",
        b"digraph { a -> b }",
        b'{"format": "other"}',
        b"\x00" * 9000,
        b"notes\n",
        b"graph x\n",
    ],
)
def test_other_files_are_not_gviz_s(folder: Path, content: bytes) -> None:
    (folder / "y.pdf").write_bytes(content)
    assert not is_by_gviz(folder / "y.pdf")


def test_what_is_no_file_is_not_gviz_s(folder: Path) -> None:
    assert not is_by_gviz(folder)
    assert not is_by_gviz(folder / "missing")
    assert not is_by_gviz("a\0b")
    assert not is_by_gviz(os.devnull)


def test_input_without_end_is_read_no_further_than_a_file_would_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 1000)
    with open("/dev/zero", encoding="utf-8") as zeros, pytest.raises(FileError, match="<stdin> is larger than"):
        files.read_stdin(zeros)
    with pytest.raises(FileError, match="<stdin> is larger than"):
        files.read_stdin(io.StringIO("x" * 2000))
