"""Judgements by a person as a log keeps them: one line each, in the order in which they were made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..data.marks import person_mark
from ..errors import InputError
from ..experiment.results.values import Values
from ..formats import strict_json

Pair = tuple[str, str]
"""A query and a document, by their ids."""
What = Literal["judged", "undone"]

FORMAT = "rankproof-judgements"
SCHEMA = 1
_FIX = "the file is damaged or was changed: put back the old one, or name a new file"


@dataclass(frozen=True, slots=True)
class Record:
    """One judgement, or one taken back; a grade of None says that the pair has none."""

    what: What
    query: str
    doc: str
    grade: int | None
    previous: int | None
    who: str
    when: str

    @property
    def pair(self) -> Pair:
        """What was judged."""
        return self.query, self.doc

    def line(self) -> bytes:
        """As the log keeps it."""
        return _line({name: getattr(self, name) for name in self.__slots__})

    def judgement(self) -> bytes:
        """As TREC qrels keep it, the person in the second column."""
        return f"{self.query} {person_mark(self.who)} {self.doc} {self.grade}\n".encode()


def beginning(fingerprint: str) -> bytes:
    """The log's first line: what it is, and the data that its judgements are about."""
    return _line({"format": FORMAT, "schema": SCHEMA, "fingerprint": fingerprint})


def read_log(content: bytes, source: str) -> tuple[str, list[Record]]:
    """The fingerprint and the records of whole lines; anything else is refused, for it is no log of ours."""
    lines = list(_objects(content, source))
    first = Values(lines[0], source, line=1)
    if first.plain.get("format") != FORMAT or first.plain.get("schema") != SCHEMA:
        raise first.error("this is no log of judgements of this rankproof", "name a new file")
    return first.text("fingerprint"), [_record(Values(item, source, line=line)) for line, item in enumerate(lines[1:], start=2)]


def grades_of(records: Iterable[Record]) -> dict[Pair, Record]:
    """What stands in the end: the last record of each pair that has a grade, in the order in which pairs were first judged."""
    last = {record.pair: record for record in records}
    return {pair: record for pair, record in last.items() if record.grade is not None}


def undone_to(records: Iterable[Record], pair: Pair) -> int | None:
    """The grade that the pair had before its last judgement that was not taken back."""
    grades: list[int | None] = [None]
    for record in records:
        if record.pair == pair and record.what == "judged":
            grades.append(record.grade)
        elif record.pair == pair:
            grades.pop()
    return grades[-2] if len(grades) > 1 else None


def last_judged(records: Iterable[Record]) -> Pair | None:
    """The pair of the last judgement that was not taken back."""
    stack: list[Pair] = []
    for record in records:
        if record.what == "judged":
            stack.append(record.pair)
        else:
            del stack[len(stack) - 1 - stack[::-1].index(record.pair)]
    return stack[-1] if stack else None


def _record(values: Values) -> Record:
    what: What = values.choice("what", ("judged", "undone"))  # type: ignore[assignment]
    return Record(
        what,
        values.text("query"),
        values.text("doc"),
        _grade(values, "grade"),
        _grade(values, "previous"),
        values.text("who"),
        values.text("when"),
    )


def _grade(values: Values, key: str) -> int | None:
    return None if values.plain.get(key) is None else values.count(key)


def _objects(content: bytes, source: str) -> Iterator[Any]:
    for at, line in enumerate(content.splitlines(), start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            raise InputError("this is no UTF-8", fix=_FIX, source=source, line=at) from None
        yield strict_json.parse(text, source=source, line=at)


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode() + b"\n"
