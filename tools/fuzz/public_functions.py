"""Public functions with arguments of any type, and files of any bytes: they return, or raise an error of rankproof."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import rankproof as rp
from rankproof.errors import RankproofError
from tools.fuzz.choices import Choices

_BYTES = 600
_IDS: tuple[Any, ...] = (
    "q1",
    "q2",
    "d1",
    "d2",
    "d3",
    "é",
    "",
    "a b",
    "x" * 300,
    "\ud800",
    "\0",
    "=1+1",
    1,
    1.5,
    None,
    True,
    b"q",
    ("q",),
)
_USUAL_IDS = 3
_NUMBERS: tuple[Any, ...] = (
    1,
    0,
    2,
    0.5,
    3.0,
    -1,
    1e308,
    -0.0,
    1e-320,
    2**53 + 1,
    2**63,
    10**400,
    math.nan,
    math.inf,
    True,
    None,
    "1",
    "x",
)
_ODD: tuple[Any, ...] = (
    *(
        np.float32(0.5),
        np.int64(2),
        np.bool_(True),
        np.datetime64("2026-01-01"),
        np.array([1.0]),
        np.str_("q1"),
        np.timedelta64(1),
    ),
    *(
        Decimal("0.1"),
        datetime(2026, 1, 1),
        b"\xff",
        1j,
        {},
        [],
        [[]],
        {"q1": None},
        {"a": {"a": {}}},
        object,
        len,
        ...,
        pd.NA,
        pd.NaT,
    ),
)
_TEXTS = (
    "",
    "lemon",
    "Is it so? Yes.",
    "x" * 2000,
    "\ud800",
    "\0",
    "<b>",
    "[1] [2]",
    "é日",
    "\n",
    "1",
    "not answerable",
    "\u202e",
)
_MEASURES = (
    "nDCG@10",
    "RR",
    "P@5",
    "R(rel=2)@3",
    "AP",
    "ERR@20",
    "RBP(p=0.8)",
    "nDCG(gain='exp')@10",
    "F1",
    "Accuracy",
    "len:len",
    "",
)
_SETTINGS = (
    "exact",
    "holm",
    "ann",
    "min-max",
    "rrf",
    "gpt",
    "nDCG@10",
    "balanced",
    "team-draft",
    "",
    "a,b",
    "../x",
    "run",
    "score",
)
_KEYS = (
    "query_id",
    "doc_id",
    "query",
    "question",
    "text",
    "answer",
    "contexts",
    "grade",
    "score",
    "rank",
    "session",
    "time",
    "user",
    "clicked",
)
_MORE_KEYS = (
    "messages",
    "role",
    "content",
    "spans",
    "parent_id",
    "span_id",
    "attributes",
    "trace_id",
    "id",
    "name",
    "system",
    "turns",
    "impressions",
)
_ROWS = (
    "q1 0 d1 1",
    "q1 Q0 d1 1 2.5 t",
    '{"q1": {"d1": 1}}',
    '{"query_id": "q1", "doc_id": "d1", "score": 1}',
    "q1,d1,1",
    "query,doc,grade",
)
_SNIPPETS = (
    b"\xff",
    b"\0",
    b"\r",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"{",
    b"[" * 60,
    b'"',
    b",",
    b"\t",
    b"nan",
    b"1e999",
    b"\x1f\x8b",
    b"PAR1",
    b"(\xb5/\xfd",
)
_SUFFIXES = (".txt", ".json", ".jsonl", ".csv", ".tsv", ".toml", ".run", ".qrels", ".gz", ".zst", ".parquet", ".npz", ".lz4", "")


class _Arguments:
    """Makes arguments from bytes; most are of the documented type, so that the function gets far."""

    def __init__(self, choices: Choices, folder: Path) -> None:
        self._choices, self._folder = choices, folder

    def id(self) -> Any:
        usual = _IDS[: _USUAL_IDS + 3]
        return self._choices.pick(_IDS if self._choices.happens(12) else usual)

    def number(self) -> Any:
        return self._choices.pick(_NUMBERS if self._choices.happens(8) else _NUMBERS[:6])

    def text(self) -> Any:
        return self._choices.pick(_TEXTS) if not self._choices.happens(20) else self.anything()

    def anything(self) -> Any:
        return self._choices.pick((*_ODD, *_NUMBERS, *_TEXTS, *_IDS))

    def mapping(self, value: Callable[[], Any], most: int = 5) -> dict[Any, Any]:
        return {self.id(): value() for _ in range(self._choices.number(most + 1))}

    def judgements(self) -> Any:
        return self._or_table(lambda: self.mapping(lambda: self.mapping(self.number)), ("query_id", "doc_id", "grade"))

    def ranking(self) -> Any:
        return self._or_table(lambda: self.mapping(lambda: self.mapping(self.number)), ("query_id", "doc_id", "score"))

    def rankings(self) -> Any:
        return self._odd(lambda: {name: self.ranking() for name in ("a", "b", "c")[: 1 + self._choices.number(3)]})

    def measures(self) -> Any:
        return self._odd(lambda: self._choices.several(lambda: self._choices.pick(_MEASURES), 3) or None)

    def row(self) -> Any:
        keys = _KEYS if not self._choices.happens(4) else (*_KEYS, *_MORE_KEYS)
        return self._odd(lambda: {self._choices.pick(keys): self._cell() for _ in range(self._choices.number(7))})

    def rows(self) -> Any:
        return self._odd(lambda: self._choices.several(self.row, 6))

    def answers(self) -> Any:
        def row() -> Any:
            return self._odd(
                lambda: {
                    key: self._cell()
                    for key in ("id", "question", "answer", "contexts", "reference")
                    if not self._choices.happens(6)
                }
            )

        return self._odd(lambda: {"a": self._choices.several(row, 5), "b": self._choices.several(row, 5)})

    def options(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Some of the options, with the right or another type."""
        return {name: self._setting() for name in names if self._choices.happens(5)}

    def file(self) -> Path:
        """A file of rows and other bytes, with any suffix."""
        parts = self._choices.several(self._part, 12)
        path = self._folder / f"file{self._choices.pick(_SUFFIXES)}"
        path.write_bytes(b"".join(parts))
        return path

    def _part(self) -> bytes:
        kind = self._choices.number(4)
        if kind == 0:
            return self._choices.pick(_SNIPPETS)
        if kind == 1:
            return self._choices.raw(30)
        if kind == 2:
            return json.dumps(self.row(), default=repr).encode() + b"\n"
        return self._choices.pick(_ROWS).encode() + b"\n"

    def _cell(self) -> Any:
        kind = self._choices.number(6)
        if kind == 0:
            return self._choices.several(self.text, 3)
        if kind == 1:
            return self.number()
        if kind == 2:
            return self.id()
        return self.anything() if kind == 3 else self.text()

    def _setting(self) -> Any:
        return self._choices.pick(
            (self.number(), self._choices.pick(_SETTINGS), self.anything(), True, [self.number()], {"a": self.number()})
        )

    def _odd(self, make: Callable[[], Any]) -> Any:
        return self.anything() if self._choices.happens(25) else make()

    def _or_table(self, make: Callable[[], Any], columns: tuple[str, ...]) -> Any:
        kind = self._choices.number(12)
        if kind == 11:
            return self.anything()
        if kind == 10:
            return self.file()
        if kind > 7:
            rows = self._choices.several(lambda: [self.id(), self.id(), self.number()], 6)
            return pd.DataFrame(rows, columns=list(columns) if rows else None, dtype=object)
        return make()


