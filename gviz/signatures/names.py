"""From rows to public names.

A row, or a composite, says which names it has, and its Python signature is the form of the call.

A name is a word: ``sum`` (a function of ``torch`` and a method), ``.view`` (a method), ``torch.cat`` (a function),
``F.relu``, ``linalg.det``; ``add_`` is a method that writes in place; ``+``, ``r+`` and ``+=`` are Python's operators.
Several rows may share a name: as in PyTorch the first form that fits the call is taken, in the order of the rows. The
annotation of a parameter says what it takes (:data:`~gviz.signatures.arguments.ARG_TYPES`). A parameter without one is
what its name or its default says (``dim``, ``keepdim=False``), else a tensor, or a number if it is an option of a row.
A call that fits no form is refused here, for all names alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any

import numpy as np

from gviz.autograd.call import OPERANDS
from gviz.autograd.inplace import in_place, reshape_in_place
from gviz.autograd.row import NAMED, Row
from gviz.autograd.tensor import Tensor, from_array
from gviz.numbers.classes import MIXED, is_pytorchs, type_text
from gviz.numbers.words import refuse, warn_once
from gviz.signatures.arguments import overrides
from gviz.signatures.forms import CallForm
from gviz.signatures.out import write_out
from gviz.signatures.sentences import SENTENCES

NATIVE_FUNCTIONS = frozenset({
    "adaptive_avg_pool1d", "avg_pool1d", "avg_pool2d", "avg_pool3d", "bilinear", "channel_shuffle", "conv1d", "conv2d",
    "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "gelu", "hardshrink",
    "linear", "logsigmoid", "one_hot", "pairwise_distance", "pixel_shuffle", "pixel_unshuffle", "prelu",
    "scaled_dot_product_attention", "softplus", "softshrink",
})  # fmt: skip
"""The functions of nn.functional that are C++ in PyTorch: its parser refuses a wrong call of theirs, not Python."""
KERNELS = {"F.cross_entropy": "cross_entropy_loss", "F.nll_loss": "nll_loss_nd"}
"""The C++ functions of another name that functions of nn.functional call: they refuse a wrong argument."""


def sentence(name: str, function: Callable[..., Any], call: Any) -> str:
    """Return a sentence of help on a function: its own, or that of its public name; and the row's derivatives."""
    key = call.key if isinstance(call, Row) else call.__name__
    own = (function.__doc__ or "").partition("\n")[0] or SENTENCES.get(name) or SENTENCES.get(key) or f"Compute {key}."
    if not isinstance(call, Row) or (call.node is not None and not call.texts):
        return own
    texts = "; of ".join([f"{name}: {formula}" for name, formula in call.texts.items()])
    return f"{own} It has no gradient." if call.node is None else f"{own} Gradient of {texts}."


def override_in(arguments: object) -> type | None:
    """Return the class of the first argument that stands for a tensor, in lists too; None: there is none.

    Such a class says in ``__torch_function__`` what the functions of ``torch`` do with it, as in PyTorch.
    """
    things: list[Any] = [arguments]
    for one in things:
        if overrides(one):
            return type(one)
        things += one.values() if isinstance(one, dict) else one if isinstance(one, list | tuple) else ()
    return None


