"""``tf.layers``: layers with variables of their own, which have TensorFlow's names; and decaying learning rates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from gviz.numbers.words import refuse
from gviz.static.build import cast, check_others, common_graph, constant, convert, make, operation_scope
from gviz.static.control import cond
from gviz.static.functions import FUNCTIONS
from gviz.static.graph import Tensor, TensorLike
from gviz.static.neural import NN, conv2d, dropout, pool, sizes_of
from gviz.static.types import float32
from gviz.static.variables import (
    ASSIGNING,
    INITIALIZERS,
    Initializer,
    Regularizer,
    Variable,
    get_variable,
    variable_scope,
)

UNUSED = dict.fromkeys(("activity_regularizer", "kernel_constraint", "bias_constraint"))


def own_variables(
    x: Tensor, shape: Sequence[int], units: int, options: dict[str, Any], trainable: bool
) -> list[Tensor | None]:
    """Return a layer's kernel and bias, None for no bias; ``options`` has the initializers and regularizers."""
    dtype = x.dtype.base_dtype
    kernel = get_variable(
        "kernel", shape, dtype, options["kernel_initializer"], options["kernel_regularizer"], trainable
    )
    if not options["use_bias"]:
        return [kernel._read, None]
    first = options["bias_initializer"] or INITIALIZERS["zeros_initializer"]()
    return [kernel._read, get_variable("bias", [units], dtype, first, options["bias_regularizer"], trainable)._read]


def known_length(x: Tensor, layer: str) -> int:
    """Return the length of the last axis; ValueError if it is unknown."""
    length = x.shape[-1].value if x.shape.rank else None
    refuse(
        length is None,
        f"The last dimension of the inputs to a {layer} layer should be defined. Found None.",
        ValueError,
    )
    return int(length or 0)


def activated(x: Tensor, bias: Tensor | None, activation: Callable[[Tensor], Tensor] | None) -> Tensor:
    """Return a layer's result: with its bias, through its activation."""
    whole = x if bias is None else NN["bias_add"](x, bias)
    return whole if activation is None else activation(whole)


def dense(
    inputs: TensorLike,
    units: int,
    activation: Callable[[Tensor], Tensor] | None = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
    **others: object,
) -> Tensor:
    """Return ``activation(inputs @ kernel + bias)``, along the last axis."""
    check_others("tf.layers.dense", others, **UNUSED)
    options = {
        "use_bias": use_bias, "kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer,
        "kernel_regularizer": kernel_regularizer, "bias_regularizer": bias_regularizer,
    }  # fmt: skip
    x = convert(inputs)
    length = known_length(x, "Dense")
    with variable_scope(name, "dense", reuse=reuse):
        kernel, bias = own_variables(x, [length, units], units, options, trainable)
        if x.shape.rank == 2:
            whole = FUNCTIONS["matmul"](x, kernel)
        else:
            flat = FUNCTIONS["matmul"](FUNCTIONS["reshape"](x, [-1, length]), kernel)
            outer = x.shape.as_list()[:-1]
            size = FUNCTIONS["shape"](x)
            lengths = [size[i] if n is None else n for i, n in enumerate(outer)]
            whole = FUNCTIONS["reshape"](flat, [*lengths, units])
            whole.set_shape([*outer, units])
        return activated(whole, bias, activation)


def convolution_layer(
    inputs: TensorLike,
    filters: int,
    kernel_size: int | Sequence[int],
    strides: int | Sequence[int] = (1, 1),
    padding: str = "valid",
    data_format: str = "channels_last",
    dilation_rate: int | Sequence[int] = (1, 1),
    activation: Callable[[Tensor], Tensor] | None = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
    **others: object,
) -> Tensor:
    """Return ``activation(convolution of inputs + bias)``."""
    check_others("tf.layers.conv2d", others, **UNUSED)
    check_channels("tf.layers.conv2d()", data_format)
    options = {
        "use_bias": use_bias, "kernel_initializer": kernel_initializer, "bias_initializer": bias_initializer,
        "kernel_regularizer": kernel_regularizer, "bias_regularizer": bias_regularizer,
    }  # fmt: skip
    x = convert(inputs)
    size = sizes_of("tf.layers.conv2d()", kernel_size)[1:3]
    with variable_scope(name, "conv2d", reuse=reuse):
        kernel, bias = own_variables(x, [*size, known_length(x, "Conv2D"), filters], filters, options, trainable)
        return activated(conv2d(x, kernel, strides, padding, dilations=dilation_rate), bias, activation)


