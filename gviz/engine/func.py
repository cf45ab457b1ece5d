"""``torch.func``: gradients and Jacobians of functions, functions of batches, modules called with other parameters.

``vmap`` calls the function once for each example and stacks the results; what is forward mode in PyTorch is a second
backward pass here: the numbers are PyTorch's, the graphs behind them are not.

Source: https://docs.pytorch.org/docs/2.13/func.html
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, TypeAlias

from gviz.autograd.modes import enable_grad, mode
from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor
from gviz.engine import autograd, random
from gviz.engine.nn.module import Module
from gviz.numbers.words import absent, refuse, refuse_any

__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "stack_module_state", "vjp",
    "vmap",
]  # fmt: skip

Tree: TypeAlias = Any
"""A tensor, or nested lists, tuples and dicts of tensors."""
VALUE = "grad_and_value(f)(*args): "


def mapped(function: Callable[..., Any], tree: Tree) -> Any:
    """Return nested lists, tuples and dicts with a function of each thing in them."""
    if isinstance(tree, dict):
        return type(tree)((key, mapped(function, value)) for key, value in tree.items())
    if not isinstance(tree, list | tuple):
        return function(tree)
    items = [mapped(function, one) for one in tree]
    return type(tree)(*items) if hasattr(tree, "_fields") else type(tree)(items)


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
        inputs, arguments, value, aux = inputs_of(functools.partial(func, **kwargs), args, places, has_aux)
        refuse(not isinstance(value, Tensor), f"{VALUE}Expected f(*args) to return a Tensor, got {type(value)}")
        refuse(
            value.dim(),
            f"{VALUE}Expected f(*args) to return a scalar Tensor, got tensor with {value.dim()} dims. Maybe you "
            "wanted to use the vjp or jacrev APIs instead?",
        )
        grads_left = iter(slopes_of(value, inputs))
        slopes = tuple(mapped(lambda _: next(grads_left), arguments[place]) for place in places)
        result = (slopes if isinstance(argnums, tuple) else slopes[0]), ((value, aux) if has_aux else value)
        return outside(result, inputs)

    return run


def grad(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Any:
    """Return a function that gives the gradients by some of its arguments."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def run(*args: object, **kwargs: object) -> Any:
        result, value = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return run


def inputs_of(func: Callable[..., Any], args: Sequence[Any], places: Sequence[int], has_aux: bool) -> Any:
    """Return the new leaves for some arguments, the arguments with them, what the function gives for these, and aside."""
    count, leaves, arguments = len(args), list[Any](), list(args)
    refuse_any(
        {
            **{f"Got argnum={i}, but only {count} positional inputs": not -count <= i < count for i in places},
            f"argnums elements must be unique, got {tuple(places)}": len({i % max(count, 1) for i in places})
            < len(places),
        }
    )
    with enable_grad():
        for place in places:
            arguments[place] = mapped(lambda one: begun(one, leaves), arguments[place])
        value, aux = func(*arguments) if has_aux else (func(*arguments), [])
    outputs_of(aux, "Expected tensors")
    return leaves, arguments, value, aux


def leaves_of(tree: Tree) -> list[Any]:
    """Return what is in nested lists, tuples and dicts, one after the other."""
    found: list[Any] = []
    mapped(found.append, tree)
    return found


def outputs_of(tree: Tree, expected: str) -> list[Tensor]:
    """Return the tensors that a function gave. RuntimeError: it gave something else."""
    for one in (found := leaves_of(tree)):
        refuse(not isinstance(one, Tensor), f"{expected}, got unsupported type {type(one)}")
    return found


VJP = "vjp(f, *primals): expected f(*primals) to return only tensors"


def outside(tree: Tree, leaves: list[Any]) -> Any:
    """Return results without the graph of a transform, but for what lies behind its inputs."""
    return mapped(
        lambda one: (
            one.detach() if isinstance(one, Tensor) and not (mode.grad_enabled and leads_on(one, leaves)) else one
        ),
        tree,
    )


def slopes_of(output: Tensor, leaves: list[Any], weights: Tensor | None = None) -> list[Any]:
    """Return the gradients of a tensor by the leaves, zeros where it does not depend on one."""
    slopes = (
        autograd.grad(output, leaves, weights, create_graph=True, allow_unused=True) if output.requires_grad else ()
    )
    return [x.new_zeros(x.shape) if one is None else one for one, x in zip_longest(slopes, leaves)]


