"""A small autograd engine over numpy: tensors, rows, nodes, and one loop. It knows no operation.

How one product flows from call to gradient:

1. A **row** (``row.py``) says everything about an operation: its forward on arrays, the class of its node, a formula
per input.
2. A **call** (``call.py``) takes the arrays out of the operands, brings them to one dtype, runs the forward and wraps
the
   result in a :class:`~gviz.autograd.tensor.Tensor`. If an input requires a gradient it makes a **node** (``node.py``),
   whose ``next_functions`` are the edges of the inputs, and saves what the formulas name (``saved.py``). The edge of
   the result is (node, 0).
3. **backward** (``backward.py``) counts the edges that lead to each node and runs the nodes that are ready, the
youngest
   first. The formulas run on tensors, with the grad mode off, or on for ``create_graph``: there is one lane, as in
   PyTorch (``engine/fast.py`` lies above, and may be left out). ``requests.py`` is what a program asks for:
   ``backward()`` and ``grad()``.
4. ``AccumulateGrad`` adds what arrives to the leaf's ``.grad``.

Beside it: ``hooks.py`` (functions of the user that see gradients pass), ``views.py`` and ``inplace.py`` (memory that
several tensors share), ``anomaly.py``, ``modes.py`` (grad mode, inference mode), ``words.py`` (PyTorch's long
messages). How operations are called, by which names and with which arguments, is in ``gviz/signatures``, a floor above.

Imports go down only: modes, words, formulas < node < tensor < saved, hooks, anomaly < row < call < backward < requests
< views < inplace. A tensor names no operation and no module above it: those give it methods
(``Tensor.register_hook = ...``).
"""
