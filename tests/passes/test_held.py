"""The graph of the values has what operations hold, and an arrow from it to each of them."""

from __future__ import annotations

import gviz
from gviz.passes.dataflow import dataflow


def test_a_condition_that_two_operations_hold_leads_to_both() -> None:
    shown = dataflow(gviz.read("m=x>0; y=where(m,x,w)+where(m,x*2,x)").graph)
    (condition,) = (node for node in shown.nodes if node.name == "m")
    targets = [shown.by_id[edge.target].label for edge in shown.uses[condition.id]]
    assert targets == ["WhereBackward0", "WhereBackward0"]