def jacrev(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    *,
    has_aux: bool = False,
    chunk_size: int | None = None,
) -> Any:
    """Return a function that gives the Jacobian: for each output and each chosen argument, of both shapes."""

    @functools.wraps(func)
    def run(*args: Tree) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        leaves, arguments, value, aux = inputs_of(func, args, places, has_aux)
        outputs_of(value, VJP)

        def jacobian(output: Tensor) -> Any:
            with enable_grad():
                rows = [slopes_of(one, leaves) for one in output.reshape(-1).unbind()]
                columns = [
                    call["stack"](list(column), 0).reshape((*output.shape, *x.shape))
                    for column, x in zip(zip(*rows, strict=True), leaves, strict=True)
                ]
            blocks = iter(columns)
            parts = tuple(mapped(lambda _: next(blocks), arguments[place]) for place in places)
            return parts if isinstance(argnums, tuple) else parts[0]

        result = outside(mapped(jacobian, value), leaves)
        return (result, outside(aux, leaves)) if has_aux else result

    return run


def jacfwd(
    func: Callable[..., Any],
    argnums: int | tuple[int, ...] = 0,
    has_aux: bool = False,
    *,
    randomness: str = "error",
) -> Any:
    """Return a function that gives the Jacobian, as :func:`jacrev` does."""
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func: Callable[..., Any], argnums: int | tuple[int, ...] = 0) -> Any:
    """Return a function that gives the second derivatives: the Jacobian of the Jacobian."""
    return jacfwd(jacrev(func, argnums), argnums)


def vjp(func: Callable[..., Any], *primals: Tree, has_aux: bool = False) -> Any:
    """Return what a function gives, and a function from weights of its outputs to gradients of its inputs."""
    leaves, arguments, value, aux = inputs_of(func, primals, range(len(primals)), has_aux)
    outputs = outputs_of(value, VJP)

    def back(cotangents: Tree, retain_graph: bool = True, create_graph: bool | None = None) -> Any:
        weights = leaves_of(cotangents)
        for i, (weight, output) in enumerate(zip(weights, outputs, strict=True)):
            refuse(
                weight.shape != output.shape,
                f"Mismatch in shape: grad_output[{i}] has a shape of {weight.shape} and output[{i}] has a shape of "
                f"{output.shape}.",
            )
        with enable_grad():
            rows = [slopes_of(output, leaves, weight) for output, weight in zip(outputs, weights, strict=True)]
            sums = iter([sum(column[1:], start=column[0]) for column in zip(*rows, strict=True)])
        return outside(tuple(mapped(lambda _: next(sums), one) for one in arguments), leaves)

    result = outside(value, leaves)
    return (result, back, outside(aux, leaves)) if has_aux else (result, back)


def jvp(func: Callable[..., Any], primals: Tree, tangents: Tree, *, strict: bool = False, has_aux: bool = False) -> Any:
    """Return what a function gives, and how much that changes along the tangents: by two backward passes."""
    leaves, _, value, aux = inputs_of(func, primals, range(len(primals)), has_aux)
    outputs, directions = (
        outputs_of(value, "jvp(f, primals, tangents): expected f(*args) to return only tensors"),
        leaves_of(tangents),
    )
    for x, direction in zip(leaves, directions, strict=True):
        refuse(
            x.shape != direction.shape,
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size "
            f"{list(direction.shape)}.",
        )

    def change(output: Tensor) -> Any:
        with enable_grad():
            weights = output.detach().new_zeros(output.shape).requires_grad_()
            slopes = slopes_of(output, leaves, weights)
            total: Any = sum(((slope * one).sum() for slope, one in zip(slopes, directions, strict=True)), start=0)
            return slopes_of(total, [weights])[0]

    changes = iter([change(output) for output in outputs])
    result, moved = outside(value, leaves), outside(mapped(lambda _: next(changes), value), leaves)
    return (result, moved, outside(aux, leaves)) if has_aux else (result, moved)


def vmap(
    func: Callable[..., Any],
    in_dims: Tree = 0,
    out_dims: Tree = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Any:
    """Return a function of batches: the function is called once for each example, and the results are stacked."""
    refuse(
        randomness not in ("error", "different", "same"),
        f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}",
    )
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def run(*args: Tree, **kwargs: Tree) -> Any:
        refuse_any(
            {
                f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})": (
                    chunk_size is not None and chunk_size <= 0
                ),
                f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap "
                "over a function with no inputs. The latter is unsupported.": not args,
                f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially "
                f"nested) tuple matching the structure of inputs, got: {type(in_dims)}.": not isinstance(
                    in_dims, int | tuple
                ),
            },
            ValueError,
        )
        place = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): "
        dims = spread(in_dims, args, place, "inputs")
        every = zip(leaves_of(list(args)), dims, strict=True)
        known = [size for one, dim in every if (size := size_along(one, dim, place)) is not None]
        known += [size_along(one, 0, "") or 0 for one in leaves_of(kwargs) if isinstance(one, Tensor)]
        refuse(
            len({*known}) > 1,
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sorted({*known}, key=known.index)} for the mapped dimension",
            ValueError,
        )
        results = [one_example(func, args, dims, kwargs, i, randomness, i == known[0] - 1) for i in range(known[0])]
        for one in leaves_of(results[0]):
            refuse(
                not isinstance(one, Tensor),
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(one)}. Did you mean to set "
                "out_dims= to None for output?",
                ValueError,
            )
        columns = zip(*(leaves_of(result) for result in results), strict=True)
        outputs = results[0] if isinstance(results[0], tuple) else (results[0],)
        ends = spread(out_dims, outputs, f"vmap({name}, ..., out_dims={out_dims})(<inputs>): ", "outputs")
        stacked = iter(
            [
                column[0] if dim is None else call["stack"](list(column), dim)
                for column, dim in zip(columns, ends, strict=True)
            ]
        )
        return mapped(lambda _: next(stacked), results[0])

    return run


