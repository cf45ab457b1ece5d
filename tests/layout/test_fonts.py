"""The font that gviz ships: a picture has its text where the machine has no font, and nobody's environment is touched."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from contextlib import suppress
from pathlib import Path

import pytest
from graphs import article, named
from program import ROOT

from gviz.layout import RenderWarning
from gviz.layout.fonts import FONT, SIGNS, drawing_environment, needs_more, system_fonts, warn_of_missing
from gviz.layout.fonts.faces import FOLDER, font_of
from gviz.render import render

linux_only = pytest.mark.skipif(sys.platform in ("darwin", "win32"), reason="fontconfig is Linux's way to fonts")

DRAW = """
    import io, os, sys, warnings
    from graphs import article, named
    from gviz.render import RenderOptions, render
    from pypdf import PdfReader

    def fonts_of(drawn):
        page = PdfReader(io.BytesIO(drawn)).pages[0]
        names = (font.get_object()["/BaseFont"].partition("+")[2] for font in page["/Resources"]["/Font"].values())
        return {"bold" if name.startswith("CairoFont") else name for name in names}  # made of the one font that is shipped

    def text_of(drawn):
        return PdfReader(io.BytesIO(drawn)).pages[0].extract_text()
"""


def run(code: str, **environment: str | None) -> subprocess.CompletedProcess[str]:
    """Run a program in a fresh Python, which has no settings and no home but those given."""
    surroundings = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}
    surroundings["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    surroundings = {name: value for name, value in (surroundings | environment).items() if value is not None}
    script = textwrap.dedent(DRAW) + textwrap.dedent(code)
    return subprocess.run([sys.executable, "-c", script], env=surroundings, capture_output=True, text=True, check=False)


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_font_and_its_licence_are_shipped() -> None:
    assert Path(FONT).read_bytes()[:4] == b"\x00\x01\x00\x00"
    assert "Permission is hereby granted, free of charge" in (Path(FONT).parent / "LICENSE-DejaVu.txt").read_text()
    assert {"own.conf", "system.conf", "shipped"} <= set(os.listdir(FOLDER))


ENVIRONMENTS: list[dict[str, str | None]] = [
    {},
    {"HOME": None},
    {"HOME": "/proc"},
    {"XDG_CACHE_HOME": "/dev/null"},
    {"LC_ALL": "C"},
    {"LC_ALL": "tr_TR.UTF-8", "TZ": "Asia/Tokyo"},
]


@linux_only
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_pdf_has_its_text_in_any_environment_and_gviz_s_font_alone(environment: dict[str, str | None]) -> None:
    code = """
        drawn = render(article(), "pdf", RenderOptions(legend=False))
        print(*sorted(fonts_of(drawn)))
        print(*sorted(set(text_of(drawn).split())))
    """
    words = "* + 1 2 3 5 6 = AccumulateGrad AddBackward0 MulBackward0 a b grad w x y □"
    assert succeeded(run(code, **environment, PYTHONIOENCODING="utf-8")) == f"DejaVuSansMono bold\n{words}\n"


@linux_only
def test_the_picture_is_the_same_whatever_fonts_there_are(tmp_path: Path) -> None:
    (tmp_path / ".fonts").mkdir()
    (tmp_path / ".fonts" / "Other.ttf").write_bytes(Path(FONT).read_bytes())
    code = 'import hashlib; print(hashlib.sha256(render(article(), "pdf")).hexdigest())'
    assert succeeded(run(code)) == succeeded(run(code, HOME=str(tmp_path)))


@linux_only
def test_nothing_is_written_anywhere(tmp_path: Path) -> None:
    shipped = sorted(os.listdir(os.path.dirname(FONT)))
    succeeded(run('render(article(), "pdf")', HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")))
    assert os.listdir(tmp_path) == []
    assert sorted(os.listdir(os.path.dirname(FONT))) == shipped


def test_the_environment_is_as_it_was_after_a_picture_and_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    before = dict(os.environ)
    render(article(), "pdf")
    assert dict(os.environ) == before
    with suppress(RuntimeError), drawing_environment(wide=True):
        assert os.environ["FONTCONFIG_FILE"] == os.path.join(FOLDER, "system.conf")
        raise RuntimeError
    assert dict(os.environ) == before


@pytest.mark.parametrize("name", ["FONTCONFIG_FILE", "FONTCONFIG_PATH", "FONTCONFIG_SYSROOT"])
def test_a_user_s_own_configuration_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "/mine")
    with drawing_environment(wide=False):
        assert os.environ[name] == "/mine"
        assert "XDG_DATA_HOME" not in os.environ


@linux_only
def test_a_user_s_own_configuration_decides(tmp_path: Path) -> None:
    (tmp_path / "fonts").mkdir()
    (tmp_path / "fonts" / "mine.ttf").write_bytes(Path(FONT).read_bytes())
    configuration = tmp_path / "fonts.conf"
    configuration.write_text(
        f"<fontconfig><dir>{tmp_path}/fonts</dir><cachedir>{tmp_path}/cache</cachedir></fontconfig>"
    )
    succeeded(run('render(article(), "pdf")', FONTCONFIG_FILE=str(configuration)))
    assert os.listdir(tmp_path / "cache")


# Characters that the font lacks


@pytest.mark.parametrize("text", ["x = 1", "naïve ×", "β → ∑ Ж ✓", "\u200d\ufe0f", "a\u0301"])
def test_the_shipped_font_suffices_for_most_texts(text: str) -> None:
    assert not needs_more(text)
    assert needs_more(f"{text}損")
    assert needs_more(f"{text}😀")


def characters_of(font: bytes) -> set[str]:
    """The characters in a font's ``cmap`` of format 12."""
    tables = [font[12 + 16 * index : 28 + 16 * index] for index in range(int.from_bytes(font[4:6], "big"))]
    start = next(int.from_bytes(table[8:12], "big") for table in tables if table[:4] == b"cmap")
    cmap = font[start:]
    subtables = [cmap[4 + 8 * index : 12 + 8 * index] for index in range(int.from_bytes(cmap[2:4], "big"))]
    (wide,) = {int.from_bytes(entry[4:8], "big") for entry in subtables if entry[:4] == b"\x00\x03\x00\x0a"}
    groups = cmap[wide + 16 : wide + 16 + 12 * int.from_bytes(cmap[wide + 12 : wide + 16], "big")]
    numbers = [int.from_bytes(groups[place : place + 4], "big") for place in range(0, len(groups), 4)]
    return {
        chr(code) for first, last in zip(numbers[::3], numbers[1::3], strict=True) for code in range(first, last + 1)
    }


