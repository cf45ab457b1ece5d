"""The gradient loop of a ``while_loop``: it goes through the same steps, the last first.

What a step's derivative needs of the step is pushed on a stack in the forward loop and popped in the gradient loop, by
TensorFlow 1's operations: a counter in the forward loop says how many steps there were, one in the gradient loop counts
them down.
"""

from __future__ import annotations

from gviz.static.build import add_operation, constant, make
from gviz.static.control import Context, Loop, sides_of
from gviz.static.functions import FUNCTIONS, zeros
from gviz.static.graph import ControlFlowContext, Operation, Tensor
from gviz.static.rules import constant_value
from gviz.static.types import int32


class GradientLoop:
    """The gradient loop of a loop while it is built: where its derivatives find what there was in a step.

    Args:
        loop: the forward loop, which gets a counter.
    """

    def __init__(self, loop: Loop) -> None:
        graph = loop.context.graph
        outer = gradient_loop_around(loop)
        self.loop, self.outer = loop, outer
        # where derivatives are asked for
        self.outside: ControlFlowContext | None = graph.context if outer is None else outer.outside
        self._values: dict[Tensor, Tensor] = {}
        self._sync: Operation | None = None
        self._forward_sync: Operation | None = None
        add, subtract, at_least = (FUNCTIONS[name] for name in ("add", "subtract", "greater_equal"))
        around = loop.context.outer if outer is None else outer.loop.context
        with graph.with_open(context=around, control=[]):
            start = constant(0, int32, name="f_count")
            if outer is not None:
                start.op.control_inputs.append(outer.counter.inputs[0].op)
            count, next_count = loop.add_variable(start, lambda n: add(n, 1), "f_count")
        self.counter: Operation = next_count
        if outer is not None:
            count = outer.value_then(count, graph.scope[:-1])
        with graph.with_open(control=[], context=loop.context.outer if outer is None else graph.context):
            one = constant(1, int32, name="b_count")
            inside = Context(graph)
            inside.frame = graph.unique_name(loop.context.frame)
            inside.parallel_iterations = loop.context.parallel_iterations
            inside.history = self
            self.back = Loop(inside.frame.rpartition("/")[0], inside)
            self.back.forward = loop
            runs_left, self.counted_down = self.back.add_variable(
                count, lambda n: subtract(n, one), "b_count", condition=lambda n: at_least(n, one)
            )
            if outer is not None:  # the steps of one inner loop come before those of the next
                outer.sync(graph.scope[:-1]).control_inputs.append(runs_left.op)

    def is_of_a_step(self, tensor: Tensor) -> bool:
        """Return whether a tensor is one of the forward loop's inside."""
        return tensor.op.context is not None and tensor.op.context.loop is self.loop.context

    def value_then(self, tensor: Tensor, name: str) -> Tensor:
        """Return what a tensor of the forward loop was at the step, by operations below ``name``.

        What comes into the forward loop comes in here, too; a constant is written again; all else comes from a stack.
        """
        if tensor not in self._values:
            inside, value, source = self.back.context, constant_value(tensor), tensor.op
            while source.type in ("Switch", "Identity"):
                source = source.inputs[0].op
            if source.type == "Enter" and source.attrs["is_constant"]:
                with inside.graph.with_open(context=inside):
                    self._values[tensor] = inside.bring_in(source.inputs[0], name)
            elif value is not None:
                with inside.graph.with_open(context=inside, control=[]), inside.graph.name_scope(f"{name}/"):
                    self._values[tensor] = constant(value, tensor.dtype)
            else:
                self._values[tensor] = self.pop(self.stack(tensor, name), tensor, name)
        return self._values[tensor]

    def stack(self, tensor: Tensor, name: str, context: ControlFlowContext | None = None) -> Tensor:
        """Return a stack on which a tensor of the forward loop is pushed in each step, or if its branch runs.

        ``context`` is where it is pushed, if that is not where the tensor is.
        """
        graph, forward = self.back.context.graph, self.loop.context
        context = context or tensor.op.context
        with graph.name_scope(f"{name}/"):
            with graph.with_open(context=self.outside, control=[]):
                stack = make("StackV2", [constant(-1, int32)], "f_acc", elem_type=tensor.dtype.base_dtype)
            with graph.with_open(context=context, control=[]):
                inside, before = forward.bring_in(stack, name), self.counter.inputs[0].op
                push = add_operation(graph, "StackPushV2", [inside, tensor], {"swap_memory": False})
                push.control_inputs.append(before)
        follower = self.counter if tensor.op.context is forward else self.sync_forward(name)
        follower.control_inputs.append(push)
        return stack

    def pop(self, stack: Tensor, tensor: Tensor, name: str, *, of_other_side: bool = False) -> Tensor:
        """Return what a tensor was at the step: the top of its stack, if its branch ran, or the other one."""
        graph, branch = stack.graph, tensor.op.context
        while branch is not None and branch is not stack.op.context and branch.predicate is None:
            branch = branch.outer
        with graph.with_open(context=self.back.context, control=[]), graph.name_scope(f"{name}/"):
            if branch is not None and branch is not stack.op.context:
                predicate, place = self.predicate_then(branch.predicate), branch.side != of_other_side
                stack = sides_of(stack, predicate)[place]
            value = make("StackPopV2", [stack], elem_type=tensor.dtype.base_dtype)
        value.set_shape(tensor._dims)
        self.sync(name).control_inputs.append(value.op)
        return value

    def predicate_at_step(self, predicate: Tensor, name: str) -> Tensor:
        """Return what a predicate in the loop was at the step, by operations below ``name``."""
        if predicate not in self._values:
            self._values[predicate] = self.pop(self.stack(predicate, name), predicate, name)
        return self._values[predicate]

    def predicate_then(self, predicate: Tensor) -> Tensor:
        """Return what a predicate was at the step, in the loop or in one around it."""
        state: GradientLoop | None = self
        while state is not None and predicate not in state._values:
            state = state.outer
        return predicate if state is None else state._values[predicate]

    def zeros_of_other_side(self, tensor: Tensor, branch: ControlFlowContext) -> Tensor:
        """Return zeros for what came into a branch at the step, which are there if the other side ran."""
        graph, place = tensor.graph, 1 - branch.side
        if tensor.shape.is_fully_defined():
            return sides_of(zeros(tensor.shape, tensor.dtype, "Const"), self.predicate_then(branch.predicate))[place]
        with graph.with_open(context=branch.outer):
            value = sides_of(tensor, branch.predicate)[place]
            sizes = make("Shape", [value], out_type=int32)
        value.op.context = sizes.op.context = branch
        name = graph.scope[:-1]
        stack = self.stack(sizes, name, branch.outer)
        return zeros(self.pop(stack, sizes, name, of_other_side=True), tensor.dtype)

    def sync(self, name: str) -> Operation:
        """Return what a step of the gradient loop ends with: all that was popped."""
        if self._sync is None:
            self._sync = self.back.context.add("ControlTrigger", [], f"{name}/b_sync")
            self.counted_down.control_inputs.append(self._sync)
        return self._sync

    def sync_forward(self, name: str) -> Operation:
        """Return what a step of the forward loop ends with: all that its branches have pushed."""
        if self._forward_sync is None:
            self._forward_sync = self.loop.context.add("ControlTrigger", [], f"{name}/f_sync")
            self.counter.control_inputs.append(self._forward_sync)
        return self._forward_sync


def gradient_loop_around(loop: Loop) -> GradientLoop | None:
    """Return the gradient loop of the loop around a loop, if it is being built."""
    context, around = loop.context.graph.context, loop.context.outer and loop.context.outer.loop
    while context is not None:
        if isinstance(context.history, GradientLoop) and context.history.loop.context is around:
            return context.history
        context = context.outer
    return None
