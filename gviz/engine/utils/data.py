"""``torch.utils.data``: datasets, samplers, and the loader, which makes all batches in this process (``workers.py``).

Random numbers are drawn in PyTorch's order: a seed for workers when a pass begins, one for the order at its first
batch.
Source: https://docs.pytorch.org/docs/2.13/data.html
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import partial
from itertools import accumulate, chain, islice, repeat
from types import GenericAlias
from typing import Any

import numpy as np

from gviz.autograd.row import TENSORS as call
from gviz.autograd.tensor import Tensor, from_array
from gviz.engine.creation import as_tensor
from gviz.engine.device import module
from gviz.engine.distributed import get_rank, get_world_size
from gviz.engine.random import permuted_range
from gviz.engine.utils.workers import Worker, batches_by, get_worker_info
from gviz.numbers import random, unpack
from gviz.numbers.words import absent, refuse, refuse_any, warn

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler", "TensorDataset",
    "WeightedRandomSampler", "default_collate", "default_convert", "get_worker_info", "random_split",
]  # fmt: skip

FLOAT64 = np.dtype(np.float64)


def seed(generator: random.Generator | None = None) -> int:
    """Draw a seed for another generator."""
    return int(random.draw_integers((), np.dtype(np.int64), generator))


# ------------------------------------------------------------------ datasets
class Typed:
    """What may be followed by the type of its samples: ``Dataset[int]``."""

    __class_getitem__: Any = classmethod(GenericAlias)


class Dataset(Typed):
    """Samples by their index: write ``__getitem__`` and ``__len__``."""

    def __getitem__(self, index: Any) -> Any:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset) -> Any:
        return (ChainDataset if isinstance(self, IterableDataset) else ConcatDataset)([self, other])


class IterableDataset(Dataset, Iterable[Any]):
    """Samples one after the other: write ``__iter__``."""


class TensorDataset(Dataset):
    """The rows of tensors, as tuples."""

    def __init__(self, *tensors: Tensor) -> None:
        refuse(any(len(one) != len(tensors[0]) for one in tensors), "Size mismatch between tensors", AssertionError)
        self.tensors = tensors

    def __getitem__(self, index: Any) -> Any:
        return tuple([tensor[index] for tensor in self.tensors])

    def __len__(self) -> int:
        return len(self.tensors[0])


class ConcatDataset(Dataset):
    """The samples of several datasets, one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        refuse(not self.datasets, "datasets should not be an empty iterable", AssertionError)
        self.cumulative_sizes = list(accumulate(map(len, self.datasets)))

    def __getitem__(self, index: Any) -> Any:
        refuse(index < -len(self), "absolute value of index should not exceed dataset length", ValueError)
        index += len(self) * (index < 0)
        which = bisect_right(self.cumulative_sizes, index)
        return self.datasets[which][index - (self.cumulative_sizes[which - 1] if which else 0)]

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class StackDataset(Dataset):
    """Samples that are one of each dataset: a tuple, or a dict if the datasets have names."""

    def __init__(self, *args: Any, **kwargs: Sized) -> None:
        refuse_any(
            {
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both "
                "types are given.": args and kwargs,
                "At least one dataset should be passed": not args and not kwargs,
            },
            ValueError,
        )
        self.datasets: Any = args or kwargs
        sizes = {len(one) for one in (args or kwargs.values())}
        refuse(len(sizes) > 1, "Size mismatch between datasets", ValueError)
        self._length = sizes.pop()

    def __getitem__(self, index: int) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ChainDataset(IterableDataset):
    """Streams, one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Any:
        return chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


class Subset(Dataset):
    """Some samples of a dataset."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        return self.dataset[[self.indices[i] for i in index] if isinstance(index, list) else self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Any:
        """Return several samples at once, if the dataset does."""
        return fetched(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def fetched(dataset: Any, indices: Sequence[int]) -> Any:
    """Return several samples, by the dataset's own ``__getitems__`` if it has one."""
    several = getattr(dataset, "__getitems__", None)
    return several(indices) if several else [dataset[i] for i in indices]


def stacked(dataset: Any, indices: Sequence[int]) -> Any:
    """Return the batch that collating samples would make, if that is rows of tensors out of any graph: at once.

    Else None.
    """
    while type(dataset) is Subset:
        dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
    if type(dataset) is not TensorDataset or {*map(type, indices)} != {int}:
        return None
    plain = all(type(tensor) is Tensor and not tensor.requires_grad for tensor in dataset.tensors)
    return [from_array(tensor._array[indices], None) for tensor in dataset.tensors] if plain else None


def random_split(dataset: Any, lengths: Sequence[Any], generator: random.Generator | None = None) -> list[Subset]:
    """Divide a dataset at random into parts of these lengths, or of these fractions of it."""
    sizes = list(lengths)
    if math.isclose(sum(sizes), 1) and sum(sizes) <= 1:
        for i, part in enumerate(sizes):
            refuse(not 0 <= part <= 1, f"Fraction at index {i} is not between 0 and 1", ValueError)
        sizes = [math.floor(len(dataset) * part) for part in sizes]
        for i in range(len(dataset) - sum(sizes)):
            sizes[i % len(sizes)] += 1
        for i in (i for i, size in enumerate(sizes) if not size):
            warn(f"Length of split at index {i} is 0. This might result in an empty dataset.")
    refuse(
        sum(sizes) != len(dataset), "Sum of input lengths does not equal the length of the input dataset!", ValueError
    )
    order = permuted_range(sum(sizes), generator).tolist()
    return [Subset(dataset, order[end - size : end]) for end, size in zip(accumulate(sizes), sizes, strict=True)]


# ------------------------------------------------------------------ samplers
class Sampler(Typed):
    """Indices in some order: write ``__iter__``."""

    num_samples: int
    __iter__: Any = lambda self: refuse(True, "", NotImplementedError)

    def __len__(self) -> int:
        return self.num_samples


class SequentialSampler(Sampler):
    """All indices in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Any:
        return iter(range(len(self)))

    def __len__(self) -> int:
        return len(self.data_source)


def positive(name: str, value: object) -> Any:
    """Return a number. ValueError: it is not positive and whole."""
    refuse(
        not isinstance(value, int) or isinstance(value, bool) or value <= 0,
        f"{name} should be a positive integer value, but got {name}={value}",
        ValueError,
    )
    return value


def truth(name: str, value: object, error: type[Exception] = ValueError) -> Any:
    """Return True or False; refuse anything else."""
    refuse(not isinstance(value, bool), f"{name} should be a boolean value, but got {name}={value}", error)
    return value


class RandomSampler(Sampler):
    """Indices in random order, or drawn one by one (``replacement``), from a generator begun at a random seed."""

    def __init__(
        self,
        data_source: Any,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: random.Generator | None = None,
    ) -> None:
        self.data_source, self.generator = data_source, generator
        self.replacement = truth("replacement", replacement, TypeError)
        self.num_samples = positive("num_samples", len(data_source) if num_samples is None else num_samples)

    def __iter__(self) -> Any:
        n, count = len(self.data_source), self.num_samples
        source = self.generator or random.Generator().manual_seed(seed())
        if self.replacement:
            for size in [*repeat(32, count // 32), count % 32]:
                yield from random.randint(0, n, (size,), None, source).tolist()
        else:
            for first in range(0, count // n * n + 1, n):  # the last order is drawn even if nothing is taken from it
                yield from permuted_range(n, source)[: count - first].tolist()


class DistributedSampler(Sampler):
    """The indices that one of several processes is to take, each as many."""

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        count = get_world_size() if num_replicas is None else num_replicas
        place = get_rank() if rank is None else rank
        refuse(
            not 0 <= place < count,
            f"Invalid rank {place}, rank should be in the interval [0, {count - 1}]",
            ValueError,
        )
        self.dataset, self.num_replicas, self.rank, self.shuffle, self.seed = dataset, count, place, shuffle, seed
        self.epoch, self.drop_last = 0, drop_last
        self.num_samples = len(dataset) // count if drop_last else math.ceil(len(dataset) / count)
        self.total_size = self.num_samples * count

    def __iter__(self) -> Any:
        order, size = list(range(len(self.dataset))), self.total_size
        if self.shuffle:
            order = permuted_range(len(order), random.Generator().manual_seed(self.seed + self.epoch)).tolist()
        if not self.drop_last:  # what is missing is taken from the beginning again
            order *= math.ceil(size / len(order))
        return iter(order[self.rank : size : self.num_replicas])

    def set_epoch(self, epoch: int) -> None:
        """Say which pass begins, so that the order is another one."""
        self.epoch = epoch


class SubsetRandomSampler(Sampler):
    """The given indices in random order."""

    def __init__(self, indices: Sequence[int], generator: random.Generator | None = None) -> None:
        self.indices, self.num_samples, self.generator = indices, len(indices), generator

    def __iter__(self) -> Any:
        return (self.indices[i] for i in permuted_range(len(self), self.generator).tolist())


class WeightedRandomSampler(Sampler):
    """Indices drawn with these weights."""

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: random.Generator | None = None,
    ) -> None:
        self.num_samples, self.replacement = positive("num_samples", num_samples), truth("replacement", replacement)
        self.weights, self.generator = as_tensor(weights, dtype=FLOAT64), generator
        refuse(
            self.weights.ndim != 1,
            f"weights should be a 1d sequence but given weights have shape {(*self.weights.shape,)}",
            ValueError,
        )

    def __iter__(self) -> Any:
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()


class BatchSampler(Sampler):
    """Lists of indices that another sampler gives, or of any other things."""

    def __init__(self, sampler: Any, batch_size: int, drop_last: bool) -> None:
        self.sampler, self.batch_size = sampler, positive("batch_size", batch_size)
        self.drop_last = truth("drop_last", drop_last)

    def __iter__(self) -> Any:
        indices = iter(self.sampler)
        while (batch := list(islice(indices, self.batch_size))) and not (
            self.drop_last and len(batch) < self.batch_size
        ):
            yield batch

    def __len__(self) -> int:
        return (len(self.sampler) + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size


# ------------------------------------------------------------------ batches


def default_collate(batch: Sequence[Any]) -> Any:
    """Return samples as one batch.

    Tensors stacked, numbers as a tensor, texts as they are, collections item by item.
    """
    first = batch[0]
    if isinstance(first, Tensor | np.ndarray):
        return call["stack"](list(map(as_tensor, batch)), 0)
    if isinstance(first, np.bool_ | np.number):
        return as_tensor(batch)
    if isinstance(first, float | int):
        return from_array(unpack.infer(batch, FLOAT64 if isinstance(first, float) else None), None)
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Sequence):
        refuse(any(len(one) != len(first) for one in batch), "each element in list of batch should be of equal size")
        return rebuilt(first, [default_collate(items) for items in zip(*batch, strict=False)])
    if isinstance(first, Mapping):
        return rebuilt(first, {key: default_collate([one[key] for one in batch]) for key in first})
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


def default_convert(data: Any) -> Any:
    """Return a sample with its arrays as tensors."""
    if isinstance(data, np.ndarray | np.generic):
        return data if data.dtype.kind in "SUO" else as_tensor(data)
    if isinstance(data, Mapping):
        return rebuilt(data, {key: default_convert(value) for key, value in data.items()})
    is_list = isinstance(data, Sequence) and not isinstance(data, str | bytes)
    return rebuilt(data, list(map(default_convert, data))) if is_list else data


def rebuilt(model: Any, items: Any) -> Any:
    """Return items as a collection of the model's class, if that is made of items; what has to be a tuple is a list."""
    if isinstance(model, tuple):
        return type(model)(*items) if hasattr(model, "_fields") else items
    try:
        return type(model)(items)
    except TypeError:  # a class that is made in another way
        return items


# ------------------------------------------------------------------ the loader
class Batches(Iterator[Any]):
    """What goes once over the batches of a loader; its length is how many those are in all."""

    def __init__(self, loader: DataLoader, batches: Iterator[Any]) -> None:
        self._loader, self._batches = loader, batches

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        return next(self._batches)


class DataLoader(Typed):
    """Batches of a dataset, in order, shuffled, or as a sampler says."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[..., Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[..., Any] | None = None,
        multiprocessing_context: object = None,
        generator: random.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        self.dataset, self.num_workers, self.pin_memory, self.drop_last = dataset, num_workers, pin_memory, drop_last
        self.generator, self.batch_size = generator, batch_size if batch_sampler is None else None
        self.worker_init_fn, self.prefetch_factor, self.timeout = worker_init_fn, prefetch_factor, timeout
        self.persistent_workers = persistent_workers
        self._workers: list[Worker] = []
        self._streams = isinstance(dataset, IterableDataset)
        refuse_any(
            {
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.": (
                    num_workers < 0
                ),
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None.": (
                    num_workers == 0 and prefetch_factor is not None
                ),
                "persistent_workers option needs num_workers > 0": num_workers == 0 and persistent_workers,
                "timeout option should be non-negative": timeout < 0,
                **{
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}": (
                        self._streams and value is not None
                    )
                    for name, value in {
                        "shuffle": shuffle or None,
                        "sampler": sampler,
                        "batch_sampler": batch_sampler,
                    }.items()
                },
                "sampler option is mutually exclusive with shuffle": sampler is not None and shuffle,
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last": (
                    batch_sampler is not None and (batch_size != 1 or shuffle or sampler is not None or drop_last)
                ),
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last": (
                    batch_sampler is None and batch_size is None and drop_last
                ),
            },
            ValueError,
        )
        if sampler is None and not self._streams:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        self.sampler, self.batch_sampler = dataset if self._streams else sampler, batch_sampler
        if self.batch_size is not None:
            self.batch_sampler = BatchSampler(self.sampler, self.batch_size, drop_last)
        self.collate_fn = collate_fn or (default_convert if self.batch_sampler is None else default_collate)

    def __setattr__(self, attr: str, val: object) -> None:
        refuse(
            "collate_fn" in vars(self)  # which is written last
            and attr in ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"),
            f"{attr} attribute should not be set after {type(self).__name__} is initialized",
            ValueError,
        )
        super().__setattr__(attr, val)

    def __len__(self) -> int:
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Any:
        if self.pin_memory:
            warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't "
                "be used."
            )
        is_read_by_workers = self._streams and self.num_workers
        order = iter(() if is_read_by_workers else self.sampler if self.batch_sampler is None else self.batch_sampler)
        if not (self._workers and self.persistent_workers):
            base = seed(self.generator)
            self._workers = [Worker(number, self, base) for number in range(self.num_workers)]
        return Batches(
            self,
            batches_by(self._workers, self, order)
            if self._workers
            else map(partial(self._batch_, self.dataset), order),
        )

    def _parts_(self, stream: Iterable[Any]) -> Any:
        """Return an iterator over the samples of a stream, or over lists of them."""
        return iter(stream if self.batch_size is None else BatchSampler(stream, self.batch_size, self.drop_last))

    def _rows_(self, order: Any) -> Any:
        """Return the batch of those indices, if it is rows of tensors; None if samples have to be made."""
        is_plain = self.batch_sampler is not None and self.collate_fn is default_collate and not self._streams
        return stacked(self.dataset, order) if is_plain else None

    def _batch_(self, dataset: Any, order: Any) -> Any:
        """Return the batch of those indices, or the sample of one; of a stream, of those samples."""
        if (rows := self._rows_(order)) is not None:
            return rows
        if not self._streams:
            order = dataset[order] if self.batch_sampler is None else fetched(dataset, order)
        return self.collate_fn(order)


# where PyTorch has them: from torch.utils.data.sampler import SubsetRandomSampler
for kind, file in ((Dataset, "dataset"), (Sampler, "sampler"), (DataLoader, "dataloader")):
    for own in [one for one in vars().values() if isinstance(one, type) and issubclass(one, kind)]:
        own.__module__ = f"torch.utils.data.{file}"
DistributedSampler.__module__ = "torch.utils.data.distributed"
distributed = module("utils.data.distributed", DistributedSampler=DistributedSampler)
__path__: list[str] = []
__getattr__ = absent("torch.utils.data")
