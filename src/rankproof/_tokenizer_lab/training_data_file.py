"""Lessons in a file, so that they can be made on one machine and taught on another."""

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

DATA_FILE = "lessons.json.gz"
_TEXT_KEYS = ("documents", "queries", "ids")
_ROW_KEYS = ("positives", "negatives", "relevant")
_FIX = "remove it, and it is made again"


def cached_training_data(
    folder: str, languages: Mapping[str, Dataset], data_config: TrainingDataConfig, other_splits: OtherSplitQueries
) -> TrainingData:
    """The lessons in the folder, else new ones, which are put there."""
    made_of, is_new = data_config.source_digest(languages, other_splits), not os.path.lexists(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be created ({reason})", fix="name a folder that can be written to") from None
    try:
        lessons = read_training_data(folder, made_of)
        if lessons is None:
            lessons = build_training_data(languages, data_config, other_splits)
            write_training_data(lessons, made_of, folder)
        return lessons
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def write_training_data(lessons: TrainingData, source_digest: str, folder: str) -> None:
    """The file in the folder, whole or not at all; `made_of` says what the lessons follow from."""
    write_blocks(os.path.join(folder, DATA_FILE), _blocks(lessons, source_digest))


def read_training_data(folder: str, source_digest: str) -> TrainingData | None:
    """The lessons in the folder, None where there are none; those of other data or of another recipe are refused."""
    path = os.path.join(folder, DATA_FILE)
    if not os.path.exists(path):
        return None
    told = _read_json(path)
    if told.get("made_of") != source_digest:
        raise UsageError(
            f"{path} has lessons of other data, another recipe or another seed",
            fix="name another folder; more trainings on the same lessons come by --repeats",
        )
    try:
        return _parse(told)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("these are no whole lessons", fix=_FIX, source=path) from None


def _blocks(lessons: TrainingData, source_digest: str) -> Iterator[bytes]:
    yield dumps({"made_of": source_digest, "name": lessons.name, "real": lessons.judged_count}).encode()[:-1]
    for name in _TEXT_KEYS:
        yield f', "{name}": {dumps(getattr(lessons, name))}'.encode()
    for name in _ROW_KEYS:
        yield f', "{name}": {dumps(getattr(lessons, name).tolist())}'.encode()
    yield b"}\n"


def _read_json(path: str) -> Mapping[str, Any]:
    try:
        told = loads(read_all_bytes(open_source(path)))
    except (ValueError, RecursionError):
        raise InputError("this is no JSON", fix=_FIX, source=path) from None
    if not isinstance(told, dict):
        raise InputError("these are no lessons", fix=_FIX, source=path)
    return told


def _parse(told: Mapping[str, Any]) -> TrainingData:
    documents, queries, ids = (_texts(told[name]) for name in _TEXT_KEYS)
    positives, negatives, relevant = (_rows(told[name], len(documents)) for name in _ROW_KEYS)
    real = int(told["real"])
    shapes = [rows.shape[:1] == (len(queries),) and rows.ndim == 2 for rows in (negatives, relevant)]
    if not (all(shapes) and positives.shape == (len(queries),) and 0 <= real <= len(queries) and (positives >= 0).all()):
        raise ValueError
    return TrainingData(str(told["name"]), documents, queries, positives, negatives, relevant, real, ids)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return tuple(value)


def _rows(value: Any, documents: int) -> IntArray:
    rows = np.array(value)
    if rows.dtype != np.int64 or not ((rows >= PADDING) & (rows < documents)).all():
        raise ValueError
    return rows
