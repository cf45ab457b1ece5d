"""What one step of each optimiser does with arrays, as TensorFlow's operations have it.

A step takes a variable's value, what is kept beside it, then the other inputs in the operation's order. It returns the
new values of the variable and of what is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gviz.static.types import Array

Values: TypeAlias = "tuple[Array, ...]"


def momentum(old: Array, velocity: Array, rate: Array, grad: Array, decay: Array, use_nesterov: bool = False) -> Values:
    """Go on in the direction of earlier steps; with ``use_nesterov`` with the gradient of now once more."""
    velocity = velocity * decay + grad
    return old - (rate * grad + rate * decay * velocity if use_nesterov else rate * velocity), velocity


def adagrad(old: Array, total: Array, rate: Array, grad: Array) -> Values:
    """Divide by the root of all squares so far."""
    total = total + grad * grad
    return old - rate * grad / np.sqrt(total), total


def adadelta(old: Array, squares: Array, steps: Array, rate: Array, rho: Array, epsilon: Array, grad: Array) -> Values:
    """Make steps as large as earlier ones were."""
    squares = squares * rho + grad * grad * (1 - rho)
    step = np.sqrt(steps + epsilon) / np.sqrt(squares + epsilon) * grad
    return old - rate * step, squares, steps * rho + step * step * (1 - rho)


def rms_prop(
    old: Array, squares: Array, velocity: Array, rate: Array, rho: Array, decay: Array, epsilon: Array, grad: Array
) -> Values:
    """Divide by the root of the mean square of late."""
    squares = squares + (grad * grad - squares) * (1 - rho)
    velocity = velocity * decay + rate * grad / np.sqrt(squares + epsilon)
    return old - velocity, squares, velocity


def centered_rms_prop(old: Array, mean: Array, squares: Array, velocity: Array, *others: Array) -> Values:
    """Divide by the root of the variance of late."""
    rate, rho, decay, epsilon, grad = others
    squares = squares + (grad * grad - squares) * (1 - rho)
    mean = mean + (grad - mean) * (1 - rho)
    velocity = velocity * decay + rate * grad / np.sqrt(squares - mean * mean + epsilon)
    return old - velocity, mean, squares, velocity


def adam(old: Array, mean: Array, squares: Array, *others: Array) -> Values:
    """Divide the mean of late by the root of the mean square of late."""
    power1, power2, rate, beta1, beta2, epsilon, grad = others
    mean = mean + (grad - mean) * (1 - beta1)
    squares = squares + (grad * grad - squares) * (1 - beta2)
    rate = rate * np.sqrt(1 - power2) / (1 - power1)
    return old - mean * rate / (np.sqrt(squares) + epsilon), mean, squares


UPDATES: dict[str, Callable[..., Values]] = {
    "ApplyMomentum": momentum, "ApplyAdagrad": adagrad,
    "ApplyAdadelta": adadelta,
    "ApplyRMSProp": rms_prop, "ApplyCenteredRMSProp": centered_rms_prop, "ApplyAdam": adam,
}  # fmt: skip
"""The steps, by the types of the operations."""