def test_the_characters_of_the_shipped_font_are_known() -> None:
    shipped = characters_of(Path(FONT).read_bytes())
    assert set(map(chr, font_of("mono").glyphs)) == shipped
    assert not needs_more("".join(shipped))
    assert {*SIGNS, *map(chr, range(0x21, 0x7F))} <= shipped


@linux_only
def test_the_user_s_fonts_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    font = tmp_path / ".local" / "share" / "fonts" / "deep" / "Mine.TTF"
    font.parent.mkdir(parents=True)
    font.write_bytes(Path(FONT).read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(font) in list(system_fonts())


@linux_only
def test_what_no_font_has_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.layout.fonts.system_fonts", lambda: iter(()))
    with pytest.warns(RenderWarning, match=r"no font here has 損 \(U\+640D\): .* fonts-noto-cjk") as caught:
        warn_of_missing("損")
    assert len(caught) == 1
    with pytest.warns(RenderWarning, match="and 14 more"):
        warn_of_missing("".join(map(chr, range(0x4E00, 0x4E00 + 20))))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_missing("naïve")


@linux_only
def test_only_formats_that_draw_the_characters_warn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gviz.layout.fonts.system_fonts", lambda: iter(()))
    with pytest.warns(RenderWarning, match="no font here has"):
        render(named("\U000e1234損"), "png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for suffix in ("svg", "dot", "json", "txt", "plain"):
            assert "損" in str(render(named("損"), suffix))


@linux_only
def test_a_process_that_has_drawn_plain_text_still_finds_other_fonts(tmp_path: Path) -> None:
    # a stand-in for a font of CJK: the shipped one, its character A moved to where no font has one
    (tmp_path / ".fonts").mkdir()
    (tmp_path / ".fonts" / "odd.ttf").write_bytes(renamed(moved_cmap(Path(FONT).read_bytes(), 0xE0FF)))
    code = """
        warnings.simplefilter("ignore")
        assert "AccumulateGrad" in text_of(render(article(), "pdf"))
        plain = RenderOptions(show=())  # without bold letters
        drawn = render(named("\\ue0ff"), "pdf", plain)
        for picture in (drawn, render(named("x"), "pdf", plain)):
            print(len(PdfReader(io.BytesIO(picture)).pages[0]["/Resources"]["/Font"]) > 1)
    """
    out = succeeded(run(code, HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")))
    assert out == "True\nFalse\n"


@linux_only
def test_where_no_other_process_can_be_started_boxes_are_drawn_and_told_of() -> None:
    code = """
        render(article(), "pdf")
        sys.executable = "/nowhere/python"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert render(named("損"), "pdf").startswith(b"%PDF")
        print(any("fonts cannot be used (No such file or directory)" in str(warning.message) for warning in caught))
    """
    assert succeeded(run(code)) == "True\n"


def moved_cmap(font: bytes, code: int) -> bytes:
    """The font with a table of characters that has one character only."""
    table = b"\x00\x00\x00\x01\x00\x03\x00\x01\x00\x00\x00\x0c"
    segment = [4, 32, 0, 4, 4, 1, 0, code, 0xFFFF, 0, code, 0xFFFF, (36 - code) & 0xFFFF, 1, 0, 0]
    table += b"".join(number.to_bytes(2, "big") for number in segment)
    moved = bytearray(font)
    for index in range(int.from_bytes(font[4:6], "big")):
        place = 12 + 16 * index
        if font[place : place + 4] == b"cmap":
            moved[place + 8 : place + 16] = len(font).to_bytes(4, "big") + len(table).to_bytes(4, "big")
    return bytes(moved) + table


def renamed(font: bytes) -> bytes:
    """The font under another name."""
    return font.replace("DejaVu Sans Mono".encode("utf-16-be"), "Gviz Sans Test A".encode("utf-16-be"))
