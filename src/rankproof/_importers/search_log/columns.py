"""Columns of a large log in little memory: numbers in packed blocks, and the names behind codes."""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
_LEAST_PACKED = 1 << 15
"""Blocks with fewer numbers stay as they are."""
_CHUNK_ROWS = 1 << 17
_TICKS = 1000.0
"""Times in whole milliseconds are packed as whole numbers."""
_DTYPES = {"q": np.int64, "i": np.int32, "d": np.float64, "b": np.int8}
_MOST_SECONDS, _MOST_TICKS = 1e12, 1 << 32
_MOST_APART = 0.125
"""With more numbers that do not fit than this share, a block stays as it is."""
_SMALL = (np.uint8, np.uint16, np.uint32)
MOST_RECENT = 1 << 17
"""Names that are found by a dictionary, which takes more memory than the texts themselves."""
_FREE = -1


class _PackedBlock(NamedTuple):
    """Numbers as `first` plus small ones, or plus the sums of small ones; `values` alone if `first` is None."""

    size: int
    first: int | None
    values: Array | None
    are_steps: bool = False
    are_ticks: bool = False
    apart: tuple[Array, Array] | None = None
    """The rows without a number, or with one that does not fit the others, and what they hold."""

    def numbers(self, dtype: Any) -> Array:
        """The numbers as they were."""
        if self.first is None:
            assert self.values is not None, "a block without a first number holds its values"
            return self.values
        whole = np.full(self.size, self.first, dtype=np.int64)
        if self.values is not None:
            whole += np.cumsum(self.values, dtype=np.int64) if self.are_steps else self.values
        numbers = whole / _TICKS if self.are_ticks else whole.astype(dtype)
        if self.apart is not None:
            rows, values = self.apart
            numbers[rows] = values
        return numbers


def _packed(values: Array) -> _PackedBlock:
    """The smallest form that gives exactly these numbers back."""
    as_it_is = _PackedBlock(len(values), None, values)
    if values.dtype != np.float64:
        return _packed_whole(values.astype(np.int64)) or as_it_is
    missing = np.isnan(values)
    if missing.all():
        return _PackedBlock(len(values), None, np.broadcast_to(np.float64(np.nan), len(values)))
    with np.errstate(over="ignore", invalid="ignore"):
        ticks = np.rint(values * _TICKS)
        fits = (np.abs(values) < _MOST_SECONDS) & (ticks / _TICKS == values)
    if not fits.any():
        return as_it_is
    near = ticks[fits]
    # A few wrong times, such as dates a century off, must not cost 8 bytes for every row.
    if near.max() - near.min() >= _MOST_TICKS:
        fits &= np.abs(ticks - np.median(near)) < _MOST_TICKS / 2
    if np.count_nonzero(fits | missing) < (1 - _MOST_APART) * len(values) or not fits.any():
        return as_it_is
    if fits.all():
        rows = None
    else:
        # A row takes the number before it, so that rows in order stay in order.
        ticks = ticks[np.maximum.accumulate(np.where(fits, np.arange(len(values)), fits.argmax()))]
        rows = np.flatnonzero(~fits).astype(np.int32)
    apart = None if rows is None else (rows, np.asarray(np.nan) if (~fits == missing).all() else values[rows])
    block = _packed_whole(ticks.astype(np.int64))
    return as_it_is if block is None else block._replace(are_ticks=True, apart=apart)


def _packed_whole(values: npt.NDArray[np.int64]) -> _PackedBlock | None:
    low, high = int(values.min()), int(values.max())
    if low == high:
        return _PackedBlock(len(values), low, None)
    if high - low >= _MOST_TICKS:
        return None
    small = next(dtype for dtype in _SMALL if high - low <= np.iinfo(dtype).max)
    steps = np.diff(values, prepend=values[:1])
    if steps.min() >= 0 and steps.max() <= np.iinfo(small).max // 256:
        return _PackedBlock(len(values), int(values[0]), steps.astype(np.uint8 if steps.max() < 256 else np.uint16), True)
    return _PackedBlock(len(values), low, (values - low).astype(small))


class PackedColumn:
    """A column that grows at its end; `pack` makes what was added since the last call small."""

    def __init__(self, typecode: str) -> None:
        self._tail: array[Any] = array(typecode)
        self.dtype = _DTYPES[typecode]
        self._blocks: list[_PackedBlock] = []
        self._packed_rows = 0
        self.append: Callable[[float], None] = self._tail.append
        self.extend: Callable[[Iterable[float]], None] = self._tail.extend

    def __len__(self) -> int:
        return self._packed_rows + len(self._tail)

    def extend_array(self, values: Array) -> None:
        """Adds the numbers of an array of the type of the column."""
        self._tail.frombytes(np.ascontiguousarray(values, dtype=self.dtype).tobytes())

    def pack(self) -> None:
        """Packs the rows at the end if there are enough."""
        if len(self._tail) >= _LEAST_PACKED:
            self._blocks.append(_packed(np.array(self._tail, dtype=self.dtype)))
            self._packed_rows += len(self._tail)
            del self._tail[:]

    @property
    def is_blank(self) -> bool:
        """Whether the column holds no number at all."""
        return all(bool(np.isnan(block).all()) for _, block in self.blocks())

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """The numbers block by block, each with the row of its first."""
        start = 0
        for block in self._blocks:
            yield start, block.numbers(self.dtype)
            start += block.size
        if self._tail:
            yield start, np.array(self._tail, dtype=self.dtype)

    def array(self) -> Array:
        """The whole column."""
        values = np.empty(len(self), dtype=self.dtype)
        for start, block in self.blocks():
            values[start : start + len(block)] = block
        return values

    def take(self, *, small: bool = False) -> Array:
        """The whole column, which is empty afterwards; with `small` in the smallest type that holds it and numbers beside it."""
        dtype = self._smallest() if small else self.dtype
        values, start = np.empty(len(self), dtype=dtype), 0
        self._blocks.reverse()
        while self._blocks:
            block = self._blocks.pop()
            values[start : start + block.size] = block.numbers(self.dtype)
            start += block.size
        values[start:] = self._tail
        del self._tail[:]
        self._packed_rows = 0
        return values

    def _smallest(self) -> Any:
        ends = [(int(block.min()), int(block.max())) for _, block in self.blocks()]
        low, high = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
        return smallest_dtype(low - 1, high + 1)


