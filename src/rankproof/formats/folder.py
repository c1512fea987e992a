"""A dataset as a folder: `corpus.jsonl`, `queries.jsonl`, and qrels where BEIR or seed 001 keep them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from ..data.corpus import Corpus
from ..data.dataset import Dataset
from ..data.qrels import Qrels
from ..data.queries import Queries
from ..errors import RankproofError, UsageError
from .atomic import write_blocks
from .beir import BEIR
from .faults import fault
from .opened import open_file
from .opening import open_source
from .table import COMPRESSED
from .texts_format import read_corpus, read_queries, text_blocks

SPLIT = "test"
_SUFFIXES = ("tsv", "jsonl", "txt")


def read_folder(folder: str, *, split: str = SPLIT) -> Dataset:
    """The dataset in the folder."""
    corpus, queries = read_folder_texts(folder, split=split)
    return Dataset(os.path.basename(os.path.abspath(folder)), corpus, queries, read_folder_qrels(folder, split=split))


def read_folder_texts(folder: str, *, split: str = SPLIT) -> tuple[Corpus, Queries]:
    """The documents and queries in the folder, which may lack judgements."""
    corpus = read_folder_corpus(folder)
    return corpus, read_queries(open_source(_found(folder, (f"queries.{split}.jsonl", "queries.jsonl"), "queries")))


def read_folder_corpus(folder: str) -> Corpus:
    """The documents in the folder, which may lack everything else."""
    if not os.path.isdir(folder):
        raise fault("missing" if not os.path.exists(folder) else "not-a-folder", source=folder)
    return read_corpus(open_source(_found(folder, ("corpus.jsonl",), "documents")))


def read_folder_qrels(folder: str, *, split: str = SPLIT) -> Qrels:
    """The judgements in the folder."""
    return open_file(qrels_path(folder, split=split)).qrels()


def judged_elsewhere(folder: str, *, split: str = SPLIT) -> frozenset[str]:
    """The queries that other splits of the folder judge; a file that cannot be read judges none."""
    found: set[str] = set()
    for path in other_qrels(folder, split=split):
        with suppress(RankproofError):
            found.update(open_file(path).qrels())
    return frozenset(found)


def other_qrels(folder: str, *, split: str = SPLIT) -> list[str]:
    """The files in the folder that hold judgements of other splits."""
    own = os.path.realpath(qrels_path(folder, split=split))
    endings = tuple(f".{suffix}{packed}" for suffix in _SUFFIXES for packed in ("", *COMPRESSED))
    beside = os.path.join(folder, "qrels")
    listed = [os.path.join(beside, name) for name in sorted(os.listdir(beside))] if os.path.isdir(beside) else []
    listed += [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.startswith("qrels.")]
    return [path for path in listed if path.endswith(endings) and os.path.realpath(path) != own]


def qrels_path(folder: str, *, split: str = SPLIT) -> str:
    """The file in the folder that holds the judgements; one that names no split holds those of the split `test`."""
    stems = (f"qrels/{split}", f"qrels.{split}", *(("qrels",) if split == SPLIT else ()))
    return _found(folder, [f"{stem}.{suffix}" for suffix in _SUFFIXES for stem in stems], "qrels")


def write_folder(dataset: Dataset, folder: str) -> None:
    """The dataset as a BEIR folder, which must not exist yet; it appears whole or not at all."""
    import shutil

    if os.path.exists(folder):
        raise UsageError(f"{folder} exists", fix="name a folder that does not exist yet")
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), f".rankproof-{os.urandom(8).hex()}.tmp")
    try:
        os.makedirs(os.path.join(beside, "qrels"))
        write_blocks(os.path.join(beside, "corpus.jsonl"), text_blocks(dataset.corpus))
        write_blocks(os.path.join(beside, "queries.jsonl"), text_blocks(dataset.queries))
        write_blocks(os.path.join(beside, "qrels", f"{SPLIT}.tsv"), BEIR.qrels_blocks(dataset.qrels))
        os.rename(beside, folder)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix="name a folder that can be written to") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _found(folder: str, names: Iterable[str], what: str) -> str:
    candidates = [os.path.join(folder, name) for name in names]
    for path in candidates:
        for suffix in ("", *COMPRESSED):
            if os.path.exists(path + suffix):
                return path + suffix
    code = "folder-lacks-qrels" if what == "qrels" else "folder-lacks"
    raise fault(code, source=folder, what=what, expected=os.path.relpath(candidates[0], folder))
