"""A model that is named, ``package.module:Model`` or ``model.py:net``, as the script that runs it forward and backward."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gviz.errors import SourceError
from gviz.files import decode, read_file
from gviz.options import SourceOptions
from gviz.sources.source import MODEL, Source
from gviz.text import did_you_mean

SHAPE = re.compile(r"(?P<sizes>\d+(?:,\d+)*)(?::(?P<dtype>[a-z]+\d*))?")

FLOATS = ("float16", "float32", "float64", "bfloat16")

FLOAT_ARRAY = re.compile(rb".NUMPY.{4}\{'descr': '[<>=]f", re.DOTALL)
"""The beginning of a file of numpy's with real numbers, which a model takes as float32."""

LACKS = re.compile(r"__init__\(\) missing|missing \d+ required")
"""What Python says of a class or a function that was called without an argument that it needs."""

WANTS_INTEGERS = "to have one of the following scalar types: Long, Int"
"""What PyTorch says where an embedding, say, gets real numbers."""

PROGRAM = """\
import torch

torch.manual_seed(0)
from {module} import {name}

if isinstance({name}, torch.nn.Module):
    __model__ = {name}
else:
    model = __model__ = {name}()
{inputs}
output = __model__({names})


def tensors_in(value):
    if torch.is_tensor(value):
        return [value] * value.requires_grad
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else []
    return [tensor for item in items or getattr(value, '__dict__', dict()).values() for tensor in tensors_in(item)]


def loss_of(value):
    loss = None
    for tensor in tensors_in(value):
        part = tensor if tensor.dim() == 0 else tensor{loss}
        loss = part if loss is None else loss + part
    return loss


loss = loss_of(output)
if loss is not None:
    loss.backward()
"""
"""What runs a model."""


@contextmanager
def with_program(source: Source, options: SourceOptions) -> Iterator[Source]:
    """Give a source for a script to run: of a model the script that runs it, any other one as it is.

    Raises:
        SourceError: the model cannot be made without arguments; inputs are given, and it is no model.
    """
    if not source.is_model:
        if options.inputs or options.input_file:
            raise SourceError("--input is for a model", hint="as in gviz render model.py:Net --input 1,3,224,224")
        yield source
        return
    word = str(source.file)
    try:
        yield replace(source, text=script_that_runs(word, options))
    except SourceError as error:
        if error.hint is None and LACKS.search(error.what) and error.place is None:
            made = f"make it in a file, net = {word.partition(':')[2]}(...), and name that: model.py:net"
            is_call = "forward() missing" in error.what
            error.hint = "give an --input for each of its arguments: --input 3,5 --input 3,2" if is_call else made
        elif WANTS_INTEGERS in error.what:
            error.hint = "\n".join(filter(None, [error.hint, "for integers: --input 2,16:int64"]))
        raise


def script_that_runs(word: str, options: SourceOptions) -> str:
    """Return the script that makes a model, calls it, and runs backward from what it returns.

    Args:
        word: as in ``package.module:Model`` or ``model.py:net``: a module, or a class or a function that makes one.
        options: the inputs, and what the loss is.

    Raises:
        FileError: there is no such file.
        SourceError: there is no such name in it, or no input.
    """
    match = MODEL.fullmatch(word)
    home, name = match.groups() if match else (word, "")
    is_file = home.endswith(".py")
    file = home if is_file else os.path.join(*home.split(".")) + ".py"
    if is_file or os.path.exists(file):
        names = [*names_given_in(ast.parse(decode(read_file(file), file)))]
        if name not in names and "*" not in names:
            raise SourceError(f"{file} has no {name}", hint=did_you_mean(name, names, f"it has {', '.join(names)}"))
    lines = [*input_lines(options)]
    if not lines:
        raise SourceError(
            f"{word} is called with an input", hint="say its sizes, --input 1,3,224,224, or --input-file x.npy"
        )
    module = os.path.splitext(os.path.basename(home))[0] if is_file else home
    loss = f".{options.loss}()"
    inputs = "import numpy\n\n" * any("numpy" in line for line in lines)
    inputs += "\n".join(f"x{number} = {line}" for number, line in enumerate(lines, 1))
    arguments = ", ".join(f"x{number}" for number in range(1, len(lines) + 1))
    return PROGRAM.format(module=module, name=name, inputs=inputs, names=arguments, loss=loss)


SCOPES = (ast.ClassDef, ast.FunctionDef)
"""Statements whose names are their own."""


def names_given_in(tree: ast.Module) -> Iterator[str]:
    """Yield the names of classes, functions, variables and imports in a file; ``*`` for all of another file."""
    for node in [one for top in tree.body for one in (ast.walk(top) if not isinstance(top, SCOPES) else [top])]:
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name


def input_lines(options: SourceOptions) -> Iterator[str]:
    """Yield the expression that makes each input: normal numbers of a size, zeros of integers, or what a file holds."""
    for text in options.inputs:
        match = SHAPE.fullmatch(text.replace(" ", ""))
        if match is None:
            raise SourceError(
                f"--input {text} is no size",
                hint="as in --input 1,3,224,224, or --input 2,16:int64 for zeros of integers",
            )
        dtype = match["dtype"] or "float32"
        make = "randn" if dtype in FLOATS else "zeros"
        yield f"torch.{make}({match['sizes']}, dtype=torch.{dtype})"
    for file in options.input_file:
        data = read_file(file)
        load = "torch.load" if file.endswith((".pt", ".pth")) else "numpy.load"
        number = ".astype('float32')" * bool(FLOAT_ARRAY.match(data))
        yield f"{load}({file!r})" if load == "torch.load" else f"torch.from_numpy({load}({file!r}){number})"