def check_channels(function: str, data_format: str) -> None:
    """Raise ValueError if channels do not come last."""
    refuse(
        data_format != "channels_last",
        f"gviz has no data_format {data_format} for {function}: channels come last",
        ValueError,
    )


def pooling(type: str) -> Callable[..., Tensor]:
    """Return ``max_pooling2d`` or ``average_pooling2d``."""
    default = "max_pooling2d" if type == "MaxPool" else "average_pooling2d"

    def build(
        inputs: TensorLike,
        pool_size: int | Sequence[int],
        strides: int | Sequence[int],
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
    ) -> Tensor:
        check_channels(f"tf.layers.{default}()", data_format)
        with variable_scope(name, default):
            return pool(type, inputs, pool_size, strides, padding)

    return build


def flatten(inputs: TensorLike, name: str | None = None, data_format: str = "channels_last") -> Tensor:
    """Return a tensor with all but the first axis made one."""
    check_channels("tf.layers.flatten()", data_format)
    x = convert(inputs)
    inner = x.shape.as_list()[1:]
    with variable_scope(name, "flatten"):
        if None in inner:
            return FUNCTIONS["reshape"](x, [FUNCTIONS["shape"](x)[0], -1])
        flat = make("Reshape", [x, constant([-1, int(np.prod(inner))], "int32")])
        flat.set_shape([x.shape[0].value, int(np.prod(inner))])
        return flat


def dropout_layer(
    inputs: TensorLike,
    rate: TensorLike = 0.5,
    noise_shape: TensorLike = None,
    seed: int | None = None,
    training: bool | Tensor = False,
    name: str | None = None,
) -> Tensor:
    """Return a tensor with some elements 0, by chance, while ``training``, which may be a tensor."""
    x = convert(inputs)
    with variable_scope(name, "dropout"):

        def thinned() -> Tensor:
            return dropout(x, noise_shape=noise_shape, seed=seed, rate=rate)

        return while_training(training, thinned, lambda: FUNCTIONS["identity"](x))


def batch_normalization_layer(
    inputs: TensorLike,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer | None = None,
    gamma_initializer: Initializer | None = None,
    moving_mean_initializer: Initializer | None = None,
    moving_variance_initializer: Initializer | None = None,
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    beta_constraint: None = None,
    gamma_constraint: None = None,
    training: bool | Tensor = False,
    trainable: bool = True,
    name: str | None = None,
    reuse: object = None,
    **others: object,
) -> Tensor:
    """Return a tensor with mean 0 and variance 1 along all axes but the last, then scaled and shifted.

    Mean and variance are those of the inputs while ``training``, else the moving ones. What brings these up to date is
    in the collection ``tf.GraphKeys.UPDATE_OPS``, and a training step has to run it.
    """
    others |= {"beta_constraint": beta_constraint, "gamma_constraint": gamma_constraint}
    check_others("tf.layers.batch_normalization", others, **NOT_NORMALIZED)
    x = convert(inputs)
    refuse(
        x.shape.rank is None or axis not in (-1, x.shape.rank - 1),
        f"gviz has no axis {axis} for tf.layers.batch_normalization(), only the last one, and inputs of a known rank",
        ValueError,
    )
    length, dtype = known_length(x, "BatchNormalization"), x.dtype.base_dtype
    zero, one = (INITIALIZERS[f"{word}_initializer"]() for word in ("zeros", "ones"))

    def variable(label: str, first: Initializer, regularizer: Regularizer | None, learned: bool) -> Any:
        return get_variable(label, [length], dtype, first, regularizer, trainable and learned)

    with variable_scope(name, "batch_normalization", reuse=reuse):
        gamma = variable("gamma", gamma_initializer or one, gamma_regularizer, True)._read if scale else None
        beta = variable("beta", beta_initializer or zero, beta_regularizer, True)._read if center else None
        averages = [
            variable("moving_mean", moving_mean_initializer or zero, None, False),
            variable("moving_variance", moving_variance_initializer or one, None, False),
        ]
        mean, variance = (average._read for average in averages)
        if training is not False:
            values = NN["moments"](x, list(range((x.shape.rank or 1) - 1)))
            mean, variance = (
                while_training(training, itself(v), itself(a._read)) for a, v in zip(averages, values, strict=True)
            )
            pairs = [(averages[0], mean), (averages[1], variance)]
            if x.shape.rank == 4:  # TensorFlow's operation for images, which counts one example less here
                count: Any = FUNCTIONS["truediv"](cast(FUNCTIONS["size"](x), dtype), float(length))
                pairs[1] = averages[1], variance * (count / (count - 1.0))
            for average, value in pairs:
                update = while_training(
                    training, partial(updated_average, average, value, momentum), itself(average._read)
                )
                x.graph.add_to_collection("update_ops", update.op)
        result = NN["batch_normalization"](x, mean, variance, beta, gamma, epsilon)
        result.set_shape(x.shape)
        return result


