"""The reply of an HTTP engine: paths into JSON, ids, scores, texts, times, and the errors that a success can hide."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankproof._io.http import replace_surrogates
from rankproof.errors import UsageError, for_message

ROWS = "[]"
"""The step of a path that stands for every item of a list."""
Step = str | int
Path = tuple[Step, ...]
_STEP = re.compile(r'\.?(?:"([^"]+)"|([^.\[\]"]+))|\[(\d{1,6})\]|(\[\])')
ABSENT, ANY = "absent", "any"
"""Values of `expect`: the path has no value, or is not checked."""
_MISSING = object()


def parse_path(setting: str, text: str) -> Path:
    """The steps of a path such as `hits.hits[]._id`, `ids[0][]` or `value[]."@search.score"`.

    JMESPath drops missing values and flattens lists, so that ids and scores of different documents would be paired.
    """
    steps: list[Step] = []
    at = 0
    while at < len(text):
        step = _STEP.match(text, at)
        is_name = step is not None and not step[0].startswith("[")
        if step is None or (is_name and (at == 0) == step[0].startswith(".")):
            break
        quoted, plain, index, rows = step.groups()
        steps.append(int(index) if index else rows or quoted or plain)
        at = step.end()
    if at < len(text) or not steps:
        fix = 'write names joined by dots, [] for each item and [0] for one: "hits.hits[]._id"'
        raise UsageError(f"{setting} is {for_message(text)}, which is not a path into JSON", fix=fix)
    return tuple(steps)


def parse_column(setting: str, text: str) -> Path:
    """A path with exactly one [], which gives one value for each document."""
    path = parse_path(setting, text)
    if path.count(ROWS) != 1:
        what = f"{setting} is {for_message(text)}, which has {path.count(ROWS)} [] where one is needed"
        raise UsageError(what, fix='write [] after the list of documents: "hits.hits[]._id"')
    return path


def parse_value(setting: str, text: str) -> Path:
    """A path without [], which gives one value for a reply."""
    path = parse_path(setting, text)
    if ROWS in path:
        what = f"{setting} is {for_message(text)}, which has [] although it stands for one value"
        raise UsageError(what, fix='write [0] for the first item of a list: "errors[0].message"')
    return path


def value_at(document: Any, path: Path) -> Any:
    """The value at a path without [], or a marker for a missing one."""
    value = document
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else _MISSING
        else:
            value = value.get(step, _MISSING) if isinstance(value, dict) else _MISSING
    return value


def column_at(document: Any, path: Path) -> list[Any] | None:
    """The values of a path with one [], None for a missing one; None if there is no list."""
    at = path.index(ROWS)
    rows = value_at(document, path[:at])
    if not isinstance(rows, list):
        return None
    return [None if (value := value_at(row, path[at + 1 :])) is _MISSING else value for row in rows]


class ReplyError(ValueError):
    """A reply that cannot be used, and why; `retryable` says whether the same request may succeed later."""

    def __init__(self, why: str, *, retryable: bool = True) -> None:
        self.retryable = retryable
        super().__init__(why)


_REASONS = tuple(
    parse_path("reason", path)
    for path in (
        "error.reason",
        "error.message",
        "error.msg",
        "status.error",
        "header.error.message",
        "root.errors[0].message",
        "root.errors[0].summary",
        "errors[0].message",
        "detail",
        "message",
        "error",
    )
)
"""Where engines write the reason of an error."""


def reason_of(document: Any) -> str:
    """The server's reason for an error, "" if it has none."""
    reasons = (value_at(document, path) for path in _REASONS)
    text = next((value for value in reasons if isinstance(value, str) and value.strip()), "")
    return replace_surrogates(" ".join(text.split()))


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """Where a reply has its parts; a path that is None is not read. `expect` maps paths to the value that a good reply has."""

    ids: Path
    scores: Path | None
    texts: Path | None
    total: Path | None
    server_time: Path | None
    expect: Mapping[Path, Any]


@dataclass(frozen=True, slots=True)
class ReplyHits:
    """The documents of a reply, in its order; `total` is how many match, None if the server does not tell."""

    docs: tuple[str, ...]
    scores: tuple[float, ...] | None
    texts: Mapping[str, str]
    total: int | None


def check_expected(document: Any, expect: Mapping[Path, Any]) -> None:
    """Raises an error for a reply whose status is a success and whose content says otherwise."""
    for path, wanted in expect.items():
        value = value_at(document, path)
        if value is _MISSING or value is None or wanted == ANY or (wanted != ABSENT and _equal(value, wanted)):
            continue
        what = f"the reply has {path_text(path)}" + ("" if wanted == ABSENT else f" = {json.dumps(value)}")
        reason = reason_of(document)
        raise ReplyError(f"{what}: {reason}" if reason else what)


def _equal(value: Any, wanted: Any) -> bool:
    return value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def read_hits(document: Any, paths: ReplyPaths) -> ReplyHits:
    """The documents of a reply; one without an id, or without a list where no match is not reported, is an error."""
    total = _count(value_at(document, paths.total)) if paths.total else None
    ids = column_at(document, paths.ids)
    if ids is None and total == 0:
        ids = []
    if ids is None:
        reason = reason_of(document)
        what = f"the reply has no list at {path_text(paths.ids[: paths.ids.index(ROWS)]) or 'its root'}"
        raise ReplyError(f"{what}: {reason}" if reason else what)
    docs = tuple(_id(value, number, paths.ids) for number, value in enumerate(ids, start=1))
    texts = _column(document, paths.texts, len(docs))
    return ReplyHits(
        docs,
        _scores(_column(document, paths.scores, len(docs))),
        {doc: replace_surrogates(text) for doc, text in zip(docs, texts or (), strict=False) if isinstance(text, str)},
        total,
    )


def _id(value: Any, number: int, path: Path) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value:
        return value
    what = "no id" if value is None else f"an id that is {json.dumps(value)}"
    raise ReplyError(f"document {number} of the reply has {what} at {path_text(path)}", retryable=False)


def _column(document: Any, path: Path | None, count: int) -> list[Any] | None:
    values = column_at(document, path) if path else None
    return values if values is not None and len(values) == count else None


def _scores(values: Sequence[Any] | None) -> tuple[float, ...] | None:
    """The scores, None if one is missing; Weaviate writes numbers as text."""
    try:
        scores = tuple(float(value) for value in values or () if not isinstance(value, bool))
    except (TypeError, ValueError, OverflowError):
        return None
    return scores if values is not None and len(scores) == len(values) and all(map(math.isfinite, scores)) else None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def path_text(path: Path) -> str:
    """The path as the user writes it."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif step == ROWS:
            text += ROWS
        else:
            text += ("." if text else "") + (f'"{step}"' if re.search(r"[.\[\]]", step) else step)
    return text


MILLISECONDS: Mapping[str, float] = {"s": 1e3, "ms": 1.0, "us": 1e-3, "ns": 1e-6}
"""The milliseconds of one unit of the server's time."""


def server_milliseconds(value: Any, unit: str) -> float | None:
    """The server's own time, None if the reply has no such number."""
    try:
        milliseconds = float(value) * MILLISECONDS[unit]
    except (TypeError, ValueError, OverflowError):
        return None
    return milliseconds if math.isfinite(milliseconds) and milliseconds >= 0 and not isinstance(value, bool) else None
