"""``gviz steps``: its files, what it leaves out when asked to, and what it refuses."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pypdf
import pytest
from program import ROOT, SAMPLES, Program

from gviz import RenderOptions, read
from gviz.cli.steps import Series

Y = ("y=(x+w)*(w+1)", "x=2", "w=1")


def pages(gviz: Program, name: str) -> list[str]:
    """The text of each page of a PDF file."""
    return [page.extract_text() for page in pypdf.PdfReader(gviz.folder / name).pages]


def test_a_pdf_has_a_page_for_each_step_with_its_arithmetic_as_text(gviz: Program) -> None:
    done = gviz("steps", *Y, "-o", "y.pdf")
    assert (done.status, done.raw, done.err) == (0, b"", "")
    texts = pages(gviz, "y.pdf")
    assert len(texts) == 9
    assert all("(w + 1)" in text.replace("\xa0", " ") for text in texts)
    assert [re.findall(r"(\d)/9", text) for text in texts] == [[str(number)] for number in range(1, 10)]
    assert "a = x + w = 2 + 1 = 3" in texts[1]
    assert "w.grad += 3 + 2 = 5" in texts[7]
    assert "2 + 3 = 5" in texts[7]
    assert "∂y/∂a" not in texts[4]


def test_the_pages_are_slides_and_the_outline_names_them(gviz: Program) -> None:
    gviz("steps", *Y, "-o", "y.pdf")
    reader: Any = pypdf.PdfReader(gviz.folder / "y.pdf")
    assert {tuple(map(round, page.mediabox)) for page in reader.pages} == {(0, 0, 960, 540)}
    assert [item.title for item in reader.outline][1] == "forward  a = x + w = 2 + 1 = 3"
    assert reader.metadata.title == "y = (x + w)·(w + 1)"


def test_without_o_the_file_is_named_for_the_root_and_its_name_is_printed(gviz: Program) -> None:
    done = gviz("steps", *Y)
    assert (done.out, done.files()) == ("y-steps.pdf\n", ["y-steps.pdf"])
    assert gviz("steps", *Y, "--title", "again").status == 0  # gviz made it: it may be replaced
    assert "again" in pages(gviz, "y-steps.pdf")[0]


def test_a_file_of_that_name_that_gviz_did_not_make_stays(gviz: Program) -> None:
    (gviz.folder / "y-steps.pdf").write_text("three years of work")
    gviz("steps", *Y).assert_refused("was not made by gviz", "-o y-steps.pdf", files=("y-steps.pdf",))


def test_images_are_numbered_beside_each_other_or_in_a_folder(gviz: Program) -> None:
    done = gviz("steps", *Y, "-o", "y.svg", "-o", "frames/")
    assert done.files() == ["frames", *[f"y-0{number}.svg" for number in range(1, 10)]]
    assert sorted(path.name for path in (gviz.folder / "frames").iterdir()) == [
        f"0{number}.png" for number in range(1, 10)
    ]
    assert done.out.splitlines()[0] == "y-01.svg"
    svg = (gviz.folder / "y-08.svg").read_text(encoding="utf-8")
    assert "= 3 + 2" in svg
    assert 'width="960pt" height="540pt"' in svg


def test_an_image_has_the_size_of_a_slide_on_a_screen(gviz: Program) -> None:
    gviz("steps", *Y, "--from", 1, "--to", 1, "-o", "y.png")
    head = (gviz.folder / "y-01.png").read_bytes()[16:24]
    assert (int.from_bytes(head[:4], "big"), int.from_bytes(head[4:], "big")) == (1920, 1080)


@pytest.mark.parametrize("suffix", ["gif", "webp"])
def test_an_animation_shows_each_step_and_the_last_one_longer(gviz: Program, suffix: str) -> None:
    images: Any = pytest.importorskip("PIL.Image")
    done = gviz("steps", *Y, "-o", f"y.{suffix}", "--seconds", 0.5)
    assert done.status == 0, done.err
    with images.open(gviz.folder / f"y.{suffix}") as film:
        assert (film.n_frames, film.size, film.info.get("loop")) == (9, (1280, 720), 0)
        lasting = []
        for number in range(9):
            film.seek(number)
            film.load()
            lasting.append(film.info["duration"])
    assert lasting == [*[500] * 8, 1000]


def test_an_animation_without_pillow_says_what_to_install(gviz: Program) -> None:
    hidden = gviz.folder / "hidden" / "PIL"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError\n")
    done = gviz("steps", *Y, "-o", "y.gif", env={"PYTHONPATH": f"{hidden.parent}:{ROOT}"})
    done.assert_refused("needs Pillow", "pip install pillow", "-o steps.html", files=("hidden",))


def test_the_player_holds_everything_and_each_part_once(gviz: Program) -> None:
    gviz("steps", *Y, "-o", "y.html")
    page = (gviz.folder / "y.html").read_text(encoding="utf-8")
    assert not re.findall(r"""(?:src|href)="|https?://(?!www\.w3\.org)|@import|url\(""", page)
    data = json.loads(re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[0])
    circuit = data["views"][0]["circuit"]
    parts = [json.dumps([owner, part]) for owner, *own in circuit["parts"] for part in own]
    assert len(parts) == len({*parts})
    shown: set[int] = set()
    for come, go in circuit["frames"]:
        assert {*go} <= shown
        assert not {*come} & shown
        shown = (shown - {*go}) | {*come}


