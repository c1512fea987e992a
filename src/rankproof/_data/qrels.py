"""Judgements, the labels of machine judges, and the scale of grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from rankproof._data.row_errors import MAX_GRADE, row_error
from rankproof._data.validation import checked_keys
from rankproof.errors import for_message

GRADES: Mapping[int, str] = {
    0: "of no use: it is about something else, even where it shares words with the query",
    1: "related: it is about the matter of the query, but does not answer it; the reader has to go on looking",
    2: "useful: it answers a part of the query, or answers it vaguely, or among much that was not asked for",
    3: "an answer: whoever asked this has what they wanted and can stop looking",
}


LOWEST_GRADE, HIGHEST_GRADE = min(GRADES), max(GRADES)


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judgement, with its line number (None if not from a file) and the label of the model or rule that judged it, if any."""

    query: str
    doc: str
    grade: int
    line: int | None = None
    judge_label: str = ""


def checked_grade(value: object, *, query: str, doc: str, source: str = "", line: int | None = None) -> int:
    """The value as a grade: an integer, or a float that equals one, of at most 1000."""
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise row_error("grade-type", source=source, line=line, query=query, doc=doc, kind=type(value).__name__)
    if isinstance(value, float) and not value.is_integer():
        raise row_error("grade-text", source=source, line=line, token=repr(value))
    return bounded_grade(int(value), source=source, line=line)


def bounded_grade(grade: int, *, source: str = "", line: int | None = None) -> int:
    """The grade; one above the limit or outside 64 bits is an error."""
    if not -(1 << 63) <= grade < 1 << 63:
        raise row_error("grade-bits", source=source, line=line, token=str(grade))
    if grade > MAX_GRADE:
        raise row_error("grade-high", source=source, line=line, token=str(grade))
    return grade


GradesByQuery = Mapping[str, Mapping[str, int] | Set[str]]
"""Query to document to grade, or query to the set of relevant documents."""


class Qrels(Mapping[str, Mapping[str, int]]):
    """Query to document to grade; checked when built, and immutable.

    Made from {query: {doc: grade}}, {query: {relevant docs}} with grade 1, or Judgements. `judge_labels` has the label of the
    machine that judged a pair; a pair that is not in it was judged by people.
    """

    __slots__ = ("_grades", "judge_labels", "repeats", "source")

    def __init__(self, judgements: GradesByQuery | Iterable[Judgement], *, source: str = "qrels") -> None:
        grades: dict[str, dict[str, int]] = {}
        lines: dict[tuple[str, str], int | None] = {}
        labels: dict[tuple[str, str], str] = {}
        self.repeats = 0
        self.source = source
        for row in _judgements(judgements, source) if isinstance(judgements, Mapping) else judgements:
            docs = grades.setdefault(row.query, {})
            earlier = docs.setdefault(row.doc, row.grade)
            key = (row.query, row.doc)
            if key in lines:
                if earlier != row.grade:
                    raise _conflict_error(row, earlier, lines[key], source)
                self.repeats += 1
            else:
                lines[key] = row.line
                if row.judge_label:
                    labels[key] = row.judge_label
        self.judge_labels: Mapping[tuple[str, str], str] = MappingProxyType(labels)
        self._grades = _read_only(grades)

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, int]], *, source: str = "qrels") -> Qrels:
        """Qrels from a dict of dicts; integer ids become their decimal text."""
        return cls(grades, source=source)

    @classmethod
    def of_checked(cls, grades: Mapping[str, Mapping[str, int]], *, source: str) -> Qrels:
        """Qrels from ids and grades that are already checked, judged by people and without repeats."""
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

    def judge_counts(self, only: Collection[str] | None = None) -> dict[str, int]:
        """The number of judgements by label of machine judge; `only` selects queries."""
        return dict(Counter(label for (query, _), label in self.judge_labels.items() if only is None or query in only))

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


def _judgements(grades: GradesByQuery, source: str) -> Iterator[Judgement]:
    for query_id, given in zip(checked_keys(grades, "query", source=source), grades.values(), strict=True):
        docs = dict.fromkeys(given, 1) if isinstance(given, Set) else given
        if not isinstance(docs, Mapping):
            raise row_error("not-a-mapping", source=source, query=query_id, kind=type(docs).__name__, value="an integer grade")
        for doc_id, grade in zip(checked_keys(docs, "document", source=source), docs.values(), strict=True):
            yield Judgement(query_id, doc_id, checked_grade(grade, query=query_id, doc=doc_id, source=source))


def _conflict_error(row: Judgement, earlier: int, first: int | None, source: str) -> Exception:
    where = f"line {first}" if first else "an earlier row"
    return row_error(
        "conflict", source=source, line=row.line, doc=row.doc, query=row.query, first_grade=earlier, grade=row.grade, first=where
    )


JUDGE_PREFIXES = ("llm:", "keywords:", "heuristic:")
"""The prefixes of labels: a language model, keyword overlap, or rules that generated the query from the document."""
SHORTEST_PREFIX = min(map(len, JUDGE_PREFIXES))
HUMAN_JUDGE = "people"
"""The label of judgements by people, in files in which other judgements have one."""


def label_of(text: str) -> str:
    """The text if it is the label of a machine judge, else an empty one."""
    return text if text.startswith(JUDGE_PREFIXES) and text not in JUDGE_PREFIXES else ""


def describe_judges(judge_labels: Mapping[str, int], judgements: int) -> str:
    """A sentence on who made the judgements; `judge_labels` counts those of machines."""
    made = sum(judge_labels.values())
    by = ", ".join(
        f"{for_message(label)} ({count})" if len(judge_labels) > 1 else for_message(label)
        for label, count in judge_labels.items()
    )
    rest = judgements - made
    others = "none by people" if not rest else f"{rest} by people: human and machine judgements are mixed"
    mixed = "; several judges are mixed" if len(judge_labels) > 1 else ""
    return f"{made} of {judgements} judgements were made by {by}, {others}{mixed}"


def make_judge_label(prefix: str, name: str, digest: str) -> str:
    """The label of a machine judge: its kind, its name without white space and control characters, and a digest."""
    plain = "".join(char if char.isprintable() and not char.isspace() else "_" for char in name)
    return f"{prefix}{plain}:{digest}"
