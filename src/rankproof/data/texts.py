"""Texts by id: what a corpus and a set of queries have in common."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from .ids import checked_id
from .refusals import refusal


@dataclass(frozen=True, slots=True)
class TextRecord:
    """One text and whatever else its source says about it."""

    id: str
    text: str
    title: str = ""
    fields: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    line: int | None = field(default=None, compare=False)


_Record = TypeVar("_Record", bound=TextRecord)


class Texts(Mapping[str, _Record], Generic[_Record]):
    """Id to text, in the order they came; built from records, checked, and never changed after."""

    __slots__ = ("_records", "source")
    column = "text"

    def __init__(self, records: Iterable[_Record], *, source: str = "") -> None:
        found: dict[str, _Record] = {}
        for record in records:
            key = checked_id(record.id, self.column, source=source, line=record.line)
            earlier = found.setdefault(key, record)
            if earlier is not record:
                where = f"line {earlier.line}" if earlier.line else "an earlier place"
                raise refusal("id-twice", source=source, line=record.line, column=self.column, token=key, first=where)
        self._records = MappingProxyType(found)
        self.source = source

    def __getitem__(self, key: str) -> _Record:
        return self._records[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.source}: {len(self)} texts>"

    def fingerprint(self) -> str:
        """A sha256 of ids, texts, titles and fields, the same for any order of records."""
        import hashlib
        import json

        digest = hashlib.sha256()
        for key in sorted(self):
            record = self[key]
            parts = [record.id, record.title, record.text, dict(record.fields)]
            digest.update(json.dumps(parts, sort_keys=True, default=str).encode() + b"\n")
        return digest.hexdigest()