def test_a_name_that_looks_like_html_stays_a_name(gviz: Program) -> None:
    gviz("steps", *Y, "--title", "</script><b>{{data}}&", "-o", "y.html")
    page = (gviz.folder / "y.html").read_text(encoding="utf-8")
    assert ">&lt;/script&gt;&lt;b&gt;{{data}}&amp;</h1>" in page
    assert page.count("</script>") == 2


@pytest.mark.parametrize("suffix", ["pdf", "html", "gif"])
def test_the_same_steps_give_the_same_bytes(gviz: Program, suffix: str) -> None:
    if suffix == "gif":
        pytest.importorskip("PIL")
    one, other = (gviz("steps", *Y, "-o", "-", "--format", suffix).raw for _ in range(2))
    assert one == other
    assert len(one) > 1000


def test_standard_output_takes_one_file_of_all_steps(gviz: Program) -> None:
    raw = gviz("steps", *Y, "-o", "-", "--only", "forward").raw
    assert len(pypdf.PdfReader(io.BytesIO(raw)).pages) == 4
    gviz("steps", *Y, "-o", "-", "--format", "png").assert_refused("takes one file", status=2)


def test_one_half_or_a_part_keeps_its_numbers(gviz: Program) -> None:
    gviz("steps", *Y, "--only", "forward", "-o", "f.pdf")
    gviz("steps", *Y, "--only", "backward", "--from", 6, "--to", 8, "-o", "b.pdf")
    assert (len(pages(gviz, "f.pdf")), len(pages(gviz, "b.pdf"))) == (4, 3)
    assert "6/9" in pages(gviz, "b.pdf")[0]


def test_a_step_beyond_the_end_is_refused(gviz: Program) -> None:
    gviz("steps", *Y, "--from", 10, "-o", "y.pdf").assert_refused("--from 10: there are 9 steps", status=2)
    gviz("steps", *Y, "--from", 5, "--to", 3).assert_refused("comes before the first", status=2)
    gviz("steps", *Y, "--only", "backward", "--to", 3).assert_refused(
        "none of them is asked for: there are 9 steps", status=2
    )


@pytest.mark.parametrize(
    ("file", "phrases"),
    [
        ("y.txt", ("'txt' is not a format for steps", "pdf, html, pptx, tex, gif, webp", "svg, png")),
        ("y.pfd", ("'pfd' is not a format for steps", "Did you mean pdf?")),
        ("y", ("no suffix", "-o frames/")),
    ],
)
def test_an_unknown_format_is_refused_before_a_script_runs(gviz: Program, file: str, phrases: tuple[str, ...]) -> None:
    script = gviz.folder / "s.py"
    script.write_text("open('ran', 'w')\n")
    gviz("steps", "s.py", "-o", file).assert_refused(*phrases, files=("s.py",))


def test_a_script_without_backward_gives_the_steps_forward_and_says_so(gviz: Program) -> None:
    (gviz.folder / "s.py").write_text("import torch\nw = torch.tensor(1.0, requires_grad=True)\ny = w * 3\n")
    done = gviz("steps", "s.py", "-o", "y.pdf")
    assert done.status == 0
    assert "these are the steps forward" in done.err
    assert len(pages(gviz, "y.pdf")) == 2
    gviz("steps", "s.py", "-o", "z.pdf", "--only", "backward").assert_refused(
        "backward did not run", files=("s.py", "y.pdf")
    )


