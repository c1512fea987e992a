"""Training data as a file, so that they can be built on one machine and used on another."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from json import dumps, loads
from typing import Any

import numpy as np

from rankproof._data.arrays import IntArray
from rankproof._data.dataset import Dataset
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source, read_all_bytes
from rankproof._tokenizer_lab.splits import OtherSplitQueries
from rankproof._tokenizer_lab.training_data import PADDING, TrainingData, TrainingDataConfig, build_training_data
from rankproof.errors import InputError, UsageError

DATA_FILE = "training_data.json.gz"
_TEXT_KEYS = ("documents", "queries", "ids")
_ROW_KEYS = ("positives", "negatives", "relevant")
_FIX = "remove the file; it will be built again"


def cached_training_data(
    folder: str, languages: Mapping[str, Dataset], data_config: TrainingDataConfig, other_splits: OtherSplitQueries
) -> TrainingData:
    """The training data in the folder; built and written if missing."""
    digest, is_new = data_config.source_digest(languages, other_splits), not os.path.lexists(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be created ({reason})", fix="choose a folder that you can write") from None
    try:
        training_data = read_training_data(folder, digest)
        if training_data is None:
            training_data = build_training_data(languages, data_config, other_splits)
            write_training_data(training_data, digest, folder)
        return training_data
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def write_training_data(training_data: TrainingData, source_digest: str, folder: str) -> None:
    """Writes the file atomically; `source_digest` identifies what the training data were built from."""
    write_blocks(os.path.join(folder, DATA_FILE), _blocks(training_data, source_digest))


def read_training_data(folder: str, source_digest: str) -> TrainingData | None:
    """The training data in the folder, None if missing; raises an error if they were built from something else."""
    path = os.path.join(folder, DATA_FILE)
    if not os.path.exists(path):
        return None
    values = _read_json(path)
    if values.get("source_digest") != source_digest:
        raise UsageError(
            f"{path} has training data of another dataset, config or seed",
            fix="choose another folder; to train more seeds on the same data, use --repeats",
        )
    try:
        return _parse(values)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("invalid training data", fix=_FIX, source=path) from None


def _blocks(training_data: TrainingData, source_digest: str) -> Iterator[bytes]:
    yield dumps(
        {"source_digest": source_digest, "name": training_data.name, "judged_count": training_data.judged_count}
    ).encode()[:-1]
    for name in _TEXT_KEYS:
        yield f', "{name}": {dumps(getattr(training_data, name))}'.encode()
    for name in _ROW_KEYS:
        yield f', "{name}": {dumps(getattr(training_data, name).tolist())}'.encode()
    yield b"}\n"


def _read_json(path: str) -> Mapping[str, Any]:
    try:
        values = loads(read_all_bytes(open_source(path)))
    except (ValueError, RecursionError):
        raise InputError("not valid JSON", fix=_FIX, source=path) from None
    if not isinstance(values, dict):
        raise InputError("invalid training data", fix=_FIX, source=path)
    return values


def _parse(values: Mapping[str, Any]) -> TrainingData:
    documents, queries, ids = (_texts(values[name]) for name in _TEXT_KEYS)
    positives, negatives, relevant = (_rows(values[name], len(documents)) for name in _ROW_KEYS)
    judged_count = int(values["judged_count"])
    shapes = [rows.shape[:1] == (len(queries),) and rows.ndim == 2 for rows in (negatives, relevant)]
    if not (all(shapes) and positives.shape == (len(queries),) and 0 <= judged_count <= len(queries) and (positives >= 0).all()):
        raise ValueError
    return TrainingData(str(values["name"]), documents, queries, positives, negatives, relevant, judged_count, ids)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return tuple(value)


def _rows(value: Any, documents: int) -> IntArray:
    rows = np.array(value)
    if rows.dtype != np.int64 or not ((rows >= PADDING) & (rows < documents)).all():
        raise ValueError
    return rows
