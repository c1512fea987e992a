"""Lessons in a file, so that they can be made on one machine and taught on another."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from json import dumps, loads
from typing import Any

import numpy as np

from ...data.arrays import IntArray
from ...data.dataset import Dataset
from ...errors import InputError, UsageError
from ...formats.atomic import write_blocks
from ...formats.opening import all_bytes, open_source
from .lessons import ABSENT, Lessons
from .make import lessons_of
from .other_splits import Elsewhere
from .syllabus import Syllabus

FILE = "lessons.json.gz"
_TEXTS = ("documents", "queries", "ids")
_ROWS = ("positives", "negatives", "relevant")
_FIX = "remove it, and it is made again"


def lessons_in(folder: str, languages: Mapping[str, Dataset], syllabus: Syllabus, elsewhere: Elsewhere) -> Lessons:
    """The lessons in the folder, else new ones, which are put there."""
    made_of, is_new = syllabus.made_of(languages, elsewhere), not os.path.lexists(folder)
    try:
        os.makedirs(folder, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"{folder} cannot be made ({reason})", fix="name a folder that can be written to") from None
    try:
        lessons = read_lessons(folder, made_of)
        if lessons is None:
            lessons = lessons_of(languages, syllabus, elsewhere)
            write_lessons(lessons, made_of, folder)
        return lessons
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
        raise


def write_lessons(lessons: Lessons, made_of: str, folder: str) -> None:
    """The file in the folder, whole or not at all; `made_of` says what the lessons follow from."""
    write_blocks(os.path.join(folder, FILE), _blocks(lessons, made_of))


def read_lessons(folder: str, made_of: str) -> Lessons | None:
    """The lessons in the folder, None where there are none; those of other data or of another recipe are refused."""
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        return None
    told = _told(path)
    if told.get("made_of") != made_of:
        raise UsageError(
            f"{path} has lessons of other data, another recipe or another seed",
            fix="name another folder; more trainings on the same lessons come by --repeats",
        )
    try:
        return _checked(told)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise InputError("these are no whole lessons", fix=_FIX, source=path) from None


def _blocks(lessons: Lessons, made_of: str) -> Iterator[bytes]:
    yield dumps({"made_of": made_of, "name": lessons.name, "real": lessons.real}).encode()[:-1]
    for name in _TEXTS:
        yield f', "{name}": {dumps(getattr(lessons, name))}'.encode()
    for name in _ROWS:
        yield f', "{name}": {dumps(getattr(lessons, name).tolist())}'.encode()
    yield b"}\n"


def _told(path: str) -> Mapping[str, Any]:
    try:
        told = loads(all_bytes(open_source(path)))
    except (ValueError, RecursionError):
        raise InputError("this is no JSON", fix=_FIX, source=path) from None
    if not isinstance(told, dict):
        raise InputError("these are no lessons", fix=_FIX, source=path)
    return told


def _checked(told: Mapping[str, Any]) -> Lessons:
    documents, queries, ids = (_texts(told[name]) for name in _TEXTS)
    positives, negatives, relevant = (_rows(told[name], len(documents)) for name in _ROWS)
    real = int(told["real"])
    shapes = [rows.shape[:1] == (len(queries),) and rows.ndim == 2 for rows in (negatives, relevant)]
    if not (all(shapes) and positives.shape == (len(queries),) and 0 <= real <= len(queries) and (positives >= 0).all()):
        raise ValueError
    return Lessons(str(told["name"]), documents, queries, positives, negatives, relevant, real, ids)


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise TypeError
    return tuple(value)


def _rows(value: Any, documents: int) -> IntArray:
    rows = np.array(value)
    if rows.dtype != np.int64 or not ((rows >= ABSENT) & (rows < documents)).all():
        raise ValueError
    return rows
