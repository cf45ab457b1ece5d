"""``tf.train.Saver``: the values of variables in numpy's files, ``PATH.npz``: an array for each variable."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, SupportsInt
from zipfile import ZipFile, ZipInfo

import numpy as np

from gviz.files import read_file, write
from gviz.numbers.words import refuse
from gviz.static.build import check_others
from gviz.static.errors import NotFoundError
from gviz.static.session import Session
from gviz.static.variables import GLOBAL, Variable, variables_of

UNUSED = {
    "reshape": False, "sharded": False, "keep_checkpoint_every_n_hours": 10000.0, "restore_sequentially": False,
    "saver_def": None, "builder": None, "defer_build": False, "allow_empty": False, "write_version": 2,
    "pad_step_number": False, "save_relative_paths": False, "filename": None,
}  # fmt: skip
"""Arguments of TensorFlow's Saver that gviz has no use for, with their defaults."""


class Saver:
    """Writes and reads the values of variables.

    Args:
        var_list: the variables, or those by the names that they have in the file; all that there are if it is None.
        max_to_keep: how many files stay; 0 or None for all.
        name: accepted.
    """

    def __init__(
        self,
        var_list: Iterable[Variable] | Mapping[str, Variable] | None = None,
        max_to_keep: int | None = 5,
        name: str | None = None,
        **others: object,
    ) -> None:
        check_others("tf.train.Saver", others, **UNUSED)
        variables = variables_of(GLOBAL) if var_list is None else var_list
        self._variables = dict(variables) if isinstance(variables, Mapping) else {v.op.name: v for v in variables}
        refuse(not self._variables, "No variables to save", ValueError)
        self._most, self.last_checkpoints = max_to_keep, list[str]()

    def save(
        self,
        sess: Session,
        save_path: str,
        global_step: Variable | SupportsInt | None = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str:
        """Write all values; return the path, without ``.npz``, for :meth:`restore`; FileError if that fails."""
        step = sess.run(global_step) if isinstance(global_step, Variable) else global_step
        path = save_path if step is None else f"{save_path}-{int(step)}"
        values, data = sess.run(dict(self._variables)), io.BytesIO()
        with ZipFile(data, "w") as archive:
            for name, value in values.items():
                part = io.BytesIO()
                np.lib.format.write_array(part, np.asarray(value), allow_pickle=False)
                archive.writestr(
                    ZipInfo(f"{name}.npy"), part.getvalue()
                )  # without the time: the same values, the same file
        write(f"{path}.npz", data.getvalue())
        self.last_checkpoints = [*(other for other in self.last_checkpoints if other != path), path]
        while self._most and len(self.last_checkpoints) > self._most:
            os.unlink(f"{self.last_checkpoints.pop(0)}.npz")
        if write_state:
            folder = os.path.dirname(path)
            names = [
                other if os.path.isabs(other) else os.path.relpath(other, folder or ".")
                for other in self.last_checkpoints
            ]
            lines = [
                f'model_checkpoint_path: "{names[-1]}"',
                *(f'all_model_checkpoint_paths: "{other}"' for other in names),
            ]
            write(os.path.join(folder, latest_filename or "checkpoint"), ("\n".join(lines) + "\n").encode())
        return path

    def restore(self, sess: Session, save_path: str) -> None:
        """Give the variables the values of a file; NotFoundError if there is none, or it lacks a variable."""
        refuse(save_path is None, "Can't load save_path when it is None.", ValueError)
        is_other = os.path.exists(f"{save_path}.index") and not checkpoint_exists(save_path)
        refuse(
            is_other,
            f"{save_path}.index is a checkpoint of TensorFlow's, which gviz does not read: its own are {save_path}.npz",
            ValueError,
        )
        refuse(
            not checkpoint_exists(save_path), f"The passed save_path is not a valid checkpoint: {save_path}", ValueError
        )
        with np.load(io.BytesIO(read_file(f"{save_path}.npz"))) as values:
            for name, variable in self._variables.items():
                refuse(name not in values, f"Key {name} not found in checkpoint", NotFoundError)
                variable.load(values[name], sess)


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether a Saver has written a file of that path."""
    return os.path.exists(f"{checkpoint_prefix}.npz")


def get_checkpoint_state(checkpoint_dir: str, latest_filename: str | None = None) -> Any:
    """Return the paths of the files that a Saver has left in a folder, None if there are none."""
    state = os.path.join(checkpoint_dir, latest_filename or "checkpoint")
    if not os.path.exists(state):
        return None
    entries = re.findall(r'^(\w+): "(.*)"$', read_file(state).decode(), re.MULTILINE)
    paths = [(key, os.path.join(checkpoint_dir, path)) for key, path in entries]
    return SimpleNamespace(
        model_checkpoint_path=paths[0][1], all_model_checkpoint_paths=[path for _, path in paths[1:]]
    )


def latest_checkpoint(checkpoint_dir: str, latest_filename: str | None = None) -> str | None:
    """Return the path of the newest file that a Saver has left in a folder, None if there is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    return state.model_checkpoint_path if state and checkpoint_exists(state.model_checkpoint_path) else None


SAVING = {
    function.__name__: function for function in (Saver, checkpoint_exists, get_checkpoint_state, latest_checkpoint)
}
