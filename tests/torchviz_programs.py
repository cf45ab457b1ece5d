"""Programs that TorchViz draws, and what it draws of them: ``tests/gold/torchviz.json`` was written by running this file.

``python tests/torchviz_programs.py`` writes it anew, with torch 2.13.0 and torchviz 0.0.3 installed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOLD = Path(__file__).parent / "gold" / "torchviz.json"

_ID = re.compile(r"\b(?:n?\d+)\b")


def scalars(torch: Any) -> tuple[Any, Any]:
    """The articles' x = 2 and w = 1."""
    return torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)


def matrix(torch: Any) -> Any:
    """A matrix that requires a gradient."""
    return torch.ones(3, 3).mul(2.0).requires_grad_()


def article_a(torch: Any) -> dict[str, Any]:
    x, w = scalars(torch)
    return {"var": (x + w) * (w + 1), "params": {"x": x, "w": w}}


def saved(torch: Any) -> dict[str, Any]:
    return {**article_a(torch), "show_saved": True}


def attributes(torch: Any) -> dict[str, Any]:
    x, w = scalars(torch)
    return {"var": torch.add(x, w, alpha=3) * x.pow(2).sum(), "params": {"x": x}, "show_attrs": True}


def no_names(torch: Any) -> dict[str, Any]:
    x, w = scalars(torch)
    return {"var": x * w}


def square(torch: Any) -> dict[str, Any]:
    x, _ = scalars(torch)
    return {"var": x * x, "params": {"x": x}, "show_saved": True}


def article_b(torch: Any) -> dict[str, Any]:
    a = torch.tensor(2.0, requires_grad=True)
    w1, w2, w3, w4 = (torch.tensor(float(i), requires_grad=True) for i in range(1, 5))
    b, c = w1 * a, w2 * a
    d = w3 * b + w4 * c
    return {"var": 10 - d, "params": {"a": a, "w1": w1, "w2": w2, "w3": w3, "w4": w4}}


def article_d(torch: Any) -> dict[str, Any]:
    a, b, c, d = (torch.tensor(float(i), requires_grad=True) for i in (2, 3, 5, 10))
    return {"var": a * b + torch.log(d) * c, "params": {"a": a, "b": b, "c": c, "d": d}}


def view(torch: Any) -> dict[str, Any]:
    weights = matrix(torch)
    return {"var": (weights * 2).t(), "params": {"W": weights}}


def view_of_a_leaf(torch: Any) -> dict[str, Any]:
    weights = matrix(torch)
    return {"var": weights.view(9), "params": {"W": weights}}


def two_roots(torch: Any) -> dict[str, Any]:
    weights = matrix(torch)
    hidden = torch.relu(weights)
    return {"var": (hidden.sum(), hidden.mean(), weights), "params": {"W": weights}}


def one_root_twice(torch: Any) -> dict[str, Any]:
    x, w = scalars(torch)
    y = x / w
    return {"var": (y, y), "params": {"x": x, "w": w}}


def leaf_alone(torch: Any) -> dict[str, Any]:
    return {"var": matrix(torch)}


def no_graph(torch: Any) -> dict[str, Any]:
    return {"var": torch.ones(2)}


def root_that_is_named(torch: Any) -> dict[str, Any]:
    x, w = scalars(torch)
    y = x - w
    return {"var": y, "params": {"y": y, "x": x}}


def chain(torch: Any) -> dict[str, Any]:
    x, _ = scalars(torch)
    y = x
    for _ in range(50):
        y = y * x
    return {"var": y, "params": {"x": x}}


def own_function(torch: Any) -> dict[str, Any]:
    class Product(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            return x * w

    x, w = scalars(torch)
    return {"var": Product.apply(x * 2, w) + x, "params": {"x": x, "w": w}}


def leaf_before_what_is_made_of_it(torch: Any) -> dict[str, Any]:
    weights = matrix(torch)
    return {"var": (weights, weights.exp().t()), "params": {"W": weights, "V": weights}, "show_saved": True}


def saved_lists(torch: Any) -> dict[str, Any]:
    weights = matrix(torch)
    picked = torch.stack([weights, weights * 2])[0, torch.tensor([0, 1])]
    return {"var": picked.max(0)[0], "show_saved": True, "show_attrs": True, "max_attr_chars": 10}


PROGRAMS: dict[str, Callable[[Any], dict[str, Any]]] = {
    function.__name__: function
    for function in (
        article_a,
        saved,
        attributes,
        no_names,
        square,
        article_b,
        article_d,
        view,
        view_of_a_leaf,
        two_roots,
        one_root_twice,
        leaf_alone,
        no_graph,
        root_that_is_named,
        chain,
        own_function,
        leaf_before_what_is_made_of_it,
        saved_lists,
    )
}


def statements(dot: Any) -> list[str]:
    """The boxes and arrows of a Digraph, in order, named by the order in which they come."""
    ids: dict[str, str] = {}

    def counted(match: re.Match[str]) -> str:
        return _ID.sub(lambda one: ids.setdefault(one[0], f"n{len(ids)}"), match[0])

    return [re.sub(r"^\tn?\d+(?: -> n?\d+)?", counted, line).strip() for line in dot.body]


def record() -> None:
    """Write what TorchViz draws."""
    import torch
    from torchviz import make_dot

    drawn = {name: statements(make_dot(**program(torch))) for name, program in PROGRAMS.items()}
    GOLD.write_text(json.dumps({"torch": torch.__version__, "drawn": drawn}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
