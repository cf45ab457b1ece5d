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
from types import ModuleType
from typing import Any

from gviz.static import errors, functions, types as dtypes, variables
from gviz.static.build import constant, convert
from gviz.static.control import cond, while_loop
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Operation, Tensor, TensorLike, get_default_graph, reset_default_graph
from gviz.static.out import FileWriter
from gviz.static.session import InteractiveSession, Session, function, get_default_session
from gviz.static.types import Dimension, DType, DTypeLike, TensorShape, as_dtype
from gviz.static.variables import Variable

ACCEPTED = ("eager_execution", "resource_variables", "control_flow_v2", "v2_behavior", "v2_tensorshape")
"""Parts of TensorFlow 2 that a script may disable: there is graph mode only."""

globals().update(dtypes.DTYPES | functions.FUNCTIONS | variables.FUNCTIONS)
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


def _part(name: str, **members: object) -> Any:
    """Return a part of ``tf.``, as ``tf.nn``; what it lacks is missing in TensorFlow's words, which are Python's."""
    module = ModuleType(f"tensorflow.{name}")
    vars(module).update(members)
    return module


nn = _part("nn", **functions.NN)
math = _part("math", **(functions.FUNCTIONS | functions.NN))
linalg = _part("linalg", matmul=functions.matmul, eye=functions.FUNCTIONS["eye"])
random = _part("random", normal=functions.random_normal, uniform=functions.random_uniform)
train = _part("train", GradientDescentOptimizer=variables.GradientDescentOptimizer)
summary = _part("summary", FileWriter=FileWriter)
compat = _part("compat", v1=sys.modules[__name__], __path__=[])  # a package, for import tensorflow.compat.v1
GraphKeys = _part("GraphKeys", GLOBAL_VARIABLES=variables.GLOBAL, TRAINABLE_VARIABLES=variables.TRAINABLE)
UnconnectedGradients = _part("UnconnectedGradients", NONE="none", ZERO="zero")
logging = _part("logging", set_verbosity=lambda level: None, ERROR=40, WARN=30, INFO=20, FATAL=50)
newaxis = None
__version__ = "1.15 (gviz)"


def __getattr__(name: str) -> Any:
    """Say in TensorFlow's words what is missing."""
    raise AttributeError(f"module 'tensorflow' has no attribute '{name}'")
