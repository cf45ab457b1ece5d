"""Words for people."""

from __future__ import annotations

from gviz.text import closest


def test_a_name_in_another_case_is_meant_rather_than_one_with_its_letters_in_another_order() -> None:
    assert closest("SUM", ["mus", "sum", "usm"]) == "sum"
