from collections.abc import Callable, Iterable
from typing import Any

IS_FORM: int
IS_LOOKED_AT: int

class ReadError(Exception):
    args: tuple[str, int, dict[str, Any]]

Options = tuple[bool, bool, bool, int]
Judgements = tuple[object, tuple[str, ...], bytes, bytes, int, int, list[int], bool]
Arrays = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes]
Counts = tuple[int, int, int, int, int, int, int, int]
Aligned = tuple[Arrays, Counts, tuple[str, ...], tuple[str, ...], bytes]
Table = tuple[tuple[str, ...], bytes, bytes, bytes, bytes, bytes, bytes, tuple[str, ...], bool]
ReadInto = Callable[[memoryview], int | None]
Places = tuple[int, int, int, int, int, int]
Types = tuple[type, ...]

def judge_text(readinto: ReadInto, only: frozenset[str] | None, block: int, level: int, /) -> Judgements: ...
def judge_dict(mapping: object, only: frozenset[str] | None, dicts: Types, floats: Types, /) -> Judgements | None: ...
def documents(handle: object, index: int, /) -> list[str]: ...
def add_forms(handle: object, forms: list[tuple[int, Iterable[str]]], /) -> None: ...
def mark_queries(handle: object, queries: Iterable[str], mark: int, /) -> None: ...
def align_text(
    handle: object, readinto: ReadInto, options: Options, block: int, level: int, inside: bool, grouped: bool, /
) -> Aligned | None: ...
def align_dict(handle: object, mapping: object, options: Options, dicts: Types, floats: Types, /) -> Aligned | None: ...
def align_run(
    handle: object,
    options: Options,
    queries: tuple[str, ...],
    offsets: object,
    docs: tuple[str, ...] | bytes,
    bounds: object | None,
    scores: object,
    ranks: object | None,
    /,
) -> Aligned | None: ...
def align_arrow(
    handle: object, stream: object, options: Options, columns: tuple[int, int, int, int, int], keeps: bool, grouped: bool, /
) -> Aligned | None: ...
def read_table(readinto: ReadInto, run: bool, block: int, level: int, /) -> Table: ...
def read_delimited(
    readinto: ReadInto, run: bool, delimiter: int, header: int, columns: int, places: Places, block: int, /
) -> Table: ...
def read_json(
    readinto: ReadInto, run: bool, by_line: bool, places_of: Callable[[tuple[str, ...]], Places], block: int, /
) -> Table: ...
def parse_score(token: bytes, level: int, /) -> float | None: ...
