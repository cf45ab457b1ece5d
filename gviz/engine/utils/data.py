"""``torch.utils.data``: datasets, samplers, and the loader, which makes batches in this process with any number of workers.

Random numbers are drawn in PyTorch's order: a seed for workers when a pass begins, one for the order at its first batch.
Source: https://docs.pytorch.org/docs/2.13/data.html
"""

from __future__ import annotations

import copy
import math
import sys
from bisect import bisect_right
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from itertools import accumulate, islice, repeat
from types import GenericAlias
from typing import Any

import numpy as np

from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import as_tensor
from gviz.numbers import random
from gviz.numbers.unpack import infer
from gviz.numbers.words import absent, warn

__all__ = [
    "BatchSampler", "ConcatDataset", "DataLoader", "Dataset", "IterableDataset", "RandomSampler", "Sampler",
    "SequentialSampler", "Subset", "SubsetRandomSampler", "TensorDataset", "WeightedRandomSampler", "default_collate",
    "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

FLOAT64 = np.dtype(np.float64)

def seed(generator: Any = None) -> int:
    """Draw a seed for another generator."""
    return int(random.integers((), np.dtype(np.int64), generator))

# ------------------------------------------------------------------ datasets
class Typed:
    """What may be followed by the type of its samples: ``Dataset[int]``."""

    __class_getitem__: Any = classmethod(GenericAlias)

class Dataset(Typed):
    """Samples by their index: write ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Any) -> Any:
        return ConcatDataset([self, other])

class IterableDataset(Dataset):
    """Samples one after the other: write ``__iter__``."""

class TensorDataset(Dataset):
    """The rows of tensors, as tuples."""

    def __init__(self, *tensors: Any) -> None:
        if any(tensors[0].size(0) != tensor.size(0) for tensor in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))

class ConcatDataset(Dataset):
    """The samples of several datasets, one after the other."""

    def __init__(self, datasets: Any) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(one, IterableDataset) for one in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: Any) -> Any:
        if index < -len(self):
            raise ValueError("absolute value of index should not exceed dataset length")
        index += len(self) * (index < 0)
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

class Subset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset: Any, indices: Any) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        """Return several samples at once, if the dataset does."""
        return fetched(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)

def fetched(dataset: Any, indices: Any) -> Any:
    """Return several samples, by the dataset's own ``__getitems__`` if it has one."""
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if several else [dataset[i] for i in indices]

def stacked(dataset: Any, indices: Any) -> Any:
    """Return the batch that collating samples would make, if that is rows of tensors out of any graph: at once; else None."""
    while type(dataset) is Subset and isinstance(indices, list):
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or not indices or {*map(type, indices)} != {int}:
        return None
    plain = all(type(tensor) is Tensor and not tensor.requires_grad for tensor in dataset.tensors)
    return [from_array(tensor._array[indices], None) for tensor in dataset.tensors] if plain else None

def random_split(dataset: Any, lengths: Any, generator: Any = None) -> list[Subset]:
    """Divide a dataset at random into parts of these lengths, or of these fractions of it."""
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for i, part in enumerate(lengths):
            if not 0 <= part <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            sizes[i] = math.floor(len(dataset) * part)
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i, size in enumerate(sizes):
            if size == 0:
                warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    if sum(sizes) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = random.randperm(sum(sizes), generator).tolist()
    return [Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)]

# ------------------------------------------------------------------ samplers
class Sampler(Typed):
    """Indices in some order: write ``__iter__``."""

    num_samples: int

    def __iter__(self) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.num_samples

class SequentialSampler(Sampler):
    """All indices in order."""

    def __init__(self, data_source: Any) -> None:
        self.data_source = data_source

    def __iter__(self) -> Any:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return len(self.data_source)