def _evaluated(data: _Arguments) -> Any:
    return rp.evaluate(
        data.judgements(),
        data.ranking(),
        data.measures(),
        **data.options(("rel", "order", "on_duplicate", "judged_only", "lower_is_better")),
    )


def _compared(data: _Arguments) -> Any:
    options = data.options(("primary", "baseline", "margin", "costs", "looks", "judgements", "alpha", "correction", "seed"))
    return rp.compare(data.judgements(), data.rankings(), data.measures(), samples=50, **options)


def _answered(data: _Arguments) -> Any:
    options = data.options(("measures", "judge", "references", "rel", "labels", "qrels", "document"))
    return rp.evaluate_answers(data.answers(), **options)


def _rows_of_live_traffic(data: _Arguments) -> Any:
    return rp.online(
        data.rows(), **data.options(("primary", "baseline", "margin", "user", "metrics", "columns", "since", "by", "estimator"))
    )


def _imported(data: _Arguments) -> Any:
    source = data.file() if data.options(("file",)) else data.rows()
    return rp.import_dataset(source, **data.options(("importer", "query_column", "text_column", "grade_map", "on_conflict")))


FUNCTIONS: Mapping[str, Callable[[_Arguments], Any]] = {
    "Qrels": lambda data: rp.Qrels(data.judgements(), **data.options(("grade_map", "on_conflict"))),
    "Run": lambda data: rp.Run(data.ranking(), **data.options(("name",))),
    "Queries": lambda data: rp.Queries(data.rows()),
    "Answers": lambda data: rp.Answers(data.mapping(data.text)),
    "evaluate": _evaluated,
    "compare": _compared,
    "evaluate_answers": _answered,
    "online": _rows_of_live_traffic,
    "import_dataset": _imported,
    "sample_queries": lambda data: rp.sample_queries(
        data.rows(), **data.options(("n", "held_out", "min_users", "seed", "columns"))
    ),
    "interleave": lambda data: rp.interleave(
        data.mapping(lambda: [data.id()] * 2), seed=data.id(), **data.options(("method", "k", "experiment"))
    ),
    "fuse": lambda data: rp.fuse(
        data.rankings(), **data.options(("method", "k", "weights", "norm", "depth", "window", "fitted", "phi"))
    ),
    "correlate": lambda data: rp.correlate(data.rankings(), **data.options(("persistence", "measures"))),
    "agreement": lambda data: rp.agreement({"a": data.judgements(), "b": data.judgements()}),
    "audit": lambda data: rp.audit(
        data.judgements(), data.rankings(), data.measures(), **data.options(("ties", "unjudged", "judge_next"))
    ),
    "explain": lambda data: rp.explain(
        data.judgements(), data.rankings(), data.measures(), **data.options(("query", "doc", "system", "top"))
    ),
    "stability": lambda data: rp.stability(
        data.judgements(), data.rankings(), splits=3, rounds=2, **data.options(("primary", "pools", "flip"))
    ),
    "diagnose": lambda data: rp.diagnose(
        data.judgements(), data.rankings(), data.measures(), **data.options(("by", "failed", "top"))
    ),
    "segments": lambda data: rp.segments(
        data.judgements(), data.rankings(), samples=20, **data.options(("by", "profile", "alpha"))
    ),
    "doctor": lambda data: rp.doctor(data.judgements(), data.rankings()),
    "gate": lambda data: rp.gate(
        data.judgements(), data.rankings(), thresholds=data.measures(), **data.options(("baseline", "max_drops", "margin"))
    ),
    "parse_measure": lambda data: rp.parse_measure(data.text()),
    "read_qrels": lambda data: rp.read_qrels(data.file(), **data.options(("format", "encoding", "delimiter", "grade_map"))),
    "read_run": lambda data: rp.read_run(data.file(), **data.options(("format", "encoding", "delimiter"))),
    "read_experiment": lambda data: rp.read_experiment(data.file()),
    "load_results": lambda data: rp.load_results(data.file()),
}
"""Each function, called with arguments that bytes choose."""


def call(content: bytes, folder: Path) -> str:
    """Calls one of the functions, and prints what it returns; the name of the function."""
    choices = Choices(content)
    name = choices.pick(list(FUNCTIONS))
    try:
        value = FUNCTIONS[name](_Arguments(choices, folder))
        str(value), repr(value)
    except RankproofError:
        pass
    return name


def check(chance: random.Random, folder: Path) -> None:
    """One call with random bytes."""
    call(chance.randbytes(_BYTES), folder)