NOT_NORMALIZED = {
    **dict.fromkeys(("renorm_clipping", "fused", "virtual_batch_size", "adjustment")),
    **dict.fromkeys(("beta_constraint", "gamma_constraint")), "renorm": False, "renorm_momentum": 0.99,
}  # fmt: skip
"""Arguments of TensorFlow's batch normalization that gviz has no use for, with their defaults."""


def itself(tensor: Tensor) -> Callable[[], Tensor]:
    """Return a function that returns a tensor."""
    return lambda: tensor


def while_training(training: bool | Tensor, one: Callable[[], Tensor], other: Callable[[], Tensor]) -> Tensor:
    """Return what holds while training, or the other; for a tensor the run decides."""
    if isinstance(training, Tensor):
        return cond(training, one, other)
    return one() if training else other()


def updated_average(average: Variable, value: Tensor, momentum: float) -> Tensor:
    """Return an operation that brings a moving average nearer to a value."""
    with average.graph.name_scope("AssignMovingAvg") as scope:
        share = constant(1.0 - momentum, value.dtype, name="decay")
        return ASSIGNING["assign_sub"](average, (average._read - value) * share, name=scope)


def decay(name: str, factor: Callable[..., Any]) -> Callable[..., Tensor]:
    """Return a learning rate that decays: the factor is one of the decay rate and of how many periods have passed."""

    def build(
        learning_rate: TensorLike,
        global_step: TensorLike,
        decay_steps: TensorLike,
        decay_rate: TensorLike,
        staircase: bool = False,
        name: str | None = name,
    ) -> Tensor:
        with operation_scope(common_graph(global_step), name, "decay") as scope:
            rate = convert(learning_rate, name="initial_learning_rate")
            dtype = rate.dtype.base_dtype
            steps, share = cast(decay_steps, dtype), convert(decay_rate, dtype, "Cast_1/x")
            periods = FUNCTIONS["truediv"](cast(global_step, dtype), steps)
            return factor(rate, share, FUNCTIONS["floor"](periods) if staircase else periods, scope)

    return build


DECAYS: dict[str, Callable[..., Tensor]] = {
    "exponential_decay": decay(
        "ExponentialDecay",
        lambda rate, share, periods, scope: FUNCTIONS["multiply"](rate, FUNCTIONS["pow"](share, periods), scope),
    ),
    "natural_exp_decay": decay(
        "NaturalExpDecay",
        lambda rate, share, periods, scope: FUNCTIONS["multiply"](rate, FUNCTIONS["exp"](-share * periods), scope),
    ),
    "inverse_time_decay": decay(
        "InverseTimeDecay", lambda rate, share, periods, scope: FUNCTIONS["divide"](rate, 1.0 + share * periods, scope)
    ),
}


def contrib_flatten(inputs: TensorLike, outputs_collections: None = None, scope: str | None = None) -> Tensor:
    """Return ``flatten`` in a scope of its own."""
    with operation_scope(common_graph(inputs), scope, "Flatten"):
        return flatten(inputs)


LAYERS: dict[str, Callable[..., Tensor]] = {
    "dense": dense, "conv2d": convolution_layer, "flatten": flatten, "dropout": dropout_layer,
    "batch_normalization": batch_normalization_layer, "max_pooling2d": pooling("MaxPool"), "average_pooling2d": pooling("AvgPool"),
}  # fmt: skip
CONTRIB: dict[str, Callable[..., Any]] = {
    "flatten": contrib_flatten,
    "xavier_initializer": lambda uniform=True, seed=None, dtype=float32: (
        INITIALIZERS[f"glorot_{'uniform' if uniform else 'normal'}_initializer"](seed, dtype)
    ),
    "l2_regularizer": lambda scale, scope=None: lambda weights: FUNCTIONS["multiply"](
        constant(scale, weights.dtype.base_dtype, name="scale"), NN["l2_loss"](weights), scope or "l2_regularizer"
    ),
}  # fmt: skip
"""``tf.layers``, and what of ``tf.contrib.layers`` is made of the same."""
