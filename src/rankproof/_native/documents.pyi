from typing import Any

from numpy.typing import NDArray

Buffer = bytes | memoryview | NDArray[Any]
Columns = tuple[bytes, bytes, bytes, bytes, bytes, bytes, bytes, bytes]

def scan(
    data: Buffer, start: int, line: int, most_rows: int, most_bytes: int, id_names: bytes, text_names: bytes, /
) -> tuple[int, int, Columns, bytes, bytes, bytes]: ...
def order(offsets: Buffer, data: Buffer, /) -> bytes: ...
def find(ids: list[str], entries: Buffer, columns: list[tuple[int, Buffer, Buffer]], /) -> bytes: ...
