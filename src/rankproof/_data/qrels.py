"""Judgements, the labels of machine judges, and the scale of grades."""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, get_args

from rankproof._data.grades import GradeMap, GradeReader, describe_conflicts, describe_converted, describe_merged
from rankproof._data.row_errors import MAX_GRADE, OnConflict, row_error
from rankproof._data.text import pluralise
from rankproof._data.validation import are_plain_ids, checked_keys
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
    """One judgement, with its line number (None if not from a file), and the model or rule that judged it, if any.

    `subtopic` is the part of the query that the document was judged for, empty if it was judged for the whole.
    """

    query: str
    doc: str
    grade: int
    line: int | None = None
    judge_label: str = ""
    subtopic: str = ""

    @property
    def judged_by(self) -> str:
        """The label of the machine that judged, else the one of people."""
        return self.judge_label or HUMAN_JUDGE


GradesBySubtopic = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Query to subtopic to document to grade."""
GradesByQuery = Mapping[str, Mapping[str, int] | Set[str]]
"""Query to document to grade, or query to the set of relevant documents."""


class Qrels(Viewed, Mapping[str, Mapping[str, int]]):
    """Query to document to grade; checked when built, and immutable.

    Made from {query: {doc: grade}}, {query: {relevant docs}} with grade 1, or Judgements. `judge_labels` has the label of the
    machine that judged a pair; a pair that is not in it was judged by people. `repeats` counts exact repeats, which are dropped;
    `converted` the grades written as whole floats or booleans; `conflicts` the pairs with two grades, of which `on_conflict`
    chose one.

    `subtopics` has the grades of documents for each subtopic, where judgements name more than one subtopic. The grade of such a
    document for the query is then its largest, or the one that `on_conflict` chooses; `merged` counts the documents whose grades
    differ between subtopics.
    """

    __slots__ = (
        "_grades",
        "aligned",
        "conflicts",
        "converted",
        "judge_labels",
        "merged",
        "on_conflict",
        "repeats",
        "source",
        "subtopics",
    )

    source: str
    subtopics: GradesBySubtopic
    merged: int
    _grades: dict[str, dict[str, int]]
    aligned: dict[Any, Any]
    """What alignment keeps of the judgements for the next run."""
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
        _check_types(judgements)
        grades = GradeReader(source, grade_map)
        plain = _plain_grades(judgements) if grade_map is None else None
        if plain is not None:
            self._fill(iter(()), grades, on_conflict)
            self._grades = plain
        elif isinstance(judgements, Qrels) and judgements.subtopics:
            rows: Iterable[Judgement] = _subtopic_judgements(judgements.subtopics, grades)
            self._fill(rows, grades, judgements.on_conflict, by_subtopic=True)
        else:
            self._fill(_judgements(judgements, grades) if isinstance(judgements, Mapping) else judgements, grades, on_conflict)
        if isinstance(judgements, Qrels):
            self.repeats, self.converted = judgements.repeats, judgements.converted
            self.conflicts, self.on_conflict = judgements.conflicts, judgements.on_conflict
            self.judge_labels = judgements.judge_labels

    def _fill(
        self, judgements: Iterable[Judgement], grades: GradeReader, on_conflict: OnConflict, *, by_subtopic: bool = False
    ) -> None:
        """Takes rows with grades of the reader; of several errors, the one on the first line is raised, a label before others."""
        pairs = _Pairs(grades.source, on_conflict, by_subtopic=by_subtopic)
        try:
            pairs.add_all(judgements)
        except InputError as error:
            labels = grades.error()
            if labels is not None and (error.line is None or (labels.line or 0) <= error.line):
                raise labels from None
            raise
        if (labels := grades.error()) is not None:
            raise labels
        self.source, self.on_conflict = grades.source, on_conflict
        self.repeats, self.converted, self.conflicts = pairs.repeats, grades.converted, len(pairs.conflicts)
        self.judge_labels = MappingProxyType(pairs.labels)
        self._grades = pairs.grades
        self.subtopics = MappingProxyType({query: _read_only(subtopic) for query, subtopic in pairs.subtopics.items()})
        self.merged, self.aligned = len(pairs.merged), {}

    @classmethod
    def from_dict(cls, grades: Mapping[str, Mapping[str, int]], *, source: str = "qrels") -> Qrels:
        """Qrels from a dict of dicts; integer ids become their decimal text."""
        return cls(grades, source=source)

    @classmethod
    def from_subtopics(cls, grades: GradesBySubtopic, *, source: str = "qrels", on_conflict: OnConflict = "error") -> Qrels:
        """Qrels from {query: {subtopic: {doc: grade}}}."""
        if not isinstance(grades, Mapping) or not all(isinstance(subtopics, Mapping) for subtopics in grades.values()):
            raise UsageError(f"judgements cannot be {type_phrase(grades)}", fix="pass {query: {subtopic: {document: grade}}}")
        reader = GradeReader(source, None)
        return qrels_of_rows(_subtopic_judgements(grades, reader), reader, on_conflict, by_subtopic=True)

    @classmethod
    def of_checked(
        cls, grades: dict[str, dict[str, int]], *, source: str, subtopics: GradesBySubtopic | None = None, merged: int = 0
    ) -> Qrels:
        """Qrels from ids and grades that are already checked, judged by people and without repeats."""
        made = cls(iter(()), source=source)
        made._grades, made.merged = grades, merged
        made.subtopics = MappingProxyType({query: _read_only(subtopic) for query, subtopic in (subtopics or {}).items()})
        return made

    def __getitem__(self, query: str) -> Mapping[str, int]:
        return MappingProxyType(self._grades[query])

    def as_dicts(self) -> dict[str, dict[str, int]]:
        """The judgements as plain dicts, which nobody may change: they are read faster."""
        return self._grades

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
        texts = {
            describe_converted(self.converted): self.converted,
            describe_merged(self.merged): self.merged,
            describe_conflicts(self.conflicts, self.on_conflict): self.conflicts,
        }
        return tuple(text for text, count in texts.items() if count)

    def of_queries(self, queries: Collection[str]) -> Qrels:
        """The judgements of these queries, each with its judge and its subtopic."""
        kept = set(queries)
        rows = (row for row in self.rows() if row.query in kept)
        return qrels_of_rows(rows, GradeReader(self.source, None), self.on_conflict, by_subtopic=bool(self.subtopics))

    def rows(self) -> Iterator[Judgement]:
        """Every judgement, for each subtopic where there are subtopics."""
        for query, docs in self.items() if not self.subtopics else ():
            for doc, grade in docs.items():
                yield Judgement(query, doc, grade, judge_label=self.judge_labels.get((query, doc), ""))
        for query, subtopics in self.subtopics.items():
            for subtopic, docs in subtopics.items():
                for doc, grade in docs.items():
                    label = self.judge_labels.get((query, doc), "")
                    yield Judgement(query, doc, grade, judge_label=label, subtopic=subtopic)

    def fingerprint(self) -> str:
        """A sha256 of the judgements, the same for any order of lines."""
        from hashlib import sha256

        digest = sha256()
        for query in sorted(self):
            for doc in sorted(self[query]):
                digest.update(f"{query}\0{doc}\0{self[query][doc]}\n".encode())
            for subtopic, docs in sorted(self.subtopics.get(query, {}).items()):
                for doc, grade in sorted(docs.items()):
                    digest.update(f"{query}\0{subtopic}\0{doc}\0{grade}\n".encode())
        return digest.hexdigest()


def qrels_of_rows(
    judgements: Iterable[Judgement], grades: GradeReader, on_conflict: OnConflict = "error", *, by_subtopic: bool = False
) -> Qrels:
    """Qrels from rows whose grades the reader reads; grades that need a map are an error, listed together.

    Subtopics count where the rows have more than one, or `by_subtopic` says so.
    """
    made = Qrels({}, source=grades.source)
    made._fill(judgements, grades, on_conflict, by_subtopic=by_subtopic)
    return made


def _read_only(grades: Mapping[str, Mapping[str, int]]) -> Mapping[str, Mapping[str, int]]:
    return MappingProxyType({query: MappingProxyType(docs) for query, docs in grades.items()})


def _check_types(judgements: object) -> None:
    """Raises an error if they are neither a mapping nor Judgements; the rows of an iterator are read only once, unchecked."""
    if isinstance(judgements, Mapping | Iterator):
        return
    rows = list(judgements) if isinstance(judgements, Collection) and not isinstance(judgements, str | bytes) else [judgements]
    if other := [row for row in rows if not isinstance(row, Judgement)]:
        wrong = other[0] if isinstance(judgements, list | tuple) else judgements
        raise UsageError(f"judgements cannot be {type_phrase(wrong)}", fix="pass {query: {document: grade}}")


def _plain_grades(judgements: object) -> dict[str, dict[str, int]] | None:
    """A copy of a dict of dicts from text to usual integers; None for anything else, which is checked row by row."""
    if type(judgements) is not dict or not set(map(type, judgements.values())) <= {dict}:
        return None
    docs = tuple(chain.from_iterable(judgements.values()))
    values = list(chain.from_iterable(map(dict.values, judgements.values())))
    if not (set(map(type, values)) <= {int} and are_plain_ids(docs) and are_plain_ids(tuple(judgements))):
        return None
    if values and not (min(values) >= -MAX_GRADE and max(values) <= MAX_GRADE):
        return None
    return {query: by_doc.copy() for query, by_doc in judgements.items() if by_doc}


def _judgements(grades: GradesByQuery, reader: GradeReader) -> Iterator[Judgement]:
    source = reader.source
    for query_id, judged in zip(checked_keys(grades, "query", source=source), grades.values(), strict=True):
        docs = dict.fromkeys(judged, 1) if isinstance(judged, Set) else judged
        if not isinstance(docs, Mapping):
            raise row_error("not-a-mapping", source=source, query=query_id, kind=type(docs).__name__, value="an integer grade")
        for doc_id, grade in zip(checked_keys(docs, "document", source=source), docs.values(), strict=True):
            yield Judgement(query_id, doc_id, reader.of_value(grade, query=query_id, doc=doc_id, line=None))


def _subtopic_judgements(grades: GradesBySubtopic, reader: GradeReader) -> Iterator[Judgement]:
    source = reader.source
    for query, subtopics in zip(checked_keys(grades, "query", source=source), grades.values(), strict=True):
        if not isinstance(subtopics, Mapping):
            kind = type(subtopics).__name__
            raise row_error("not-a-mapping", source=source, query=query, kind=kind, value="{document: grade} of each subtopic")
        names = checked_keys(subtopics, "subtopic", source=source)
        for subtopic, docs in zip(names, subtopics.values(), strict=True):
            for row in _judgements({query: docs}, reader):
                yield row._replace(subtopic=subtopic)


class _Pairs:
    """The grade of each pair of query and document, for each subtopic too, and the pairs with two grades."""

    def __init__(self, source: str, on_conflict: OnConflict, *, by_subtopic: bool) -> None:
        if not isinstance(on_conflict, str) or on_conflict not in get_args(OnConflict):
            fix = f"choose from: {', '.join(get_args(OnConflict))}"
            raise UsageError(f"on_conflict is {for_message(repr(on_conflict))}", fix=fix)
        self.source, self._rule = source, on_conflict
        self.grades: dict[str, dict[str, int]] = {}
        self.labels: dict[tuple[str, str], str] = {}
        self.subtopics: dict[str, dict[str, dict[str, int]]] = {}
        self.conflicts: set[tuple[str, str]] = set()
        self.merged: set[tuple[str, str]] = set()
        self.repeats = 0
        self._by_subtopic = by_subtopic
        self._lines: dict[tuple[str, str], array[int]] = {}
        """The lines of a query's documents, in their order, by query and subtopic; 0 where there is none."""
        self._first: tuple[Judgement, int] | None = None

    def add_all(self, judgements: Iterable[Judgement]) -> None:
        """Adds the judgements; under `error`, a conflict above another error is reported instead of it."""
        # Whether a name in the rows is a subtopic is known once there are two of them.
        held: list[Judgement] = []
        try:
            for row in judgements:
                if row.subtopic and (held or not self._lines):
                    held.append(row)
                    continue
                self._add_held([*held, row])
                held.clear()
        except InputError:
            self._add_all_held(held)
            self._check()
            raise
        self._add_all_held(held)
        self._check()

    def _add_all_held(self, held: list[Judgement]) -> None:
        if self._by_subtopic or len({row.subtopic for row in held}) > 1:
            self._add_subtopics(held)
        else:
            self._add_held(held)

    def _add_held(self, held: list[Judgement]) -> None:
        """Adds rows whose names are no subtopics."""
        for row in held:
            self._add(row._replace(subtopic="") if row.subtopic else row, self.grades.setdefault(row.query, {}))

    def _add_subtopics(self, rows: list[Judgement]) -> None:
        for row in rows:
            self._add(row, self.subtopics.setdefault(row.query, {}).setdefault(row.subtopic, {}))
        rule: OnConflict = "max" if self._rule == "error" else self._rule
        differing = self.merged if self._rule == "error" else self.conflicts
        for row in rows:
            docs = self.grades.setdefault(row.query, {})
            kept = docs.setdefault(row.doc, row.grade)
            if kept != row.grade:
                differing.add((row.query, row.doc))
                docs[row.doc] = row.grade if _REPLACES[rule](row.grade, kept) else kept

    def _add(self, row: Judgement, docs: dict[str, int]) -> None:
        if row.doc not in docs:
            self._lines.setdefault((row.query, row.subtopic), array("q")).append(row.line or 0)
            self._keep(row, docs)
        elif docs[row.doc] == row.grade:
            self.repeats += 1
        else:
            self.conflicts.add((row.query, row.doc))
            self._first = self._first or (row, docs[row.doc])
            if _REPLACES[self._rule](row.grade, docs[row.doc]):
                self._keep(row, docs)

    def _keep(self, row: Judgement, docs: dict[str, int]) -> None:
        docs[row.doc] = row.grade
        if not row.subtopic:
            self.labels.pop((row.query, row.doc), None)
        if row.judge_label:
            self.labels[row.query, row.doc] = row.judge_label

    def _check(self) -> None:
        if self._rule != "error" or self._first is None:
            return
        row, earlier = self._first
        docs = self.subtopics[row.query][row.subtopic] if row.subtopic else self.grades[row.query]
        line = self._lines[row.query, row.subtopic][[*docs].index(row.doc)]
        raise row_error(
            "conflict",
            source=self.source,
            line=row.line,
            doc=row.doc,
            query=f"{row.query}, subtopic {row.subtopic}" if row.subtopic else row.query,
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


UNKNOWN_JUDGE = "unknown"
"""The kind of a judge whose name says neither people nor machine: it counts as a machine until the user says otherwise."""
JUDGE_KINDS = frozenset(("llm", "keywords", "heuristic", "clicks", UNKNOWN_JUDGE))
"""The kinds of machine judges: a language model, keyword overlap, rules that made the query from the document, or clicks."""
_MODEL_NAMES = re.compile(
    r"(?:[\w.-]+/)?"  # The provider, as in openai/gpt-4o.
    r"(?:(?:(?:chat)?gpt|(?:text-)?davinci|claude|gemini|gemma|palm|(?:code)?llama|qwen|qwq|(?:open-)?mi[sx]tral|ministral|magistral"
    r"|deepseek|grok|kimi|olmo|granite|nemotron|vicuna|jamba|dbrx|hunyuan|minimax|internlm|baichuan|smollm|exaone|doubao"
    r"|umbrela|ragas|deepeval)(?![a-z])"
    r"|(?:command|phi|glm|yi|nova|ernie|falcon|aya|solar|prometheus|chatglm|gpt)[-_ .]?\d"
    r"|o[134]-|command-[ar]|(?:command|nova)-(?:light|nightly|lite|micro|pro|premier))",
    re.ASCII | re.IGNORECASE,
)
_PEOPLE = re.compile(
    r"(?:[^@\s]+@[^@\s]+\.[a-z]+|[0-9]+(?:\.0)?"
    r"|(?:arena_user|human|people|person|user|annotator|expert|editor|author|rater|assessor|reviewer|worker|crowd|nist)s?"
    r"(?:[ _:#-]*[0-9a-f]*))"
)
"""Names of people in published files: an address, a number, or a kind of people and a number, such as expert_17."""
_NO_NAME = re.compile(r"(?:q|iter(?:ation)?[-_]?|n/?a|none|null|nil|unused)?[\W\d_]*", re.IGNORECASE)
"""The second column of TREC qrels that names nobody, such as 0, Q0 and the number of an iteration."""
HUMAN_JUDGE = "people"
"""The label of judgements by people, in files in which other judgements have one."""


HUMAN_PREFIX = "human:"
"""The start of the second qrels column of a judgement that a person made in the browser: human:NAME@TIME."""


def assessor_of(text: str) -> str:
    """The name in the second qrels column of a judgement that a person made in the browser, else an empty one."""
    return text.removeprefix(HUMAN_PREFIX).rpartition("@")[0] if text.startswith(HUMAN_PREFIX) else ""


def subtopic_of(text: str) -> str:
    """The second qrels column as the name of a subtopic; an empty one if it says who judged."""
    plain = text.lower()
    return "" if label_of(text) or plain.startswith(HUMAN_PREFIX) or plain == HUMAN_JUDGE else text


def label_of(text: str) -> str:
    """The label of a machine judge, KIND or KIND:NAME with its kind in lower case, else an empty one.

    The name of a usual language model, such as gpt-4o, is that of a machine without a kind too.
    """
    kind, _, name = text.partition(":")
    if not kind.isascii() or (kind := kind.lower()) not in JUDGE_KINDS:
        return f"llm:{plain_judge_name(text)}" if _MODEL_NAMES.match(text) else ""
    return f"{kind}:{name}" if name else kind


def is_unknown_judge(label: str) -> bool:
    """Whether the label is of a judge whose name says neither people nor machine."""
    return label.partition(":")[0] == UNKNOWN_JUDGE


def are_named_subtopics(qrels: Qrels) -> bool:
    """Whether the judges that the judgements name can be told from the names of their subtopics."""
    names = {label_in_second(name) for subtopics in qrels.subtopics.values() for name in subtopics}
    return names >= {*qrels.judge_labels.values()}


def label_in_second(text: str) -> str:
    """The label of the judge that the second column of TREC qrels names; an empty one for people, and if it names nobody."""
    return "" if _NO_NAME.fullmatch(text) else judge_label(text)


def _are_people(plain: str) -> bool:
    """Whether a label in lower case says that people judged; human:gpt-4o does not, and Claude is a name of people too."""
    name = plain.removeprefix(HUMAN_PREFIX).partition("@")[0].strip()
    is_model = bool(_MODEL_NAMES.match(name) and re.search(r"\d", name))
    return plain in _NO_JUDGE or (plain.startswith(HUMAN_PREFIX) and not is_model)


_NO_JUDGE = frozenset(("", "none", "null", "nan", "<na>", HUMAN_JUDGE))


def judge_label(name: object) -> str:
    """The label of a judge by its name, an empty one for people, and for no name.

    Grades of a machine whose name is not understood must not count as those of people: its kind is unknown.
    """
    text = str(name).strip()
    plain = text.lower()
    if _are_people(plain):
        return ""
    if label := label_of(text):
        return label
    return "" if _PEOPLE.fullmatch(plain) else f"{UNKNOWN_JUDGE}:{plain_judge_name(text)}"


GENERATED_BY = "generated_by"
"""The field of a query that a language model or rules wrote, with its reference and its judgements."""
_RAGAS, _RAGAS_FIELDS = "llm:ragas", ("synthesizer_name", "evolution_type")
"""The fields of queries that the test set generator of ragas wrote."""


def writer_of(fields: Mapping[str, object]) -> str:
    """The label of the machine that wrote a query with these fields, an empty one for people."""
    writer = str(fields.get(GENERATED_BY) or "").strip()
    if not writer:
        return _RAGAS if any(map(fields.get, _RAGAS_FIELDS)) else ""
    if _are_people(writer.lower()):
        return ""
    return label_of(writer) or f"llm:{plain_judge_name(writer)}"


def make_judge_label(prefix: str, name: str, digest: str) -> str:
    """The label of a machine judge: its kind, its name without white space and control characters, and a digest."""
    return f"{prefix}{plain_judge_name(name)}:{digest}"


def plain_judge_name(name: str) -> str:
    """The name of a judge as its label has it."""
    return "".join(char if char.isprintable() and not char.isspace() else "_" for char in name)


def highest_grade(grades: Mapping[str, Mapping[str, int]]) -> int | None:
    """The highest grade in judgements, None if there are none."""
    return max((grade for docs in grades.values() for grade in docs.values()), default=None)
