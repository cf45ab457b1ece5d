"""Headless Chromium, driven over two pipes in the protocol of its developer tools: no other package is needed.

Source: https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
FIREFOXES = ("firefox-esr", "firefox")

SECONDS = 30
"""How long an answer may take, on a machine that does much else."""

START = "import os, sys; one, two, *words = sys.argv[1:]; os.dup2(int(one), 3); os.dup2(int(two), 4); os.execvp(words[0], words)"
"""A program that becomes the browser, with the pipes where that looks for them."""

KEYS = {
    "ArrowUp": 38, "ArrowDown": 40, "ArrowRight": 39, "ArrowLeft": 37, "Home": 36, "End": 35, "PageDown": 34, " ": 32, "Tab": 9,
    "Enter": 13, "Escape": 27, "/": 191,
}  # fmt: skip


def program(names: tuple[str, ...] = PROGRAMS) -> str | None:
    """The browser of this machine, if there is one."""
    return next(filter(None, map(shutil.which, names)), None)


class Browser:
    """One page in a browser of its own.

    Args:
        folder: for the browser's own files.
        options: further words of its command line.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        theirs, self._to = os.pipe()
        self._from, answers = os.pipe()
        high = [fcntl.fcntl(number, fcntl.F_DUPFD, 20) for number in (theirs, answers)]  # 3 and 4 are to be free
        words = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, *map(str, high), program() or "chromium", *words, *options, "about:blank"],
            pass_fds=high,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for number in (theirs, answers, *high):
            os.close(number)
        self._rest, self._count, self._session = b"", 0, ""
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; return its result."""
        return self._call(method, parameters, self._session)

    def call_browser(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method that is of the browser, not of its page."""
        return self._call(method, parameters, "")

    def _call(self, method: str, parameters: dict[str, Any], of: str) -> dict[str, Any]:
        self._count += 1
        number = self._count
        session = {"sessionId": of} if of else {}
        os.write(
            self._to, json.dumps({"id": number, "method": method, "params": parameters, **session}).encode() + b"\0"
        )
        while True:
            answer = self._answer()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    def _answer(self) -> dict[str, Any]:
        end = time.monotonic() + SECONDS
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._from], [], [], max(end - time.monotonic(), 0))
            data = os.read(self._from, 1 << 20) if ready else b""
            assert data, "the browser does not answer"
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(text)
        if answer.get("method") == "Network.requestWillBeSent":
            self.requests.append(answer["params"]["request"]["url"])
        return answer

    def open(self, url: str) -> None:
        """Load a page, and wait until it has."""
        self.call("Page.navigate", url=url)
        self.wait(
            f"document.readyState === 'complete' && location.href.split('#')[0] === {json.dumps(url.partition('#')[0])}"
        )

    def value(self, expression: str) -> Any:
        """Return what an expression comes to in the page."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + SECONDS
        while not self.value(expression):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        more = {"text": key} if len(key) == 1 else {}
        same = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": KEYS[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", **same, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **same)

    def click(self, selector: str, part: float = 0.5) -> None:
        """Click on an element, at this part of its width."""
        box = self.value(
            f"(b => [b.x, b.y, b.width, b.height])(document.querySelector('{selector}').getBoundingClientRect())"
        )
        place = {"x": box[0] + part * box[2], "y": box[1] + box[3] / 2, "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **place)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **place)

    def close(self) -> None:
        """End the browser."""
        self._process.terminate()
        self._process.wait(SECONDS)
        os.close(self._to)
        os.close(self._from)


class Firefox:
    """One page in a headless Firefox, driven by its own protocol, Marionette.

    Source: https://firefox-source-docs.mozilla.org/testing/marionette/Protocol.html.

    Args:
        folder: for the browser's own files.
    """

    def __init__(self, folder: Path) -> None:
        (folder / "user.js").write_text('user_pref("marionette.port", 0);\n', encoding="utf-8")
        words = [program(FIREFOXES) or "firefox", "--headless", "--marionette", "--no-remote", "--profile", str(folder)]
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        port, end = folder / "MarionetteActivePort", time.monotonic() + SECONDS
        while not (port.exists() and port.read_text(encoding="utf-8")):
            assert time.monotonic() < end, "Firefox does not start"
            time.sleep(0.05)
        self._socket = socket.create_connection(("127.0.0.1", int(port.read_text(encoding="utf-8"))), SECONDS)
        self._file, self._count = self._socket.makefile("rb"), 0
        self._answer()
        self.call("WebDriver:NewSession")

    def _answer(self) -> Any:
        length = b""
        while (byte := self._file.read(1)) != b":":
            assert byte, "Firefox has ended"
            length += byte
        return json.loads(self._file.read(int(length)))

    def call(self, command: str, **parameters: Any) -> Any:
        """Call a command; return its result."""
        self._count += 1
        text = json.dumps([0, self._count, command, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(text), text))
        _, _, error, result = self._answer()
        assert error is None, error
        return result

    def open(self, url: str) -> None:
        """Load a page."""
        self.call("WebDriver:Navigate", url=url)

    def value(self, expression: str) -> Any:
        """Return what an expression about the document comes to; the page's own names are not known there."""
        return self.call("WebDriver:ExecuteScript", script=f"return {expression}", args=[])["value"]

    def act(self, *actions: dict[str, Any]) -> None:
        """Perform actions of keys, of a pointer or of a wheel, as WebDriver has them."""
        self.call("WebDriver:PerformActions", actions=list(actions))
        self.call("WebDriver:ReleaseActions")

    def close(self) -> None:
        """End the browser."""
        self._file.close()
        self._socket.close()
        self._process.terminate()
        self._process.wait(SECONDS)
