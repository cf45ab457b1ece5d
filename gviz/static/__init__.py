"""Static graphs as TensorFlow 1 builds them: define first, run later.

``from gviz import static as tf`` reads like TensorFlow 1::

    a, b = tf.placeholder(tf.float32, name="a"), tf.placeholder(tf.float32, name="b")
    y = tf.log(a) * b
    with tf.Session() as sess:
        sess.run([y, *tf.gradients(y, [a, b])], {a: 2, b: 3})

How a value comes about:

1. A function of :mod:`~gviz.static.operations` turns its arguments into tensors (``convert.py``) and asks the graph for an operation.
2. :meth:`gviz.static.graph.Graph.create_op` names it (``naming.py``) and works out its dtypes and shapes (``table.py``, ``shapes.py``). Nothing
   is computed.
3. :func:`gviz.static.gradients.gradients` adds operations for derivatives: the formulas are those of the dynamic engine's table.
4. :meth:`gviz.static.session.Session.run` looks up fetches and feeds, and makes a :class:`~gviz.static.plan.Plan` of them the first time: a flat
   function over numpy. Each later run calls it.

What TensorBoard shows is written by ``events.py``. Loops and branches are in ``control.py``, their derivatives in ``loop_gradient.py``, variables in ``variables.py``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from gviz.static import dtypes, errors, operations, variables
from gviz.static.control import cond, while_loop
from gviz.static.convert import constant, convert
from gviz.static.dtypes import DType, as_dtype
from gviz.static.events import FileWriter
from gviz.static.function import function
from gviz.static.gradients import gradients
from gviz.static.graph import Graph, Operation, Tensor, get_default_graph, reset_default_graph
from gviz.static.operations import (
    add_n, argmax, cast, clip_by_value, concat, control_dependencies, expand_dims, eye, fill, gather, group, matmul, name_scope,
    no_op, placeholder, placeholder_with_default, random_normal, random_uniform, rank, reshape, shape, size, squeeze, stack,
    transpose, unstack, where,
)  # fmt: skip
from gviz.static.session import InteractiveSession, Session, get_default_session
from gviz.static.shapes import TensorShape
from gviz.static.variables import (
    Variable, assign, assign_add, assign_sub, get_variable, global_variables, global_variables_initializer, trainable_variables,
    variables_initializer,
)  # fmt: skip

globals().update(dtypes.DTYPES)
globals()["bool"] = dtypes.bool_
double, half = dtypes.DTYPES["float64"], dtypes.DTYPES["float16"]

add, subtract, multiply, divide = (
    operations.binary(*names) for names in (("AddV2", "Add"), ("Sub", "Sub"), ("Mul", "Mul"), ("RealDiv", "truediv"))
)
pow, maximum, minimum, floordiv, floormod, squared_difference = (
    operations.binary(*names)
    for names in (
        ("Pow", "Pow"), ("Maximum", "Maximum"), ("Minimum", "Minimum"), ("FloorDiv", "floordiv"), ("FloorMod", "FloorMod"),
        ("SquaredDifference", "SquaredDifference"),
    )
)  # fmt: skip
mod, truediv, realdiv, floor_div = (
    floormod,
    divide,
    operations.binary("RealDiv", "RealDiv"),
    operations.binary("FloorDiv", "FloorDiv"),
)
equal, not_equal, less, less_equal, greater, greater_equal, logical_and, logical_or = (
    operations.binary(name, name)
    for name in ("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual", "LogicalAnd", "LogicalOr")
)
log, exp, sqrt, rsqrt, square, negative, abs, sign, floor, ceil, sin, cos, tan, tanh, sigmoid, log1p, expm1, erf = (
    operations.unary(name)
    for name in (
        "Log", "Exp", "Sqrt", "Rsqrt", "Square", "Neg", "Abs", "Sign", "Floor", "Ceil", "Sin", "Cos", "Tan", "Tanh", "Sigmoid",
        "Log1p", "Expm1", "Erf",
    )
)  # fmt: skip
asin, acos, atan, sinh, cosh, reciprocal, round, logical_not, is_nan, identity, stop_gradient = (
    operations.unary(name)
    for name in (
        "Asin",
        "Acos",
        "Atan",
        "Sinh",
        "Cosh",
        "Reciprocal",
        "Rint",
        "LogicalNot",
        "IsNan",
        "Identity",
        "StopGradient",
    )
)
reduce_sum, reduce_mean, reduce_max, reduce_min, reduce_prod, reduce_all, reduce_any = (
    operations.reduction(name) for name in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any")
)
zeros, ones = operations.filled("zeros", 0), operations.filled("ones", 1)
zeros_like = operations.filled_like("zeros_like", 0, "ZerosLike")
ones_like = operations.filled_like("ones_like", 1, "OnesLike")
range = operations.range_
convert_to_tensor = convert

nn = SimpleNamespace(
    relu=operations.unary("Relu"), sigmoid=sigmoid, tanh=tanh, softplus=operations.unary("Softplus"), elu=operations.unary("Elu"),
    leaky_relu=operations.leaky_relu, softmax=operations.softmax("Softmax"), log_softmax=operations.softmax("LogSoftmax"),
    softmax_cross_entropy_with_logits=operations.cross_entropy, softmax_cross_entropy_with_logits_v2=operations.cross_entropy,
    bias_add=operations.binary("BiasAdd", "BiasAdd"),
)  # fmt: skip
train = SimpleNamespace(GradientDescentOptimizer=variables.GradientDescentOptimizer)
summary = SimpleNamespace(FileWriter=FileWriter)
initializers = SimpleNamespace(global_variables=global_variables_initializer)
random = SimpleNamespace(normal=random_normal, uniform=random_uniform)
math = SimpleNamespace(
    log=log, exp=exp, sqrt=sqrt, square=square, add=add, subtract=subtract, multiply=multiply, divide=divide, pow=pow, abs=abs,
    sigmoid=sigmoid, tanh=tanh, reduce_sum=reduce_sum, reduce_mean=reduce_mean, reduce_max=reduce_max, reduce_min=reduce_min,
    maximum=maximum, minimum=minimum, sin=sin, cos=cos, negative=negative, softplus=nn.softplus, log1p=log1p,
)  # fmt: skip
linalg = SimpleNamespace(matmul=matmul, eye=eye)
GraphKeys = SimpleNamespace(GLOBAL_VARIABLES=variables.GLOBAL, TRAINABLE_VARIABLES=variables.TRAINABLE)
UnconnectedGradients = SimpleNamespace(NONE="none", ZERO="zero")
logging = SimpleNamespace(set_verbosity=lambda level: None, ERROR=40, WARN=30, INFO=20, FATAL=50)
newaxis = None
__version__ = "1.15 (gviz)"


def executing_eagerly() -> Any:
    """No: this is graph mode."""
    return False


def disable_v2_behavior() -> None:
    """Accepted: there is graph mode only."""


disable_eager_execution = disable_v2_tensorshape = disable_resource_variables = disable_control_flow_v2 = disable_v2_behavior