def smallest_dtype(low: int, high: int) -> Any:
    """The smallest signed type for whole numbers from `low` to `high`."""
    return next(
        dtype for dtype in (np.int8, np.int16, np.int32, np.int64) if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max
    )


def as_small(values: Array) -> Array:
    """The whole numbers in the smallest type that holds them and those beside them."""
    return values.astype(smallest_dtype(int(values.min(initial=0)) - 1, int(values.max(initial=0)) + 1))


def release_memory() -> None:
    """Gives freed memory back to the system: the C library keeps arrays of up to 32 MB, which add up to most of a log."""
    if sys.platform == "linux" and (trim := getattr(ctypes.CDLL(None), "malloc_trim", None)) is not None:
        trim(0)


def chunks(rows: int, at_once: int = _CHUNK_ROWS) -> Iterator[slice]:
    """Parts of so many rows, for steps whose intermediate arrays would take much memory."""
    for start in range(0, rows, at_once):
        yield slice(start, min(start + at_once, rows))


def list_chunks(sessions: int) -> Iterator[slice]:
    """Parts of so many sessions, for arrays with a row per document shown in them."""
    return chunks(sessions, _CHUNK_ROWS // 8)


class StoredTexts(Sequence[str]):
    """Texts in UTF-8, one after the other."""

    def __init__(self) -> None:
        self._bytes, self._ends = bytearray(), array("q")

    def add(self, text: bytes) -> None:
        """Adds a text at the end."""
        self._bytes += text
        self._ends.append(len(self._bytes))

    def encoded(self, at: int) -> bytearray:
        """The bytes of one text."""
        return self._bytes[self._ends[at - 1] if at else 0 : self._ends[at]]

    def __len__(self) -> int:
        return len(self._ends)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[str, ...]: ...
    def __getitem__(self, at: int | slice) -> str | tuple[str, ...]:
        places = range(len(self))[at]
        if isinstance(places, int):
            return self.encoded(places).decode("utf-8", "surrogatepass")
        return tuple(self[place] for place in places)

    def __iter__(self) -> Iterator[str]:
        start = 0
        for end in self._ends:
            yield self._bytes[start:end].decode("utf-8", "surrogatepass")
            start = end


class Names(dict[str, int]):
    """The code of each name, in the order in which names come."""

    def __missing__(self, name: str) -> int:
        code = self[name] = len(self)
        return code

    def codes(self, names: Iterable[str]) -> array[int]:
        """The codes of several names."""
        return array("i", map(self.__getitem__, names))


class ManyNames(dict[str, int]):
    """The code of each name, for millions of names: the dictionary holds recent ones, a table of hashes finds the others.

    A name that has the hash of another is told apart by its text.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts = StoredTexts()
        self._hashes = array("q")
        self._table: npt.NDArray[np.int32] = np.full(1 << 12, _FREE, dtype=np.int32)
        self._slots = self._table.data

    def __missing__(self, name: str) -> int:
        if len(self) >= MOST_RECENT:
            self.clear()
        code = self[name] = self._code(name.encode("utf-8", "surrogatepass"))
        return code

    def _code(self, text: bytes) -> int:
        slots, hashes = self._slots, self._hashes
        key, last = hash(text), len(slots) - 1
        at = key & last
        while (code := slots[at]) != _FREE:
            if hashes[code] == key and self.texts.encoded(code) == text:
                return code
            at = (at + 1) & last
        slots[at] = code = len(hashes)
        hashes.append(key)
        self.texts.add(text)
        if 2 * len(hashes) > len(slots):
            self._grow()
        return code

    def _grow(self) -> None:
        """Doubles the table: each code goes to the first free place from that of its hash on."""
        last = 2 * len(self._slots) - 1
        self._table = np.full(last + 1, _FREE, dtype=np.int32)
        left = np.arange(len(self._hashes), dtype=np.int32)
        at = np.frombuffer(self._hashes, dtype=np.int64) & last
        while len(left):
            is_free = self._table[at] == _FREE
            self._table[at[is_free]] = left[is_free]
            is_left = self._table[at] != left
            left, at = left[is_left], (at[is_left] + 1) & last
        self._slots = self._table.data
