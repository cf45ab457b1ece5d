"""Static graphs as TensorFlow 1 builds them: define first, run later.

``from gviz import static as tf`` reads like TensorFlow 1::

    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    y = tf.log(a) * b
    with tf.Session() as sess:
        sess.run([y, *tf.gradients(y, [a, b])], {a: 2, b: 3})

How a value comes about:

1. A function of ``functions.py`` turns its arguments into tensors and adds an operation (``build.py``), which the graph
names
   (``graph.py``).
2. The operation's function, called with small arrays, shows the dtype and the shape of the result (``table.py`` names
the
   function, ``rules.py`` calls it). Nothing is computed.
3. :func:`gviz.static.gradients.gradients` adds operations for derivatives: the formulas are those of the dynamic
engine's
   table.
4. :meth:`gviz.static.session.Session.run` looks up fetches and feeds, and makes a :class:`~gviz.static.plan.Plan` of
them the
   first time: a flat function over numpy. Each later run calls it.

Loops and branches are in ``control.py``, variables in ``variables.py``, pictures and what TensorBoard reads in
``out.py``.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

from gviz.static import (
    arrays,
    errors,
    functions,
    layers as own_layers,
    neural,
    optimizers,
    recurrent,
    types as dtypes,
    variables,
)
from gviz.static.build import constant, convert
from gviz.static.compositions import COMPOSITIONS, top_k
from gviz.static.control import cond, while_loop
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph, reset_default_graph
from gviz.static.out import SUMMARY
from gviz.static.saving import SAVING
from gviz.static.session import InteractiveSession, Session, function, get_default_session
from gviz.static.types import Dimension, DType, DTypeLike, TensorShape, as_dtype
from gviz.static.variables import Variable

ACCEPTED = ("eager_execution", "resource_variables", "control_flow_v2", "v2_behavior", "v2_tensorshape")
"""Parts of TensorFlow 2 that a script may disable: there is graph mode only."""

globals().update(dtypes.DTYPES | functions.FUNCTIONS | variables.FUNCTIONS | arrays.FUNCTIONS | COMPOSITIONS)
globals().update({f"disable_{name}": lambda: None for name in ACCEPTED}, executing_eagerly=lambda: False)
double, half = dtypes.DTYPES["float64"], dtypes.DTYPES["float16"]


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    name: str | None = None,
    preferred_dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
) -> Tensor:
    """Return a tensor as it is, a variable's value, anything else as a constant; it has the hint's dtype if it can."""
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    return convert(value, dtype, name, None if hint is None else as_dtype(hint))


def ConfigProto(  # noqa: N802 - TensorFlow's name
    *,
    allow_soft_placement: bool = False,
    log_device_placement: bool = False,
    intra_op_parallelism_threads: int = 0,
    inter_op_parallelism_threads: int = 0,
    device_count: dict[str, int] | None = None,
    gpu_options: object = None,
) -> SimpleNamespace:
    """Return the settings of a session, which change nothing: there is one machine."""
    return SimpleNamespace(**{**locals(), "gpu_options": gpu_options or GPUOptions()})


def GPUOptions(  # noqa: N802 - TensorFlow's name
    *, per_process_gpu_memory_fraction: float = 0.0, allow_growth: bool = False, visible_device_list: str = ""
) -> SimpleNamespace:
    """Return the settings of a graphics processor, which is not used."""
    return SimpleNamespace(**locals())


def _part(name: str, **members: object) -> Any:
    """Return a part of ``tf.``, as ``tf.nn``; what it lacks is missing in TensorFlow's words, which are Python's."""
    module = ModuleType(f"tensorflow.{name}")
    vars(module).update(members)
    return module


nn = _part("nn", **(neural.NN | recurrent.RECURRENT), top_k=top_k)
math = _part("math", **(functions.FUNCTIONS | functions.NN), confusion_matrix=COMPOSITIONS["confusion_matrix"])
linalg = _part(
    "linalg", matmul=functions.matmul, eye=functions.FUNCTIONS["eye"], inv=functions.FUNCTIONS["matrix_inverse"]
)
random = _part(
    "random", normal=functions.random_normal, uniform=functions.random_uniform,
    truncated_normal=functions.truncated_normal,
    set_random_seed=functions.FUNCTIONS["set_random_seed"],
)  # fmt: skip
train = _part("train", **(optimizers.OPTIMIZERS | own_layers.DECAYS | variables.TRAIN | SAVING))
summary = _part("summary", **SUMMARY)
layers = _part("layers", **own_layers.LAYERS)
losses = _part("losses", **neural.LOSSES, Reduction=_part("losses.Reduction", **neural.REDUCTIONS))
initializers = _part(
    "initializers", **{name.removesuffix("_initializer"): one for name, one in variables.INITIALIZERS.items()}
)
contrib = _part("contrib", layers=_part("contrib.layers", **own_layers.CONTRIB))
compat = _part("compat", v1=sys.modules[__name__], __path__=[])  # a package, for import tensorflow.compat.v1
GraphKeys = _part(
    "GraphKeys", GLOBAL_VARIABLES="variables", TRAINABLE_VARIABLES="trainable_variables",
    LOCAL_VARIABLES="local_variables",
    MODEL_VARIABLES="model_variables", SUMMARIES="summaries", LOSSES="losses",
    REGULARIZATION_LOSSES="regularization_losses",
    UPDATE_OPS="update_ops", GLOBAL_STEP="global_step", TRAIN_OP="train_op",
)  # fmt: skip
UnconnectedGradients = _part("UnconnectedGradients", NONE="none", ZERO="zero")
logging = _part("logging", set_verbosity=lambda level: None, ERROR=40, WARN=30, INFO=20, FATAL=50)
clip_by_norm, clip_by_global_norm, global_norm = neural.clip_by_norm, neural.clip_by_global_norm, neural.global_norm
Summary = SUMMARY["Summary"]
newaxis = None
__version__ = "1.15 (gviz)"


def __getattr__(name: str) -> Any:
    """Say in TensorFlow's words what is missing."""
    raise AttributeError(f"module 'tensorflow' has no attribute '{name}'")
