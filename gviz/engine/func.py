"""``torch.func`` without ``vmap`` and forward mode: gradients of functions, and modules called with other parameters.

Source: https://docs.pytorch.org/docs/2.13/func.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any

from gviz.autograd.modes import enable_grad
from gviz.autograd.requests import grad as gradients
from gviz.autograd.tensor import Tensor
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse

__all__ = ["functional_call", "grad", "grad_and_value"]

VALUE = "grad_and_value(f)(*args): "


def mapped(function: Callable[..., Any], tree: Any) -> Any:
    """Return nested lists, tuples and dicts with a function of each thing in them."""
    if isinstance(tree, dict):
        return type(tree)((key, mapped(function, value)) for key, value in tree.items())
    return type(tree)(mapped(function, one) for one in tree) if type(tree) in (list, tuple) else function(tree)


def begun(tensor: Tensor, leaves: list[Any]) -> Any:
    """Return a tensor to differentiate by: a new leaf, or what stands for a tensor that has a graph behind it."""
    refuse(
        not isinstance(tensor, Tensor), f"Thing passed to transform API must be Tensor, got {type(tensor)}", ValueError
    )
    leaves.append(tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_())
    return leaves[-1]


def leads_on(tensor: Tensor, inputs: list[Any]) -> bool:
    """Return whether the graph of a tensor leads to another leaf than these inputs, which are views or new leaves."""
    own, nodes, seen = {id(one) for one in inputs}, [tensor.grad_fn], set[Any]()
    while nodes:
        node = nodes.pop()
        if node is not None and node not in seen:
            seen.add(node)
            nodes += [edge[0] for edge in node.next_functions]
            if hasattr(node, "variable") and id(node.variable) not in own:
                return True
    return tensor.is_leaf and tensor.requires_grad and id(tensor) not in own


def grad_and_value(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradients by some of its arguments, and what the given function gives."""

    @functools.wraps(func)
    def run(*args: object, **kwargs: object) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        inputs, arguments = list[Any](), list(args)
        with enable_grad():
            for place in places:
                arguments[place] = mapped(lambda one: begun(one, inputs), arguments[place])
            value, aux = func(*arguments, **kwargs) if has_aux else (func(*arguments, **kwargs), None)
            refuse(not isinstance(value, Tensor), f"{VALUE}Expected f(*args) to return a Tensor, got {type(value)}")
            refuse(
                value.dim(),
                f"{VALUE}Expected f(*args) to return a scalar Tensor, got tensor with {value.dim()} dims. Maybe you "
                "wanted to use the vjp or jacrev APIs instead?",
            )
            several = gradients(value, inputs, create_graph=True, allow_unused=True) if value.requires_grad else ()
        grads_left = iter(
            [one.new_zeros(one.shape) if slopes is None else slopes for slopes, one in zip_longest(several, inputs)]
        )
        slopes = tuple(mapped(lambda _: next(grads_left), arguments[place]) for place in places)
        result = (slopes if isinstance(argnums, tuple) else slopes[0]), ((value, aux) if has_aux else value)
        return mapped(
            lambda one: one.detach() if isinstance(one, Tensor) and not leads_on(one, inputs) else one, result
        )

    return run


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradients by some of its arguments."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: object, **kwargs: object) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return run


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: object = (),
    kwargs: dict[str, Any] | None = None,
) -> Any:
    """Call a module with other parameters and buffers, which it has for the time of the call."""
    dicts = parameter_and_buffer_dicts
    values = {name: value for one in ((dicts,) if isinstance(dicts, dict) else dicts) for name, value in one.items()}
    own = dict(module.members("_parameters", remove_duplicate=False)) | dict(
        module.members("_buffers", remove_duplicate=False)
    )
    if unexpected := [name for name in values if name not in own]:
        raise KeyError(unexpected[0])
    values = {
        name: values[one] for one in values for name in own if own[name] is own[one]
    } | values  # weights that are shared
    before = []
    try:
        for name, value in values.items():
            owner, _, last = name.rpartition(".")
            home = module.get_submodule(owner)
            tensors = home._parameters if last in home._parameters else home._buffers
            before.append((tensors, last, tensors[last]))
            tensors[last] = value
        return module(*(args if isinstance(args, tuple) else (args,)), **(kwargs or {}))
    finally:
        for tensors, last, value in reversed(before):
            tensors[last] = value


__getattr__ = absent("torch.func")
