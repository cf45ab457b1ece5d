"""``torch.hub``: models and weights that PyTorch would load from the network, which gviz does not."""

from __future__ import annotations

from typing import Any

from gviz.numbers.words import absent

__all__ = ["download_url_to_file", "load", "load_state_dict_from_url"]


def load(*args: object, **kwargs: object) -> Any:
    """Refuse: nothing is loaded from the network."""
    raise NotImplementedError("torch.hub loads nothing in gviz's engine; run with --engine torch")


load_state_dict_from_url = download_url_to_file = load
__getattr__ = absent("torch.hub")
