"""Judgements: which document got which grade for which query."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from .ids import checked_keys
from .refusals import MAX_GRADE, refusal


@dataclass(frozen=True, slots=True)
class Judgement:
    """One line of qrels, with the line it stood in (None when it came from memory) and the mark of the machine that made it."""

    query: str
    doc: str
    grade: int
    line: int | None = None
    mark: str = ""


def checked_grade(value: object, *, query: str, doc: str, source: str = "", line: int | None = None) -> int:
    """The value as a grade: an integer (or a float that is one) of at most 1000."""
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise refusal("grade-type", source=source, line=line, query=query, doc=doc, kind=type(value).__name__)
    if isinstance(value, float) and not value.is_integer():
        raise refusal("grade-text", source=source, line=line, token=repr(value))
    return bounded_grade(int(value), source=source, line=line)


def bounded_grade(grade: int, *, source: str = "", line: int | None = None) -> int:
    """The grade, refused above the limit or outside 64 bits."""
    if not -(1 << 63) <= grade < 1 << 63:
        raise refusal("grade-bits", source=source, line=line, token=str(grade))
    if grade > MAX_GRADE:
        raise refusal("grade-high", source=source, line=line, token=str(grade))
    return grade


class Qrels(Mapping[str, Mapping[str, int]]):
    """Query to document to grade; built from rows, checked, and never changed after.

    `marks` says which pairs a machine judged, and which one; a pair that is not in it was judged by people.
    """

    __slots__ = ("_grades", "marks", "repeats", "source")

    def __init__(self, judgements: Iterator[Judgement], *, source: str = "qrels") -> None:
        grades: dict[str, dict[str, int]] = {}
        lines: dict[tuple[str, str], int | None] = {}
        marks: dict[tuple[str, str], str] = {}
        self.repeats = 0
        self.source = source
        for row in judgements:
            docs = grades.setdefault(row.query, {})
            earlier = docs.setdefault(row.doc, row.grade)
            key = (row.query, row.doc)
            if key in lines:
                if earlier != row.grade:
                    raise _conflict(row, earlier, lines[key], source)
                self.repeats += 1
            else:
                lines[key] = row.line
                if row.mark:
                    marks[key] = row.mark
        self.marks: Mapping[tuple[str, str], str] = MappingProxyType(marks)
        self._grades = _read_only(grades)

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, int]], *, source: str = "qrels") -> Qrels:
        """Qrels of a dict of dicts; ids that are integers become their decimal text."""
        return cls(_judgements(grades, source), source=source)

    @classmethod
    def of_checked(cls, grades: Mapping[str, Mapping[str, int]], *, source: str) -> Qrels:
        """Qrels of ids and grades that were checked where they were read, judged by people and each once."""
        made = cls(iter(()), source=source)
        made._grades = _read_only(grades)
        return made

    def __getitem__(self, query: str) -> Mapping[str, int]:
        return self._grades[query]

    def __iter__(self) -> Iterator[str]:
        return iter(self._grades)

    def __len__(self) -> int:
        return len(self._grades)

    def __repr__(self) -> str:
        return f"<Qrels {self.source}: {len(self)} queries, {sum(map(len, self.values()))} judgements>"

    def made_by(self, only: Collection[str] | None = None) -> dict[str, int]:
        """How many judgements each machine made, by its mark; `only` names the queries to look at."""
        return dict(Counter(mark for (query, _), mark in self.marks.items() if only is None or query in only))

    def fingerprint(self) -> str:
        """A sha256 of the judgements, the same for any order of lines."""
        from hashlib import sha256

        digest = sha256()
        for query in sorted(self):
            for doc in sorted(self[query]):
                digest.update(f"{query}\0{doc}\0{self[query][doc]}\n".encode())
        return digest.hexdigest()


def _read_only(grades: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    return MappingProxyType({query: MappingProxyType(docs) for query, docs in grades.items()})


def _judgements(grades: Mapping[str, Mapping[str, int]], source: str) -> Iterator[Judgement]:
    for query_id, docs in zip(checked_keys(grades, "query", source=source), grades.values(), strict=True):
        if not isinstance(docs, Mapping):
            raise refusal("not-a-mapping", source=source, query=query_id, kind=type(docs).__name__, value="an integer grade")
        for doc_id, grade in zip(checked_keys(docs, "document", source=source), docs.values(), strict=True):
            yield Judgement(query_id, doc_id, checked_grade(grade, query=query_id, doc=doc_id, source=source))


def _conflict(row: Judgement, earlier: int, first: int | None, source: str) -> Exception:
    where = f"line {first}" if first else "another place"
    return refusal(
        "conflict", source=source, line=row.line, doc=row.doc, query=row.query, first_grade=earlier, grade=row.grade, first=where
    )
