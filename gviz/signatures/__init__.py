"""How PyTorch's functions are called: public names, the forms of their calls, the types of arguments, and refusals.

1. A **name** (``names.py``) stands for one or more declared functions; ``install`` puts it where programs look for
   it: a function of a module, a method of tensors, one of Python's operators.
2. A **call form** (``forms.py``) is the list of a declared function's parameters. A call takes the first form that fits
   it; if none does, the form says what is wrong, in PyTorch's words. ``inspect.signature`` shows the first form.
3. An **argument type** (``arguments.py``) is what the annotation of a parameter means: which values it takes.
4. The argument ``out`` (``out.py``) is a tensor that the result is written into.

The table of operations (``gviz/ops``) and the engine declare names; ``gviz/autograd`` knows none of them.
"""