def overridden(
    kind: type, function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what a class that stands for tensors makes of a call. TypeError: it has no answer."""
    result = kind.__torch_function__(  # type: ignore[attr-defined]
        function, (kind,), args, kwargs
    )
    refuse(
        result is NotImplemented,
        f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
        f"  - tensor subclass {kind}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented",
        TypeError,
    )
    return result


class Name:
    """A public name: where it stands, and the forms of its rows, in their order, made when it is first called."""

    def __init__(self, spec: str) -> None:
        space, _, last = spec.rpartition(".")
        self.spec, self.operator = spec, operator(spec)
        self.base = self.operator.strip("_") or last
        self.qualified = f"{space}_{last}" if space in ("linalg", "special") else KERNELS.get(spec, self.base)
        self.method = self.operator or ("" if space else last)
        self.space = "" if self.operator or spec.startswith(".") else space or "torch"
        self.declared: list[tuple[Any, Any]] = []
        self.bound = False
        self.home: dict[str, Any] = {}

    @cached_property
    def forms(self) -> list[CallForm]:
        """The forms of its rows."""
        inplace = self.space == "F" and not self.base.endswith("_")
        return [
            CallForm(
                function,
                call,
                inplace=inplace and getattr(call, "inplace", False),
                sizes_follow_a_tensor=self.space != "torch" or bool(self.method),
            )
            for function, call in self.declared
        ]

    @cached_property
    def function(self) -> Any:
        """The function that calls the first form that fits."""
        return self.caller(0)

    @cached_property
    def as_method(self) -> Any:
        """The method: it has no ``out``, and messages do not count its tensor."""
        return self.caller(1)

    def caller(self, own: int) -> Any:
        """Return the function, or (``own`` is 1) the method; any number of arguments is left to Python."""
        if self.declared[0][0].__code__.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS):
            function = self.declared[0][1]
            function.__doc__ = function.__doc__ or self.help
            return self.overridable(function)

        def call(*args: object, **kwargs: object) -> Any:
            out = kwargs.pop("out", None) if kwargs and not own else None
            operation, values = self.chosen(args, kwargs, own)
            return operation(*values) if out is None else write_out(self.qualified, out, operation, values)

        def writing(*args: object, **kwargs: object) -> Any:
            # Before anything is said about the tensor that is written.
            operation, values = self.chosen(args, kwargs, own)
            return (reshape_in_place if getattr(operation, "reshapes", False) else in_place)(operation, *values)

        function = writing if self.writes else call
        self.label(function, own)
        return function

    def overridable(self, function: Callable[..., Any]) -> Any:
        """Return a function of any number of arguments that leaves those that stand for tensors to their class."""

        @wraps(function)
        def call(*args: object, **kwargs: object) -> Any:
            if (kind := override_in((args, kwargs))) is None:
                return function(*args, **kwargs)
            return overridden(kind, call, f"torch.{self.base}", args, kwargs)

        call.public = self  # type: ignore[attr-defined]
        return call

    def label(self, function: Any, own: int) -> None:
        """Give a function of this name, or (``own`` is 1) a method, what ``help`` and ``inspect.signature`` show."""
        function.__name__ = function.__qualname__ = self.operator or self.base
        function.__doc__ = self.help
        function.__signature__ = FormSignature(self, own)
        function.public = self

    @cached_property
    def help(self) -> str:
        """A sentence, or several with the parameters that each is about."""
        key = self.base.strip("_")
        sentences = [sentence(key, *declared) for declared in self.declared]
        if len(sentences) > 1:
            codes = [function.__code__ for function, _ in self.declared]
            forms = [", ".join(c.co_varnames[: c.co_argcount + c.co_kwonlyargcount]) for c in codes]
            sentences = [f"{self.base}({form}): {text}" for form, text in zip(forms, sentences, strict=True)]
        return "\n".join([*sentences, *["The result is written into the tensor itself."] * self.writes])

    @property
    def writes(self) -> bool:
        """Whether it is a method that leaves the result in its tensor: ``add_``, ``+=``."""
        return self.base.endswith("_") or (self.operator.startswith("__i") and self.spec not in UNARY)

    def chosen(self, args: tuple[Any, ...], kwargs: dict[str, Any], own: int = 0) -> tuple[Any, list[Any]]:
        """Return what is called, by the first form that fits, and its arguments. TypeError: none fits."""
        for form in self.forms:
            if (values := form.bind(args, kwargs)) is not None:
                if form.deprecated:
                    old, new = (f"{self.base}{one.text(own, not own)}" for one in (form, self.forms[0]))
                    warn_once(
                        f"This overload of {self.base} is deprecated:\n\t{old}\n"
                        f"Consider using one of the following signatures instead:\n\t{new}"
                    )
                return form.call, values
        if (kind := override_in((args, kwargs))) is not None:
            function = getattr(Tensor, self.method) if own else self.home[self.base]
            name = f"torch.Tensor.{self.base}" if own else f"torch.{self.base}"
            return partial(overridden, kind, function, name, args, kwargs), []
        raise TypeError(self.refusal(args, kwargs, own))

    def refusal(self, args: tuple[Any, ...], kwargs: dict[str, Any], own: int = 0) -> str:
        """Return the message for a call that fits no form: what is wrong with it if one form is likely, else all forms.

        The first ``own`` arguments are not counted.
        """
        if any(is_pytorchs(type(value)) for value in (*args, *kwargs.values())):
            return f"{self.qualified}(): {MIXED}"
        forms, count = [form for form in self.forms if not form.deprecated], len(args) + len(kwargs)
        in_python = self.space == "F" and self.base not in NATIVE_FUNCTIONS
        if in_python and (mismatch := forms[0].mismatch_in_python(self.base, args, kwargs)):
            return mismatch
        out = not own and self.space == "torch"
        likely = [
            form for form in forms if form.min_args <= count <= len(form.parameters) + (len(form.parameters) > 1 > own)
        ]
        if len(self.forms) == 1 or len(likely) == 1:
            return f"{self.qualified}{(likely or forms)[0].mismatch(args, kwargs, own)}"
        texts = [form.text(own, out) for form in forms]
        types = [*map(type_text, args[own:]), *(f"{key}={type_text(value)}" for key, value in kwargs.items())]
        expected = "one of:\n" + "".join(f" * {text}\n" for text in texts) if len(texts) > 1 else texts[0]
        return (  # as PyTorch says it, with a comma behind keywords that are alone
            f"{self.qualified}() received an invalid combination of arguments - got ({', '.join(types)}"
            f"{', ' * (len(args) <= own < own + len(kwargs))}), but expected {expected}"
        )


OUT = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Tensor | None)
"""What functions of ``torch`` take besides."""


class FormSignature(inspect.Signature):
    """What ``inspect.signature`` shows of a public name: its first form, which is read when somebody asks for it."""

    __slots__ = ("_is_method", "_name")
    _return_annotation = inspect.Signature.empty

    def __init__(self, name: Name, is_method: int) -> None:
        self._name, self._is_method = name, is_method

    @property
    def parameters(self) -> Any:
        """The parameters by name, as ``inspect`` has them."""
        return self.plain().parameters

    def plain(self) -> inspect.Signature:
        """Return it as a plain Signature."""
        form = next(form for form in self._name.forms if not form.deprecated)
        parameters = [one.for_inspect(one.name if self._is_method else one.public_name) for one in form.parameters]
        return inspect.Signature(
            [*parameters, OUT] if self._name.space == "torch" and not self._is_method else parameters
        )

    def replace(self, **changes: Any) -> Any:
        """Return a plain Signature with these changes."""
        return self.plain().replace(**changes)


# ------------------------------------------------------------------ binding
SIGNS = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow", "@": "matmul",
    "&": "and", "|": "or", "^": "xor", "<<": "lshift", ">>": "rshift", "<": "lt", "<=": "le", ">": "gt", ">=": "ge",
    "==": "eq", "!=": "ne",
}  # fmt: skip
METHODS = {"truediv": "div", "mod": "remainder", "floordiv": "floor_divide"}
"""The methods of tensors that have another name than Python's operators."""
UNARY = {"-x": "__neg__", "+x": "__pos__", "~x": "__invert__", "abs(x)": "__abs__"}
NAMES: dict[str, Name] = {}
"""Every public name of the table, as rows spell it."""


def operator(spec: str) -> str:
    """Return ``__add__`` of ``+``, ``__radd__`` of ``r+``, ``__iadd__`` of ``+=``, ``__neg__`` of ``-x``, else ""."""
    if spec in UNARY or spec in SIGNS:
        return UNARY.get(spec) or f"__{SIGNS[spec]}__"
    if spec[:1] == "r" and spec[1:] in SIGNS:
        return f"__r{SIGNS[spec[1:]]}__"
    return f"__i{SIGNS[spec[:-1]]}__" if spec[-1:] == "=" and spec[:-1] in SIGNS else ""


def as_operator(name: Name) -> Any:
    """Return an operation as Python's operator, which leaves operands it does not know to Python."""
    method = name.as_method
    operands = (
        Tensor if name.operator in ("__matmul__", "__rmatmul__") else OPERANDS
    )  # a number has no product of matrices

    def operate(self: Tensor, other: object) -> Any:
        if not isinstance(other, operands):
            if overrides(other):
                return getattr(Tensor, METHODS.get(name.base, name.base))(self, other)
            refuse(is_pytorchs(type(other)), MIXED, TypeError)
            if name.operator != "__eq__" or not isinstance(other, np.ndarray) or other.dtype.kind not in "biufc":
                return NotImplemented
            other = from_array(other, None)  # the one sign for which PyTorch takes an array
        return method(self, other)

    name.label(operate, 1)
    return operate


def install(spaces: dict[str, dict[str, Any]]) -> None:
    """Bind the names of all new rows.

    Methods and operators at once, functions to their module if it is in ``spaces``.
    """
    while NAMED:
        specs, function, call = NAMED.pop(0)
        for spec in specs.split():
            name = NAMES.setdefault(spec, Name(spec))
            name.declared.append((function, call))
            vars(name).pop("forms", None)
    for spec, name in NAMES.items():
        if name.method and "as_method" not in vars(name):
            setattr(Tensor, name.method, as_operator(name) if name.operator and spec not in UNARY else name.as_method)
        if name.space in spaces and not name.bound:
            name.bound, name.home = True, spaces[name.space]
            name.home[name.base] = name.function