def test_a_backward_that_fails_ends_with_its_error(gviz: Program) -> None:
    done = gviz("steps", SAMPLES / "five_neurons_twice.py", "-o", "y.pdf")
    assert done.status == 1
    texts = pages(gviz, "y.pdf")
    assert len(texts) == 11
    assert "RuntimeError: Trying to backward through the graph a second time" in texts[-1].replace("\n", " ")


def test_a_saved_graph_plays_if_it_holds_the_gradients_on_their_way(gviz: Program) -> None:
    gviz("render", *Y, "--view", "dataflow", "-o", "flow.json")
    gviz("render", *Y, "-o", "plain.json")
    gviz("steps", "flow.json", "-o", "flow.pdf")
    plain = gviz("steps", "plain.json", "-o", "plain.pdf")
    assert (len(pages(gviz, "flow.pdf")), len(pages(gviz, "plain.pdf"))) == (9, 4)
    assert "its steps were not saved" in plain.err


def test_a_graph_that_nobody_can_follow_is_refused(gviz: Program) -> None:
    text = "; ".join(["a0=x*w", *[f"a{number + 1}=a{number}*w" for number in range(300)]])
    gviz("steps", text, "x=1", "w=1", "-o", "y.pdf").assert_refused("303 boxes", "--root")


def test_a_static_graph_is_refused(gviz: Program) -> None:
    gviz("steps", SAMPLES / "feeds_static.py", "-o", "y.pdf").assert_refused("static")


def test_the_source_is_not_replaced(gviz: Program) -> None:
    gviz("render", *Y, "--view", "dataflow", "-o", "y.json")
    gviz("steps", "y.json", "-o", "y.json").assert_refused(files=("y.json",))


MANY = f"y={'*'.join(60 * 'x')}"
"""An expression of more than 100 steps, which are soon drawn."""


def test_very_many_pages_are_estimated_and_not_drawn(gviz: Program) -> None:
    done = gviz("steps", MANY, "-o", "new/y.pdf")
    done.assert_refused(
        "pages, which take about ", " second", "gviz render SOURCE --path NAME", "--yes draws all of them"
    )
    assert "--every line" not in done.err  # an expression that is read so has no lines


def test_very_many_pages_of_a_script_may_be_fewer_by_line(gviz: Program) -> None:
    (gviz.folder / "net.py").write_text(
        "import torch\nx = torch.tensor(2.0, requires_grad=True)\ny = x\n"
        "for _ in range(60):\n    y = y * x\ny.backward()\n"
    )
    done = gviz("steps", "net.py")
    done.assert_refused("--every line has a page for each line forward: ", files=("net.py",))


@pytest.mark.parametrize(("file", "is_sure", "says"), [
    ("y.pdf", True, "101 pages take about "), ("y.html", False, "pages"),  # all steps are one page of HTML
])  # fmt: skip
def test_very_many_pages_are_drawn_for_somebody_who_is_sure(
    file: str, is_sure: bool, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Series((file,), RenderOptions(), "", 1, None, 1.0, is_sure)
    asked.ask(read("y=x*w", x=2, w=3).graph, range(101))
    said = capsys.readouterr().err
    assert (says in said) == is_sure == bool(said)


def test_a_terminal_has_a_bar_that_tells_how_far_it_is(gviz: Program) -> None:
    shown = gviz.on_terminal("steps", "y=x*w", "x=2", "w=3", "-o", "y.pdf").out
    assert "drawing" in shown
    assert "5/5" in shown
    assert "drawing" not in gviz("steps", "y=x*w", "x=2", "w=3", "-o", "y.pdf").err


@pytest.mark.parametrize("seconds", ["0.05", "61"])
def test_a_step_is_shown_for_a_tenth_of_a_second_to_a_minute(gviz: Program, seconds: str) -> None:
    done = gviz("steps", *Y, "-o", "y.html", "--seconds", seconds)
    done.assert_refused("--seconds", "0.1", "60", status=2)
    assert gviz("steps", *Y, "-o", "y.html", "--seconds", "0.1").status == 0
