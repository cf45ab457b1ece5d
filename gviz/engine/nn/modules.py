"""``torch.nn.modules``: the layers by the files that PyTorch has them in, and what else programs take there."""

from __future__ import annotations

from functools import partial
from typing import Any

from gviz.engine import nn
from gviz.engine.device import module
from gviz.engine.nn.declared import _Loss
from gviz.engine.nn.layers import Alone, Convolution, PerBatch
from gviz.engine.nn.options import each
from gviz.engine.nn.state import consume_prefix_in_state_dict_if_present
from gviz.numbers.words import absent

FILES: dict[str, dict[str, Any]] = {
    "utils": {name: partial(each, count=n) for n, name in enumerate(("_single", "_pair", "_triple", "_quadruple"), 1)}
}
for kind in (*nn.HELD.values(), nn.Module):
    globals()[kind.__name__] = FILES.setdefault(kind.__module__.rpartition(".")[2], {})[kind.__name__] = kind
FILES["loss"]["_Loss"], FILES["conv"]["_ConvNd"] = _Loss, Convolution
FILES["batchnorm"]["_BatchNorm"], FILES["instancenorm"]["_InstanceNorm"] = PerBatch, Alone
FILES["utils"]["consume_prefix_in_state_dict_if_present"] = consume_prefix_in_state_dict_if_present
globals().update((file, module(f"nn.modules.{file}", **names)) for file, names in FILES.items())
__path__: list[str] = []
__getattr__ = absent("torch.nn.modules")
