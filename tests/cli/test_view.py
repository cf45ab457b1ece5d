"""``gviz view``: a server on this machine alone, and a page that is drawn again when the source is saved."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser import Browser, program
from program import Program, clean_environment

NET = """import torch
x, w = torch.tensor(2.0), torch.tensor(1.0, requires_grad=True)
y = x * w
y.backward()
print("gradient", w.grad)
"""
SECONDS = 30


@contextmanager
def viewing(folder: Path, *words: str, **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``gviz view``; the address that it prints. At the end it is to end by Ctrl-C, without a word."""
    process = subprocess.Popen(
        [sys.executable, "-m", "gviz", "view", *words],
        cwd=folder,
        env=clean_environment(folder, **variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = next(line.strip() for line in process.stdout if line.startswith("http"))
        yield process, address
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) == 0
    finally:
        process.kill()
        process.communicate()


def answer(address: str, **headers: str) -> str:
    """What the server answers."""
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - the loopback address
    with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310 - likewise
        assert response.headers["Cache-Control"] == "no-store"
        return str(response.read().decode())


def until(is_so: Callable[[], object]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_page_is_served_where_the_address_is_known_and_nowhere_else(tmp_path: Path) -> None:
    with viewing(tmp_path, "y=(x+w)*(w+1)", "x=2", "w=1", "--no-browser") as (_, address):
        page = answer(address)
        assert "= x + w = 3" in page
        assert page.count("script-src 'sha256-") == 1
        assert address.startswith("http://127.0.0.1:")
        assert len(address.split("/")[3]) > 16
        for other in (address[:-4] + "/", address.rsplit("/", 2)[0] + "/", address + "page.html"):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                answer(other)
        with pytest.raises(urllib.error.HTTPError, match="404"):  # a page elsewhere that names this machine
            answer(address, Host="attacker.example")
        port = address.split(":")[2].split("/")[0]
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.2", int(port)), timeout=SECONDS)
        done = Program(tmp_path, tmp_path, None)("view", "y=x*w", "--no-browser", "--port", port)
        done.assert_refused(f"the port {port} is in use", "leave out --port")


def test_a_save_draws_again_and_an_error_leaves_the_last_picture(tmp_path: Path) -> None:
    source = tmp_path / "net.py"
    source.write_text(NET)
    with viewing(tmp_path, "net.py", "--watch", "--no-browser") as (_, address):

        def state() -> dict[str, object]:
            return dict(json.loads(answer(f"{address}state")))

        assert state() == {"number": 1, "text": ""}
        source.write_text(NET.replace("x * w", "x * "))
        until(lambda: "net.py:3: SyntaxError" in str(state()["text"]))
        assert state()["number"] == 1
        assert "MulBackward0" in answer(address)
        assert str(state()["text"]).endswith("The picture is of an earlier run.")
        source.unlink()
        until(lambda: state()["text"] == "net.py is gone\nThe picture is of an earlier run.")
        source.write_text("import time; time.sleep(600)")
        until(lambda: "has been running for 2 seconds" in str(state()["text"]))
        source.write_text(NET.replace("x * w", "(x + w).exp()"))  # before the other one has ended
        until(lambda: state() == {"number": 2, "text": ""})
        assert "ExpBackward0" in answer(address)


def test_without_watching_an_error_ends_it_and_only_files_are_watched(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text("x = (")
    gviz("view", "net.py", "--no-browser").assert_refused("net.py:1: SyntaxError", files=("net.py",))
    gviz("view", "nett.py", "--watch").assert_refused("did you mean net.py?", files=("net.py",))
    gviz("view", "y=x*w", "--watch").assert_refused("an expression", status=2, files=("net.py",))
    gviz("view", "y=x*w", "-o", "y.html").assert_refused("gviz render SOURCE -o y.html", status=2, files=("net.py",))


def test_the_browser_is_opened_at_the_address(tmp_path: Path) -> None:
    opener = tmp_path / "xdg-open"
    opener.write_text(f'#!/bin/sh\necho "$1" > {tmp_path}/opened.part && mv {tmp_path}/opened.part {tmp_path}/opened\n')
    opener.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    with viewing(tmp_path, "y=x*w", PATH=path) as (_, address):
        until((tmp_path / "opened").exists)
        assert (tmp_path / "opened").read_text().strip() == address


@pytest.mark.skipif(program() is None, reason="needs Chromium")
def test_the_page_in_a_browser_shows_the_new_picture_at_the_same_place_and_the_error(tmp_path: Path) -> None:
    source = tmp_path / "net.py"
    source.write_text(NET)
    browser = Browser(tmp_path / "profile", "--window-size=1000,700")
    try:
        with viewing(tmp_path, "net.py", "--watch", "--no-browser") as (_, address):
            browser.open(f"{address}#view=dataflow")
            browser.wait("document.querySelectorAll('.box').length > 0")
            browser.value("zoom(1.7, 10, 20), pan(-33, 44), $('across').click(), zoom(1.2, 0, 0)")
            before = browser.value("[view.x, view.y, view.k, graph.across, location.hash]")
            source.write_text(NET.replace("x * w", "x * "))
            browser.wait("document.querySelector('#fault').textContent.includes('SyntaxError')")
            assert browser.value("document.querySelectorAll('.box').length > 0")
            source.write_text(NET.replace("x * w", "torch.exp(x * w)"))
            browser.wait("[...document.querySelectorAll('.box')].some((box) => box.textContent.includes('exp'))")
            browser.wait("document.querySelector('#fault').hidden")
            assert browser.value("[view.x, view.y, view.k, graph.across, location.hash]") == before
        browser.wait("document.querySelector('#fault').textContent.includes('has ended')")
    finally:
        browser.close()
