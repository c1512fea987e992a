"""Hostile files: in a results folder, and as the input of a command."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

_TERABYTE = 1 << 40
_BOMB_BLOCK = 1 << 24
_BOMB_BLOCKS = 100
_DEEP = 50_000
DEEP_KEY = ".".join(["a"] * _DEEP) + " = 1\n"
"""A TOML file of 100 kB with one key."""


def _replaced(folder: Path, name: str, make: Callable[[Path], object]) -> str:
    path = folder / name
    path.unlink()
    make(path)
    return path.name


def _socket(path: Path) -> None:
    place = os.getcwd()
    # The path of a socket has at most 107 bytes.
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(place)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(_TERABYTE)


def _bomb(unit: bytes, begin: bytes = b"") -> bytes:
    """Gzip data of 2 MB that decompresses to 1.7 GB: members of the unit again and again."""
    member = gzip.compress(unit * (_BOMB_BLOCK // len(unit)), 9)
    return gzip.compress(begin) + member * _BOMB_BLOCKS


def _with_digest(folder: Path, name: str, content: bytes) -> str:
    """Replaces the file and its sha256 in result.json."""
    (folder / name).write_bytes(content)
    document = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    document["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "result.json").write_text(json.dumps(document, indent=1), encoding="utf-8")
    return Path(name).name


def _linked(name: str, target: str) -> Callable[[Path], str]:
    return lambda folder: _replaced(folder, name, lambda path: path.symlink_to(target))


def _linked_folder(folder: Path) -> str:
    outside = folder.with_name(f"{folder.name}-runs")
    (folder / "runs").rename(outside)
    (folder / "runs").symlink_to(outside)
    return "bm25.trec.gz"


RESULTS: Mapping[str, Callable[[Path], str]] = {
    "`result.json` is a named pipe": lambda at: _replaced(at, "result.json", os.mkfifo),
    "a run is a named pipe": lambda at: _replaced(at, "runs/bm25.trec.gz", os.mkfifo),
    "`queries.jsonl` is a link to `/dev/zero`": _linked("queries.jsonl", "/dev/zero"),
    "`snippets.jsonl` is a socket": lambda at: _replaced(at, "snippets.jsonl", _socket),
    "`qrels.tsv` is a link to `/etc/passwd`": _linked("qrels.tsv", "/etc/passwd"),
    "`runs` is a link to a folder outside": _linked_folder,
    "`experiment.toml` is a link to itself": _linked("experiment.toml", "experiment.toml"),
    "`result.json` is a folder": lambda at: _replaced(at, "result.json", os.mkdir),
    "`result.json` has 1 TB, sparse": lambda at: _replaced(at, "result.json", _sparse),
    "a run has 1 TB, sparse": lambda at: _replaced(at, "runs/bm25.trec.gz", _sparse),
    "`result.json` is gzip data of 1.7 GB": lambda at: _replaced(
        at, "result.json", lambda one: one.write_bytes(_bomb(b"[],", b'{"format": "rankproof-results", "x": ['))
    ),
    "a run is gzip data of 1.7 GB, with its sha256": lambda at: _with_digest(
        at, "runs/bm25.trec.gz", _bomb(b"# a comment\n", b"q1 Q0 d1 1 2.0 t\n")
    ),
    "`qrels.tsv` is gzip data of 1.7 GB, with its sha256": lambda at: _with_digest(
        at, "qrels.tsv", _bomb(b"\n", b"query-id\tcorpus-id\tscore\n")
    ),
    "`result.json` is nested 50,000 deep": lambda at: _replaced(
        at, "result.json", lambda one: one.write_text('{"format": "rankproof-results", "x": ' + "[" * _DEEP)
    ),
}
"""What is hostile in a results folder, and a function that makes it so and gives the name of the file."""
LOOKS: Mapping[str, Callable[[Path], str]] = {
    "`looks.jsonl` is a named pipe": lambda at: _replaced(at, "looks.jsonl", os.mkfifo),
    "`looks.jsonl` is a link to `/dev/zero`": _linked("looks.jsonl", "/dev/zero"),
}
"""What is hostile in the log of looks, which `compare` and `run` read."""


def _dictionary_bomb(path: Path) -> None:
    """A Parquet file of 0.6 MB whose document ids are 200 GB: one id of a megabyte in a dictionary, for every row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    count = 200_000
    ids = pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), pa.array(["x" * 1_000_000]))
    columns: dict[str, Any] = {"query_id": ["q1"] * count, "doc_id": ids, "score": np.arange(count, dtype=float)}
    pq.write_table(pa.table(columns), path, dictionary_pagesize_limit=1 << 24, store_schema=False)


def _wide_zstd(path: Path) -> None:
    import zstandard

    member = zstandard.ZstdCompressor().compress(b"[]," * (_BOMB_BLOCK // 3))
    path.write_bytes(zstandard.ZstdCompressor().compress(b"[") + member * _BOMB_BLOCKS)


FILES: Mapping[str, tuple[str, Callable[[Path], object]]] = {
    "`/dev/zero`": ("zero.txt", lambda path: path.symlink_to("/dev/zero")),
    "`/dev/urandom`": ("random.txt", lambda path: path.symlink_to("/dev/urandom")),
    "a socket": ("socket.txt", _socket),
    "a named pipe that nobody writes": ("pipe.txt", os.mkfifo),
    "zeros, 1 TB, sparse": ("sparse.txt", _sparse),
    "gzip data of 1.7 GB: zeros": ("zeros.txt.gz", lambda path: path.write_bytes(_bomb(b"\0"))),
    "gzip data of 1.7 GB: one JSON value": ("value.json.gz", lambda path: path.write_bytes(_bomb(b"[],", b"["))),
    "zstd data of 1.7 GB: one JSON value": ("value.json.zst", _wide_zstd),
    "Parquet of 0.6 MB, 200 GB in memory": ("bomb.parquet", _dictionary_bomb),
    "JSON nested 50,000 deep": ("deep.json", lambda path: path.write_text('{"q1": ' + "[" * _DEEP)),
}
"""Hostile files, with the name and a function that makes one."""
ENDLESS = "an endless pipe"


@contextmanager
def endless_pipe() -> Iterator[str]:
    """The path of a pipe that gives a row and then comments for ever."""
    text = 'echo "q1 Q0 d1 1 1.0 t"; exec yes "# a comment"'
    with subprocess.Popen(["sh", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as writer:
        assert writer.stdout is not None
        os.set_inheritable(writer.stdout.fileno(), True)
        try:
            yield f"/dev/fd/{writer.stdout.fileno()}"
        finally:
            writer.kill()
