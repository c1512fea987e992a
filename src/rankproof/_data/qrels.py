"""Judgements, the labels of machine judges, and the scale of grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from types import MappingProxyType
from typing import NamedTuple, get_args

from rankproof._data.grades import GradeMap, GradeReader, describe_conflicts, describe_converted
from rankproof._data.row_errors import OnConflict, row_error
from rankproof._data.text import pluralise
from rankproof._data.validation import checked_keys
from rankproof._data.view import View, Viewed, collection_view
from rankproof.errors import InputError, UsageError, for_message, type_phrase

GRADES: Mapping[int, str] = {
    0: "of no use: it is about something else, even where it shares words with the query",
    1: "related: it is about the matter of the query, but does not answer it; the reader has to go on looking",
    2: "useful: it answers a part of the query, or answers it vaguely, or among much that was not asked for",
    3: "an answer: whoever asked this has what they wanted and can stop looking",
}


LOWEST_GRADE, HIGHEST_GRADE = min(GRADES), max(GRADES)


class Judgement(NamedTuple):
    """One judgement, with its line number (None if not from a file), and the model or rule that judged it, if any."""

    query: str
    doc: str
    grade: int
    line: int | None = None
    judge_label: str = ""


GradesByQuery = Mapping[str, Mapping[str, int] | Set[str]]
"""Query to document to grade, or query to the set of relevant documents."""


class Qrels(Viewed, Mapping[str, Mapping[str, int]]):
    """Query to document to grade; checked when built, and immutable.

    Made from {query: {doc: grade}}, {query: {relevant docs}} with grade 1, or Judgements. `judge_labels` has the label of the
    machine that judged a pair; a pair that is not in it was judged by people. `repeats` counts exact repeats, which are dropped;
    `converted` the grades written as whole floats or booleans; `conflicts` the pairs with two grades, of which `on_conflict`
    chose one.
    """

    __slots__ = ("_grades", "conflicts", "converted", "judge_labels", "on_conflict", "repeats", "source")

    source: str
    judge_labels: Mapping[tuple[str, str], str]
    repeats: int
    converted: int
    conflicts: int
    on_conflict: OnConflict

    def __init__(
        self,
        judgements: GradesByQuery | Iterable[Judgement],
        *,
        source: str = "qrels",
        grade_map: GradeMap | None = None,
        on_conflict: OnConflict = "error",
    ) -> None:
        wrong = (
            [judgements] if not isinstance(judgements, Iterable) else judgements if isinstance(judgements, list | tuple) else []
        )
        if other := [one for one in wrong if not isinstance(one, Judgement)]:
            raise UsageError(f"judgements cannot be {type_phrase(other[0])}", fix="pass {query: {document: grade}}")
        grades = GradeReader(source, grade_map)
        rows = _judgements(judgements, grades) if isinstance(judgements, Mapping) else judgements
        self._fill(rows, grades, on_conflict)
        if isinstance(judgements, Qrels):
            self.repeats, self.converted = judgements.repeats, judgements.converted
            self.conflicts, self.on_conflict = judgements.conflicts, judgements.on_conflict
            self.judge_labels = judgements.judge_labels

    def _fill(self, judgements: Iterable[Judgement], grades: GradeReader, on_conflict: OnConflict) -> None:
        """Takes rows whose grades the reader reads; of several errors, the one on the first line is raised."""
        pairs = _Pairs(grades.source, on_conflict)
        try:
            pairs.add_all(judgements)
        except InputError as error:
            labels = grades.error()
            if labels is not None and (labels.line or 0) < (error.line or 1):
                raise labels from None
            raise
        if (labels := grades.error()) is not None:
            raise labels
        self.source, self.on_conflict = grades.source, on_conflict
        self.repeats, self.converted, self.conflicts = pairs.repeats, grades.converted, len(pairs.conflicts)
        self.judge_labels = MappingProxyType(pairs.labels)
        self._grades = _read_only(pairs.grades)

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

    def _view(self) -> View:
        count = sum(map(len, self.values()))
        rows = ((query, doc, grade) for query, docs in self.items() for doc, grade in docs.items())
        title = f"Qrels {self.source}: {pluralise(len(self), 'query', 'queries')}, {pluralise(count, 'judgement')}"
        return collection_view(title, {"query": "text", "document": "text", "grade": "count"}, rows, count)

    def judge_counts(self, only: Collection[str] | None = None) -> dict[str, int]:
        """The number of judgements by label of machine judge; `only` selects queries."""
        return dict(Counter(label for (query, _), label in self.judge_labels.items() if only is None or query in only))

    def grade_notes(self) -> tuple[str, ...]:
        """A sentence on converted grades and one on conflicts, if there are any."""
        converted = (describe_converted(self.converted),) if self.converted else ()
        return (*converted, describe_conflicts(self.conflicts, self.on_conflict)) if self.conflicts else converted

    def fingerprint(self) -> str:
        """A sha256 of the judgements, the same for any order of lines."""
        from hashlib import sha256

        digest = sha256()
        for query in sorted(self):
            for doc in sorted(self[query]):
                digest.update(f"{query}\0{doc}\0{self[query][doc]}\n".encode())
        return digest.hexdigest()


def qrels_of_rows(judgements: Iterable[Judgement], grades: GradeReader, on_conflict: OnConflict = "error") -> Qrels:
    """Qrels from rows whose grades the reader reads; grades that need a map are an error, listed together."""
    made = Qrels({}, source=grades.source)
    made._fill(judgements, grades, on_conflict)
    return made


def _read_only(grades: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    return MappingProxyType({query: MappingProxyType(docs) for query, docs in grades.items()})


def _judgements(grades: GradesByQuery, reader: GradeReader) -> Iterator[Judgement]:
    source = reader.source
    for query_id, given in zip(checked_keys(grades, "query", source=source), grades.values(), strict=True):
        docs = dict.fromkeys(given, 1) if isinstance(given, Set) else given
        if not isinstance(docs, Mapping):
            raise row_error("not-a-mapping", source=source, query=query_id, kind=type(docs).__name__, value="an integer grade")
        for doc_id, grade in zip(checked_keys(docs, "document", source=source), docs.values(), strict=True):
            yield Judgement(query_id, doc_id, reader.of_value(grade, query=query_id, doc=doc_id, line=None))


class _Pairs:
    """The grade of each pair of query and document, and the pairs with two grades."""

    def __init__(self, source: str, on_conflict: OnConflict) -> None:
        if on_conflict not in get_args(OnConflict):
            fix = f"choose from: {', '.join(get_args(OnConflict))}"
            raise UsageError(f"on_conflict is {for_message(repr(on_conflict))}", fix=fix)
        self.source, self._rule = source, on_conflict
        self.grades: dict[str, dict[str, int]] = {}
        self.labels: dict[tuple[str, str], str] = {}
        self.conflicts: set[tuple[str, str]] = set()
        self.repeats = 0
        self._lines: dict[tuple[str, str], int | None] = {}
        self._first: tuple[Judgement, int] | None = None

    def add_all(self, judgements: Iterable[Judgement]) -> None:
        """Adds the judgements; under `error`, a conflict above another error is reported instead of it."""
        try:
            for row in judgements:
                self._add(row)
        except InputError:
            self._check()
            raise
        self._check()

    def _add(self, row: Judgement) -> None:
        key, docs = (row.query, row.doc), self.grades.setdefault(row.query, {})
        if key not in self._lines:
            self._lines[key] = row.line
            self._keep(row, docs)
        elif docs[row.doc] == row.grade:
            self.repeats += 1
        else:
            self.conflicts.add(key)
            self._first = self._first or (row, docs[row.doc])
            if _REPLACES[self._rule](row.grade, docs[row.doc]):
                self._keep(row, docs)

    def _keep(self, row: Judgement, docs: dict[str, int]) -> None:
        docs[row.doc] = row.grade
        self.labels.pop((row.query, row.doc), None)
        if row.judge_label:
            self.labels[row.query, row.doc] = row.judge_label

    def _check(self) -> None:
        if self._rule != "error" or self._first is None:
            return
        row, earlier = self._first
        line = self._lines[row.query, row.doc]
        raise row_error(
            "conflict",
            source=self.source,
            line=row.line,
            doc=row.doc,
            query=row.query,
            first_grade=earlier,
            grade=row.grade,
            first=f"line {line}" if line else "an earlier row",
            all="" if len(self.conflicts) == 1 else f" ({len(self.conflicts)} pairs have two grades)",
        )


_REPLACES: Mapping[OnConflict, Callable[[int, int], bool]] = {
    "error": lambda grade, kept: False,
    "first": lambda grade, kept: False,
    "last": lambda grade, kept: True,
    "max": int.__gt__,
    "min": int.__lt__,
}
"""Whether a grade replaces the one that is kept, by rule."""


JUDGE_PREFIXES = ("llm:", "keywords:", "heuristic:")
"""The prefixes of labels: a language model, keyword overlap, or rules that generated the query from the document."""
SHORTEST_PREFIX = min(map(len, JUDGE_PREFIXES))
HUMAN_JUDGE = "people"
"""The label of judgements by people, in files in which other judgements have one."""


HUMAN_PREFIX = "human:"
"""The start of the second qrels column of a judgement that a person made in the browser: human:NAME@TIME."""


def assessor_of(text: str) -> str:
    """The name in the second qrels column of a judgement that a person made in the browser, else an empty one."""
    return text.removeprefix(HUMAN_PREFIX).rpartition("@")[0] if text.startswith(HUMAN_PREFIX) else ""


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
    return f"{prefix}{plain_judge_name(name)}:{digest}"


def plain_judge_name(name: str) -> str:
    """The name of a judge as its label has it."""
    return "".join(char if char.isprintable() and not char.isspace() else "_" for char in name)


def highest_grade(grades: Mapping[str, Mapping[str, int]]) -> int | None:
    """The highest grade in judgements, None if there are none."""
    return max((grade for docs in grades.values() for grade in docs.values()), default=None)
