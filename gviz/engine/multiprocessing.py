"""``torch.multiprocessing``: Python's own module; tensors are copied to the processes, and not shared with them."""

from __future__ import annotations

from multiprocessing import *  # noqa: F403 - what PyTorch's module has, too
