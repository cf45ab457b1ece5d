"""Notice what the hooks of a script make of gradients, and where they were registered."""

from __future__ import annotations

import functools
import linecache
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import ref

from gviz.autograd.node import Node
from gviz.graphs import Hooked, Place
from gviz.graphs.numbers import Numbers
from gviz.sources.script.program import Script
from gviz.trace.listening import Listener, Observer

if TYPE_CHECKING:
    from gviz.flow import Follower

REGISTERED = (
    ("Tensor", "register_hook", "arrived"),
    ("Tensor", "register_post_accumulate_grad_hook", "grad"),
    ("Node", "register_prehook", "arrived"),
    ("Node", "register_hook", "handed"),
    ("Module", "register_full_backward_pre_hook", "handed"),
    ("Module", "register_full_backward_hook", "handed"),
    ("Module", "register_backward_hook", "handed"),
)
"""The methods that register hooks of backward, and what such a hook changes."""


class ScriptHooks(Observer):
    """The hooks of a script on its gradients: each is called as ever, and what it changes while backward runs is noted.

    Args:
        script: whose lines register them.
        numbers_of: gives the numbers of a tensor.
        has_layers: whether it may have modules.
    """

    def __init__(self, script: Script, numbers_of: Callable[[Any], Numbers], *, has_layers: bool) -> None:
        self.script, self.numbers_of, self.has_layers = script, numbers_of, has_layers
        self.are_there = False
        self.has_packed = False  # whether what backward needs comes from functions of the script
        self.has_checkpoint = False  # whether these compute again what a checkpoint has left out
        self.follower: Follower | None = None  # of the pass that runs
        self.places: dict[tuple[str, int], list[Place]] = {}  # where nodes of PyTorch were given hooks
        self.of_leaves: dict[int, list[Hooked]] = {}  # by the identity of the leaf, in this pass

    def attach(self, listener: Listener) -> None:
        """Begin to be told of hooks that are registered, and of functions that pack what operations save."""
        super().attach(listener)
        engine = listener.engine
        homes = {"Tensor": engine.Tensor, **({"Module": engine.nn.Module} if self.has_layers else {})}
        if listener.is_own:
            homes["Node"] = Node
        else:  # PyTorch's own nodes are no classes of Python
            original = engine.Tensor.grad_fn
            listener.replace(engine.Tensor, "grad_fn", property(lambda own: self.node_of(original, own)))
        for home, name, kind in REGISTERED:
            owner = next((one for one in getattr(homes.get(home), "__mro__", ()) if name in vars(one)), None)
            if owner is not None:
                listener.replace(owner, name, self.registering(vars(owner)[name], kind))
        packing = engine.autograd.graph.saved_tensors_hooks
        listener.replace(packing, "__enter__", self.entering(packing.__enter__))

    def node_of(self, attribute: Any, tensor: Any) -> Any:
        """Return a tensor's node, to which the program may give a hook if it asks for the node itself."""
        node, caller = attribute.__get__(tensor), sys._getframe(2)  # noqa: SLF001 - inspect.currentframe costs a large import
        if node is not None and not self.listener.is_quiet and self.script.is_ours(caller.f_code.co_filename):
            self.are_there = True
            if "register_" in linecache.getline(caller.f_code.co_filename, caller.f_lineno):
                place = self.script.place(caller.f_lineno, caller.f_code.co_filename)
                self.places.setdefault(number_of(node), []).append(place)
        return node

    def place_of(self, node: Any) -> Place | None:
        """Return the line that has registered a hook on one of PyTorch's nodes; None where that is not known."""
        places = self.places.get(number_of(node)) or [place for group in self.places.values() for place in group]
        return places[0] if len({*places}) == 1 else None

    def entering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that begins a block of ``saved_tensors_hooks``, and notes that."""

        @functools.wraps(original)
        def enter(own: object) -> object:
            self.has_packed = True
            caller = str(sys._getframe(1).f_globals.get("__name__"))  # noqa: SLF001 - as above
            self.has_checkpoint = self.has_checkpoint or caller.endswith("utils.checkpoint")
            return original(own)

        return enter

    def registering(self, original: Callable[..., Any], kind: str) -> Callable[..., Any]:
        """Return a method that registers a hook, and watches that hook."""

        @functools.wraps(original)
        def register(own: Any, hook: Any, *args: Any, **kwargs: Any) -> Any:
            # PyTorch's own methods come here once more; a table of sparse gradients has a hook of the engine's
            if (
                not callable(hook)
                or isinstance(hook, WatchedHook)
                or getattr(hook, "__module__", "") == "gviz.engine.sparse"
            ):
                return original(own, hook, *args, **kwargs)
            self.are_there = True
            tensor = getattr(own, "variable", own)  # of AccumulateGrad
            leaf = ref(tensor) if getattr(tensor, "is_leaf", False) else None
            return original(own, WatchedHook(hook, self, self.script.running()[1], kind, leaf), *args, **kwargs)

        return register

    @contextmanager
    def watching(self, follower: Follower) -> Iterator[None]:
        """Note what hooks change in the block, in which a pass runs."""
        self.follower = follower
        try:
            with follower.watching(self.listener.quiet):
                yield
        finally:
            self.follower = None
            for node, flow in follower.result.items():
                if any(one.place is None for one in flow.hooks):
                    hooks = tuple(one if one.place else one._replace(place=self.place_of(node)) for one in flow.hooks)
                    follower.result[node] = flow._replace(hooks=hooks)
            for node, change in follower.of_leaves.items():
                changes = self.of_leaves.setdefault(id(getattr(node, "variable", None)), [])
                changes += [] if any(one.kind == change.kind for one in changes) else [change]


class WatchedHook:
    """A hook of the script. It is the script's own function, for who prints or copies it.

    Args:
        hook: the function.
        hooks: takes what it changes.
        place: where it was registered.
        kind: what it changes, as a :class:`gviz.graphs.Hooked` has it.
        leaf: the leaf that it is of, weakly; None for that of something else.
    """

    def __init__(
        self,
        hook: Callable[..., Any],
        hooks: ScriptHooks,
        place: Place | None,
        kind: str,
        leaf: Callable[[], object] | None,
    ) -> None:
        functools.update_wrapper(self, hook, updated=())
        self.hook, self.hooks, self.place, self.kind, self.leaf = hook, hooks, place, kind, leaf

    def __repr__(self) -> str:
        """Return what stands for the script's function."""
        return repr(self.hook)

    def __reduce__(self) -> tuple[Any, ...]:
        """Be saved as the script's function."""
        return _itself, (self.hook,)

    def __call__(self, *args: Any) -> Any:
        """Call the function; note the first of the gradients that it changes."""
        hooks = self.hooks
        if hooks.follower is None:
            return self.hook(*args)
        value = args[self.kind == "handed" and hasattr(args[0], "register_full_backward_hook")]
        before = self.numbers(value)
        result = self.hook(*args)
        for own, new in zip(
            before, self.numbers(value if result is None or self.kind == "grad" else result), strict=False
        ):
            if own != new:
                self.note(Hooked(own, new, self.place, self.kind))
                break
        return result

    def numbers(self, value: Any) -> list[Numbers | None]:
        """Return the numbers of gradients: of the tensors in ``value``, or of the leaf's ``.grad``."""
        with self.hooks.listener.quiet():
            grads = [value.grad] if self.kind == "grad" else value if isinstance(value, tuple | list) else [value]
            return [None if one is None else self.hooks.numbers_of(one) for one in grads]

    def note(self, change: Hooked) -> None:
        """Give a change to the leaf that it is of, else to the operation that comes next."""
        leaf, follower = self.leaf() if self.leaf is not None else None, self.hooks.follower
        if leaf is not None:
            self.hooks.of_leaves.setdefault(id(leaf), []).append(change)
        elif follower is not None:
            follower.changes.append(change)


def number_of(node: Any) -> tuple[str, int]:
    """Return the key of a node of PyTorch: the node may get a new Python object each time that it is asked for."""
    return type(node).__name__, node._sequence_nr()  # noqa: SLF001 - PyTorch's own name


def _itself(hook: object) -> object:
    """Return a hook as it is."""
    return hook