def spread(dims: Tree, values: Tree, place: str, what: str) -> list[Any]:
    """Return the dimension of each tensor in nested arguments, from one for all, or from some of the same structure."""
    if not isinstance(dims, tuple | list | dict):
        return [dims] * len(leaves_of(values))
    refuse(
        not isinstance(values, tuple | list | dict) or len(dims) != len(values),
        f"{place}{what.removesuffix('puts')}_dims is not compatible with the structure of `{what}`.",
        ValueError,
    )
    keys = dims if isinstance(dims, dict) else range(len(dims))
    return [dim for key in keys for dim in spread(dims[key], values[key], place, what)]


def size_along(value: Tree, dim: int | None, place: str) -> int | None:
    """Return how many examples a tensor has in its dimension; None if all examples share it."""
    if dim is None:
        return None
    refuse(
        not isinstance(value, Tensor),
        f"{place}Got in_dim={dim} for an input but the input is of type {type(value)}. We cannot vmap over non-Tensor "
        "arguments, please use None as the respective in_dim",
        ValueError,
    )
    refuse(
        not -value.dim() <= dim < value.dim(),
        f"{place}Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {value.dim()} so "
        f"expected in_dim to satisfy -{value.dim()} <= in_dim < {value.dim()}.",
        ValueError,
    )
    return int(value.shape[dim])


def one_example(
    func: Callable[..., Any],
    args: tuple[Any, ...],
    dims: list[Any],
    kwargs: dict[str, Any],
    i: int,
    randomness: str,
    last: bool,
) -> Any:
    """Return what the function gives for one example of the batch. RuntimeError: it draws random numbers, unasked."""
    before, rest = random.get_rng_state(), iter(dims)

    def example(one: Tensor) -> Any:
        dim = next(rest)
        return one if dim is None else call["select"](one, dim, i)

    values = [mapped(example, one) for one in args]
    words = {
        key: mapped(lambda x: call["select"](x, 0, i) if isinstance(x, Tensor) else x, v) for key, v in kwargs.items()
    }
    before_keep, mode.keep = mode.keep, mode.keep or not last
    try:
        result = func(*values, **words)
    finally:
        mode.keep = before_keep
    drew_unasked = randomness == "error" and not random.get_rng_state().equal(before)
    if drew_unasked or (randomness == "same" and not last):
        random.set_rng_state(before)
    refuse(
        drew_unasked,
        "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
        "randomness flags on vmap or perform the randomness operation out of vmap",
    )
    return result


def stack_module_state(models: Sequence[Module]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the parameters of several modules of one class, stacked as new leaves by name, and their buffers."""
    refuse(not models, "stack_module_state: Expected at least one model, got 0.")

    refuse(len({*map(type, models)}) > 1, "stack_module_state: Expected all models to be of the same class.")

    def stacked(home: str) -> dict[str, Any]:
        states = [dict(getattr(model, home)()) for model in models]
        return {
            key: call["stack"]([state[key].detach() for state in states], 0).requires_grad_(first.requires_grad)
            for key, first in states[0].items()
        }

    return stacked("named_parameters"), stacked("named_buffers")


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: object = (),
    kwargs: dict[str, Any] | None = None,
    *,
    strict: bool = False,
) -> Any:
    """Call a module with other parameters and buffers, which it has for the time of the call.

    RuntimeError: these are not its own, no less and no more, if that is to be (``strict``).
    """
    dicts = parameter_and_buffer_dicts
    given = {name: value for one in ((dicts,) if isinstance(dicts, dict) else dicts) for name, value in one.items()}
    own = dict(module._members_("_parameters", remove_duplicate=False)) | dict(
        module._members_("_buffers", remove_duplicate=False)
    )
    wrong = {"Unexpected": sorted(given.keys() - own.keys()), "Missing": sorted(own.keys() - given.keys())}
    lines = [f"\n\t{what} key(s): {', '.join(map(repr, names))}." for what, names in wrong.items() if names]
    refuse(strict and lines, f"Error(s) in reparametrizing for {module._get_name()}:{''.join(lines)}")
    values = {name: given[one] for one in given if one in own for name in own if own[name] is own[one]} | {
        name: given[name] for name in given if name in own
    }  # weights that are shared
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
