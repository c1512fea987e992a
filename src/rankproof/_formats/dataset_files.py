"""Where a dataset folder has its judgements, queries and documents, and the names of datasets that are no files."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from rankproof._formats.registry import COMPRESSED_SUFFIXES
from rankproof._io.file_errors import file_error
from rankproof.errors import InputError, for_message

IRDS_PREFIX = "irds:"
SAMPLE = "sample"
"""The name of the built-in dataset."""
SAMPLE_RUN_PREFIX = f"{SAMPLE}:"


def is_irds_name(path: str) -> bool:
    """Whether the path is the name of a dataset of ir_datasets."""
    return path.startswith(IRDS_PREFIX)


def qrels_file(path: str) -> str:
    """The file of judgements: the path itself, or the one in the folder at the path."""
    if not os.path.isdir(path):
        return path
    return qrels_path(path)


DEFAULT_SPLIT = "test"
_SUFFIXES = ("tsv", "jsonl", "txt", "csv")
_QUERY_SUFFIXES = ("jsonl", "csv", "tsv", "txt")
_CORPUS_FILE = re.compile(
    rf"corpus(?P<part>-.*)?\.(?P<suffix>jsonl|parquet|csv|tsv)(?:{'|'.join(map(re.escape, COMPRESSED_SUFFIXES))})?"
)


def query_names(split: str) -> list[str]:
    return [f"{stem}.{suffix}" for suffix in _QUERY_SUFFIXES for stem in (f"queries.{split}", "queries")]


def corpus_files(folder: str) -> list[str]:
    """The files of the folder's documents: one called corpus, or parts such as corpus-1.jsonl.zst, sorted by name."""
    collections: dict[str, list[str]] = {}
    for name in sorted(os.listdir(folder)):
        if match := _CORPUS_FILE.fullmatch(name):
            # Parts of one suffix belong together; any other file is a collection of its own.
            key = match["suffix"] if match["part"] else name
            collections.setdefault(key, []).append(_plain_file(folder, os.path.join(folder, name)))
    files, *others = collections.values() or [[]]
    if others:
        fix = "move one of them to another folder; the parts of a collection are all called corpus-…, with one suffix"
        raise InputError(f"the folder also has {for_message(os.path.basename(others[0][0]))}", fix=fix, source=files[0])
    return files


def _plain_file(folder: str, path: str) -> str:
    from rankproof._io.files import check_folder_file

    check_folder_file(path, folder)
    return path


def is_unjudged(folder: str, split: str) -> bool:
    """Whether the folder has no file of judgements, of this split or another."""
    return find_file(folder, _qrels_names(split)) is None and not _qrels_files(folder)


def other_qrels(folder: str, *, split: str = DEFAULT_SPLIT) -> list[str]:
    """The files in the folder with judgements of other splits."""
    own = find_file(folder, _qrels_names(split))
    return [path for path in _qrels_files(folder) if own is None or os.path.realpath(path) != os.path.realpath(own)]


def _qrels_files(folder: str) -> list[str]:
    endings = tuple(f".{suffix}{packed}" for suffix in _SUFFIXES for packed in ("", *COMPRESSED_SUFFIXES))
    beside = os.path.join(folder, "qrels")
    listed = [os.path.join(beside, name) for name in sorted(os.listdir(beside))] if os.path.isdir(beside) else []
    listed += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("qrels.")]
    return [_plain_file(folder, path) for path in listed if path.endswith(endings)]


def qrels_path(folder: str, *, split: str = DEFAULT_SPLIT) -> str:
    """The file in the folder with the judgements of the split; a file without a split in its name is of `test`."""
    return existing_file(folder, _qrels_names(split), "qrels")


def _qrels_names(split: str) -> list[str]:
    stems = (f"qrels/{split}", f"qrels.{split}", *(("qrels",) if split == DEFAULT_SPLIT else ()))
    return [f"{stem}.{suffix}" for suffix in _SUFFIXES for stem in stems]


def find_file(folder: str, names: Iterable[str]) -> str | None:
    """The first file of these names in the folder, compressed or not."""
    paths = (os.path.join(folder, name + suffix) for name in names for suffix in ("", *COMPRESSED_SUFFIXES))
    return next((_plain_file(folder, path) for path in paths if os.path.exists(path)), None)


def existing_file(folder: str, names: Sequence[str], what: str) -> str:
    path = find_file(folder, names)
    if path is None:
        code = "folder-lacks-qrels" if what == "qrels" else "folder-lacks"
        raise file_error(code, source=folder, what=what, expected=names[0])
    return path
