"""Judgements by a person as a log keeps them: one line each, in the order in which they were made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import InputError
from ..experiment.results.values import Values
from ..formats import strict_json

Pair = tuple[str, str]
"""A query and a document, by their ids."""
What = Literal["judged", "undone"]

FORMAT = "rankproof-judgements"
SCHEMA = 1
_OPENING = f'{{"format": "{FORMAT}", '.encode()
PERSON = "human:"
"""What the second column of a judgement by a person begins with."""


@dataclass(frozen=True, slots=True)
class Record:
    """One judgement, or one taken back; a grade of None says that the pair has none after it, or had none before."""

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
        """As TREC qrels keep it, who judged and when in the second column."""
        return f"{self.query} {PERSON}{self.who}@{self.when} {self.doc} {self.grade}\n".encode()


def beginning(fingerprint: str) -> bytes:
    """The log's first line: what it is, and the data that its judgements are about."""
    return _line({"format": FORMAT, "schema": SCHEMA, "fingerprint": fingerprint})


def whole_lines(content: bytes) -> int:
    """How many bytes of the content are lines with their end."""
    return content.rfind(b"\n") + 1


def read_log(content: bytes, source: str) -> tuple[str | None, list[Record]]:
    """The fingerprint, None where there is no whole line, and the records of whole lines; what is no log of ours is refused.

    A last line without its end is left out: a kill or a full disk cut it, and nobody was told of it.
    """
    if not content.startswith(_OPENING[: len(content)]):
        raise InputError("this is no log of judgements", fix="name a new file", source=source, line=1)
    lines = list(_values(content, source))
    if not lines:
        return None, []
    first = lines[0]
    if first.plain.get("format") != FORMAT or first.plain.get("schema") != SCHEMA:
        raise first.error("this is no log of judgements of this rankproof", "name a new file")
    return first.text("fingerprint"), list(map(_record, lines[1:]))


def _values(content: bytes, source: str) -> Iterator[Values]:
    for line, each in enumerate(content.split(b"\n")[:-1], start=1):
        if not each.isascii():
            raise InputError("bytes that the log never has", fix="name a new file", source=source, line=line)
        yield Values(strict_json.parse(each.decode(), source=source, line=line), source, line=line)


def _record(values: Values) -> Record:
    what: What = values.choice("what", ("judged", "undone"))  # type: ignore[assignment]
    grade, previous = (None if values.plain.get(key) is None else values.count(key) for key in ("grade", "previous"))
    return Record(what, values.text("query"), values.text("doc"), grade, previous, values.text("who"), values.text("when"))


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode() + b"\n"
