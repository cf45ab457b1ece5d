"""The scripts of samples/models: graphs and cards have the counts of PyTorch 2.13, and pictures can be read."""

from __future__ import annotations

import re
from html import unescape

import pytest
from program import ROOT, Program

from gviz.graphs import Graph

MODELS = ROOT / "samples" / "models"
PICTURES = ROOT / "docs" / "pictures"

RECORDED = {
    "mlp.py": (19, 12, 387),
    "resnet.py": (71, 62, 177362),
    "resnet.py -- 50": (177, 161, 376722),
    "unet.py": (50, 46, 121653),
    "lstm.py": (1503, 6, 149),
    "lstm.py -- 2 50": (1503, 10, 309),
    "gpt.py": (611, 149, 41152),
    "encoder.py": (272, 75, 14178),
    "vae.py": (26, 10, 4616),
}
"""What PyTorch has for each script: the operations below the loss, the parameters of the model, and their elements."""

FACTS = {
    "gpt": ["model.blocks.{0…11}", "Block  × 12", "attn  Attention", "first", "‖grad‖ = 0.2038"],
    "encoder": ["model.1.layers.{0…5}", "TransformerEncoderLayer  × 6", "31 operations, 10.7 KiB saved"],
    "resnet50": ["model.layers.1.{1…3}", "× 3", "model.layers.2.{1…5}", "× 5"],
    "lstm": ["15 operations, 248 bytes saved", "model.cells.0, call {2…99}  Cell", "cells.0, call 100  Cell"],
    "lstm2": ["model.cells.1, call {2…49}  Cell", "each"],
    "mlp": ["model.{0, 2, … 8}  × 5"],
    "adam": ["step_of_adam, call 5", "72 operations, 920 bytes saved", "rate = 0.1"],
}
"""What some pictures of docs/models.md say."""


@pytest.mark.parametrize("words", RECORDED)
def test_the_card_of_a_model_and_what_is_outside_of_it_come_to_what_pytorch_has(gviz: Program, words: str) -> None:
    script, *after = words.split()
    done = gviz("render", MODELS / script, "--by", "module", "--depth", 1, "-o", "model.json", *after)
    assert done.status == 0, done.err
    nodes = Graph.from_json((gviz.folder / "model.json").read_text(encoding="utf-8")).nodes
    (card,) = [node.card for node in nodes if node.card is not None]
    outside = sum(node.kind == "operation" for node in nodes)
    assert (card.operations + outside, card.parameters, card.elements) == RECORDED[words]


@pytest.mark.parametrize("name", FACTS)
def test_a_picture_of_a_model_says_what_it_is_there_for(name: str) -> None:
    svg = (PICTURES / f"{name}.svg").read_text(encoding="utf-8")
    lines = set[str]()
    for group in svg.split("<g "):
        rows: dict[str, str] = {}
        for height, text in re.findall(r'<text[^>]* y="([^"]*)"[^>]*>([^<]*)</text>', group):
            rows[height] = rows.get(height, "") + text
        lines |= {unescape(text).replace("\xa0", " ").strip(" █▉▊▋▌▍▎▏") for text in rows.values()}
    assert [fact for fact in FACTS[name] if fact not in lines] == [], sorted(lines)


def test_the_weights_of_a_fold_with_a_first_and_a_last_block_are_drawn_once(gviz: Program) -> None:
    words = [MODELS / "lstm.py", "--by", "module", "--fold", "on", "--format", "dot", "-o", "-"]
    drawn = {how: gviz("render", *words, "--repeat-leaves", how, "--", 1, 8).out for how in ("auto", "always")}
    assert "× 6" in drawn["auto"]
    assert "rounded,dashed" not in drawn["auto"]
    assert "rounded,dashed" in drawn["always"]


def test_pictures_of_models_are_small() -> None:
    page = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    sizes = [(ROOT / "docs" / path).stat().st_size for path in re.findall(r"pictures/\w+\.svg", page)]
    assert len(sizes) == 12
    assert max(sizes) < 60_000
    assert sum(sizes) < 600_000