def positive(name: str, value: Any) -> None:
    """Refuse what is not a positive whole number."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")

def boolean(name: str, value: Any, error: Any = ValueError) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")

class RandomSampler(Sampler):
    """Indices in random order, or drawn one by one (``replacement``), from a generator begun at a random seed."""

    def __init__(self, data_source: Any, replacement: bool = False, num_samples: Any = None, generator: Any = None) -> None:
        self.data_source, self.replacement, self._num_samples, self.generator = data_source, replacement, num_samples, generator
        boolean("replacement", replacement, TypeError)
        positive("num_samples", self.num_samples)

    @property
    def num_samples(self) -> Any:  # type: ignore[override]
        """How many are drawn: as many as there are, unless another number was given."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Any:
        n, count = len(self.data_source), self.num_samples
        source = self.generator or random.Generator().manual_seed(seed())
        if self.replacement:
            for size in [*repeat(32, count // 32), count % 32]:
                yield from random.randint(0, n, (size,), None, source).tolist()
        else:
            for first in range(0, count // n * n + 1, n):  # the last order is drawn even if nothing is taken from it
                yield from random.randperm(n, source)[: count - first].tolist()

class SubsetRandomSampler(Sampler):
    """The given indices in random order."""

    def __init__(self, indices: Any, generator: Any = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Any:
        for i in random.randperm(len(self), self.generator).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)

class WeightedRandomSampler(Sampler):
    """Indices drawn with these weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        positive("num_samples", num_samples)
        boolean("replacement", replacement)
        self.weights: Any = as_tensor(weights, dtype=FLOAT64)
        if self.weights.dim() != 1:
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}")
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Any:
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()

class BatchSampler(Sampler):
    """Lists of indices that another sampler gives."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        positive("batch_size", batch_size)
        boolean("drop_last", drop_last)
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Any:
        indices = iter(self.sampler)
        while (batch := list(islice(indices, self.batch_size))) and not (self.drop_last and len(batch) < self.batch_size):
            yield batch

    def __len__(self) -> int:
        return (len(self.sampler) + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size

# ------------------------------------------------------------------ batches
KINDS = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"

def default_collate(batch: Any) -> Any:
    """Return samples as one batch: tensors stacked, numbers as a tensor, texts as they are, collections item by item."""
    first = batch[0]
    if isinstance(first, np.ndarray) and first.dtype.kind in "SUO":
        raise TypeError(KINDS.format(first.dtype))
    if isinstance(first, Tensor | np.ndarray):
        return call["stack"](list(map(as_tensor, batch)), 0)
    if isinstance(first, np.bool_ | np.number):
        return as_tensor(batch)
    if isinstance(first, float | int):
        return from_array(infer(batch, FLOAT64 if isinstance(first, float) else None), None)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Sequence):
        if any(len(one) != len(first) for one in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return rebuilt(first, [default_collate(items) for items in zip(*batch, strict=False)])
    if isinstance(first, Mapping):
        return rebuilt(first, {key: default_collate([one[key] for one in batch]) for key in first})
    raise TypeError(KINDS.format(type(first)))

def default_convert(data: Any) -> Any:
    """Return a sample with its arrays as tensors."""
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    is_list = isinstance(data, Sequence) and not isinstance(data, str | bytes)
    return rebuilt(data, list(map(default_convert, data))) if is_list else data

def rebuilt(model: Any, items: Any) -> Any:
    """Return items as a collection of the model's class, with its other attributes; what has to be a tuple is a list."""
    if isinstance(model, tuple):
        return type(model)(*items) if hasattr(model, "_fields") else items
    try:
        if not isinstance(model, MutableMapping | MutableSequence):
            return type(model)(items)
        twin: Any = copy.copy(model)
        for key, value in items.items() if isinstance(items, dict) else enumerate(items):
            twin[key] = value
    except TypeError:  # a class that is made in another way
        return items
    return twin

def get_worker_info() -> None:
    """Return None: samples are made in the main process."""

# ------------------------------------------------------------------ the loader
FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
PINNED = "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used."
STREAM = "DataLoader with IterableDataset: expected unspecified {0} option, but got {0}={1}"
ONE_PROCESS = ("prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
               "multiprocessing, otherwise set prefetch_factor to None.")
LONGER = ("Length of IterableDataset {} was reported to be {}(when accessing len(dataloader)), but {} samples have been "
          "fetched. ")

class DataLoader(Typed):
    """Batches of a dataset, in order, shuffled, or as a sampler says."""

    def __init__(self, dataset: Any, batch_size: int | None = 1, shuffle: bool | None = None, sampler: Any = None,
                 batch_sampler: Any = None, num_workers: int = 0, collate_fn: Any = None, pin_memory: bool = False,
                 drop_last: bool = False, timeout: float = 0, worker_init_fn: Any = None, multiprocessing_context: Any = None,
                 generator: Any = None, *, prefetch_factor: int | None = None, persistent_workers: bool = False,
                 pin_memory_device: str = "", in_order: bool = True) -> None:
        refuse(given := {name: value for name, value in locals().items() if name != "self"})
        if given.pop("batch_sampler") is not None:
            given["batch_size"] = None
        if sampler is None:
            in_turn = repeat(None) if isinstance(dataset, IterableDataset) else SequentialSampler(dataset)
            given["sampler"] = RandomSampler(dataset, generator=generator) if shuffle else in_turn
        if given["batch_size"] is not None:
            batch_sampler = BatchSampler(given["sampler"], given["batch_size"], drop_last)
        del given["shuffle"]
        given["collate_fn"] = collate_fn or (default_convert if batch_sampler is None else default_collate)
        given["prefetch_factor"] = 2 if num_workers and prefetch_factor is None else prefetch_factor
        vars(self).update(given, batch_sampler=batch_sampler, _length=math.inf)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in FIXED and name in vars(self):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __iter__(self) -> Any:
        return Batches(self)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)
        stream: Any = self.dataset
        self._length, size = len(stream), self.batch_size or 1
        return (self._length + (0 if self.drop_last else size - 1)) // size

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

def refuse(given: dict[str, Any]) -> None:
    """Refuse options of a loader that are wrong, or that do not go together."""
    shuffle, sampler, batches, factor = (given[name] for name in ("shuffle", "sampler", "batch_sampler", "prefetch_factor"))
    workers, size, last = given["num_workers"], given["batch_size"], given["drop_last"]
    wrong = {
        "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.": workers < 0,
        "timeout option should be non-negative": given["timeout"] < 0,
        ONE_PROCESS: workers == 0 and factor is not None,
        "prefetch_factor option should be non-negative": (factor or 0) < 0,
        "persistent_workers option needs num_workers > 0": given["persistent_workers"] and workers == 0,
    }
    if isinstance(given["dataset"], IterableDataset):
        wrong[STREAM.format("shuffle", shuffle)] = shuffle not in (False, None)
        wrong |= {STREAM.format(name, given[name]): given[name] is not None for name in ("sampler", "batch_sampler")}
    wrong |= {
        "sampler option is mutually exclusive with shuffle": sampler is not None and shuffle,
        "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last":
            batches is not None and (size != 1 or shuffle or sampler is not None or last),
        "batch_size=None option disables auto-batching and is mutually exclusive with drop_last": size is None and last,
    }
    for message, is_so in wrong.items():
        if is_so:
            raise ValueError(message)

class Batches:
    """One pass over a loader."""

    def __init__(self, loader: DataLoader) -> None:
        if loader.pin_memory:
            warn(PINNED)
        self.loader, self.batched, self.count, self.ended = loader, loader.batch_sampler is not None, 0, False
        self.sampler = loader.batch_sampler if self.batched else loader.sampler
        self.indices, self._base_seed = iter(self.sampler), seed(loader.generator)
        self.samples = iter(loader.dataset) if isinstance(loader.dataset, IterableDataset) else None

    def __iter__(self) -> Any:
        return self

    def __len__(self) -> int:
        return len(self.sampler)

    def __next__(self) -> Any:
        loader, index = self.loader, next(self.indices)
        if self.ended:
            raise StopIteration
        if self.samples is None:
            at_once = self.batched and loader.collate_fn is default_collate
            if at_once and (batch := stacked(loader.dataset, index)) is not None:
                return batch
            data = fetched(loader.dataset, index) if self.batched else loader.dataset[index]
        elif not self.batched:
            data = next(self.samples)
        else:
            data = list(islice(self.samples, len(index)))
            self.ended = len(data) < len(index)
            if not data or (self.ended and loader.drop_last):
                raise StopIteration
        batch, self.count = loader.collate_fn(data), self.count + 1
        if self.count > loader._length:
            warn(LONGER.format(loader.dataset, loader._length, self.count))
        return batch

# where PyTorch has them: from torch.utils.data.dataset import random_split
dataloader = dataset = sampler = _utils = collate = sys.modules[__name__]
sys.modules.update((f"{__name__}.{part}", collate) for part in ("dataloader", "dataset", "sampler", "_utils", "_utils.collate"))
__path__: list[str] = []
__getattr__ = absent("torch.utils.data")
