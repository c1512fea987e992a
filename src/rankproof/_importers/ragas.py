"""RAG logs in the shape of ragas: questions, retrieved and reference contexts, answers and reference answers.

Each log is a system. The questions of all logs are the queries, and the texts of contexts the documents.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof._data.answers import ANSWER_FIELDS, Answers, as_answer
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.text import clip_text, pluralise
from rankproof._formats.columns import COLUMN_NAMES, names_for_message, normalised_name
from rankproof._formats.source_table import SourceTable
from rankproof._importers.base import ImportCounts, Imported, ImportOptions, ImportReport, ImportSource
from rankproof._importers.builder import made_id, plain_fields
from rankproof._importers.cells import TableCell
from rankproof.errors import InputError, for_message

_RELEVANT = 1
_DIFFERENT_CHUNKS = (
    "no reference context is among the retrieved contexts, so every ranking scores 0; contexts are compared by their exact text:"
    " cut the reference contexts from the same chunks, or log the ids of contexts"
)


_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("user_input", "question"),
    "retrieved contexts": ("retrieved_contexts", "contexts"),
    "ids of retrieved contexts": ("retrieved_context_ids",),
    "reference contexts": ("reference_contexts",),
    "ids of reference contexts": ("reference_context_ids",),
    "answer": ("response", "answer"),
    "reference answer": ("reference", "ground_truth", "ground_truths"),
}
"""What a column holds: its name in ragas from version 0.2, then its name before."""

_GRADES = COLUMN_NAMES["grade"][:-1]
_QUERY_FIELDS = ("synthesizer_name", "persona_name", "query_style", "query_length", "evolution_type")
_HOP = re.compile(r"<[0-9]+-hop>\n\n")
_MESSAGES = re.compile(r"\[\s*(?:\{|HumanMessage\()")


class RagasImporter:
    """Each file is the log of one system, named after the file; the same question in two logs is one query."""

    has_grades = False
    settings: Mapping[str, str] = {}

    def detect(self, source: ImportSource) -> bool:
        """Whether every table has a column of questions and one of contexts, answers or references."""
        try:
            tables = _tables(source).values()
            return bool(tables) and all(map(_is_log, tables))
        except InputError:
            return False

    def read(self, source: ImportSource, options: ImportOptions) -> Imported:
        """The logs as one dataset with a run and the answers of each system."""
        merge = LogMerge("ragas", source)
        for name, table in _tables(source).items():
            merge.add(name, _LogReader(table, name, merge).samples())
        return merge.imported()


def _tables(source: ImportSource) -> dict[str, SourceTable]:
    """The table of each log by the name of its system."""
    if source.frame is not None and source.table is not None:
        return {source.stem: source.table}
    return {name: source.table_of(path) for path, name in source.system_names.items()}


def _is_log(table: SourceTable) -> bool:
    """Whether there is a question and something to measure, and no column of grades, which only pairs have."""
    roles = _columns(table)
    has_grades = any(normalised_name(name) in _GRADES for name in table.names)
    return "question" in roles and len(roles) > 1 and not has_grades


def _columns(table: SourceTable) -> dict[str, str]:
    """What a column holds, and the column's name."""
    known = {normalised_name(name): name for name in table.names}
    found = {role: [known[name] for name in names if name in known] for role, names in _NAMES.items()}
    return {role: names[0] for role, names in found.items() if names}


class _LogReader:
    """Reads the samples of one log."""

    def __init__(self, table: SourceTable, system: str, merge: LogMerge) -> None:
        self._table, self._system, self._merge = table, system, merge
        self._columns = _columns(table)
        # The test sets of ragas 0.1 call the reference contexts `contexts`.
        if "evolution_type" in table.names and "answer" not in self._columns and "retrieved contexts" in self._columns:
            self._columns["reference contexts"] = self._columns.pop("retrieved contexts")
        self._fields = {name: name for name in table.names if name in _QUERY_FIELDS}
        self._hops = 0
        for role, name in self._columns.items():
            merge.columns.setdefault(role, {})[name] = None
        known = {*self._columns.values(), *self._fields}
        merge.unused.update({name: None for name in table.names if name not in known})

    def samples(self) -> Iterator[Sample]:
        """The samples with a question; other rows are counted."""
        part = _rows_of(self._system)
        for line, row in self._table.rows():
            self._merge.counts.read(part)
            question = self._cell(row, "question", line)
            if question.is_missing or not str(question.value).strip():
                self._merge.counts.drop(part, "without a question", line=line)
            elif isinstance(question.value, list | tuple) or _MESSAGES.match(str(question.value)):
                self._merge.counts.drop(part, "with a conversation of several messages", line=line)
            else:
                yield self._sample(row, line)
        if self._hops:
            self._merge.notes.append(
                f"{self._system}: {pluralise(self._hops, 'mark')} such as <1-hop> removed from reference contexts"
            )

    def _sample(self, row: Mapping[str, Any], line: int) -> Sample:
        return Sample(
            line,
            (self._cell(row, "question", line).text() or "").strip(),
            self._contexts(row, "retrieved contexts", line),
            self._contexts(row, "reference contexts", line),
            self._cell(row, "answer", line).text(),
            # An empty list is no reference, not a question without an answer.
            tuple(filter(str.strip, self._cell(row, "reference answer", line).texts_or_text() or ())) or None,
            plain_fields(row, self._fields),
        )

    def _contexts(self, row: Mapping[str, Any], role: str, line: int) -> tuple[Context, ...] | None:
        """The contexts by text, by id, or by both, which then are as many."""
        cell, id_cell = self._cell(row, role, line), self._cell(row, f"ids of {role}", line)
        texts, ids = cell.texts(), id_cell.ids()
        if texts is not None and role == "reference contexts":
            self._hops += sum(1 for text in texts if _HOP.match(text))
            texts = tuple(_HOP.sub("", text, count=1) if _HOP.match(text) else text for text in texts)
        if texts is None:
            return None if ids is None else tuple(Context(id=one) for one in ids)
        texts = tuple(map(str.strip, texts))
        if ids is None:
            return tuple(map(Context, texts))
        if len(ids) != len(texts):
            what = f"has {pluralise(len(ids), 'id')} and {cell.column} {pluralise(len(texts), 'text')}"
            raise id_cell.error(what, "give every context one id, or leave the ids out")
        return tuple(map(Context, texts, ids))

    def _cell(self, row: Mapping[str, Any], role: str, line: int) -> TableCell:
        name = self._columns.get(role, "")
        return TableCell(row.get(name), name, self._table.source, line)


@dataclass(frozen=True, slots=True)
class Context:
    """A retrieved or relevant passage by its text, its id, or both."""

    text: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """One question of a log; None is what the log does not say, and an empty tuple that there is none."""

    line: int
    question: str
    retrieved: tuple[Context, ...] | None = None
    relevant: tuple[Context, ...] | None = None
    answer: str | None = None
    references: tuple[str, ...] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)


class LogMerge:
    """The logs of several systems, merged by the text of the question.

    The ids of questions, and of contexts without an id, depend only on their text, so that a later import of more logs gives
    the same ids. The references and reference contexts of all logs count.
    """

    def __init__(self, importer: str, source: ImportSource) -> None:
        self.counts, self.columns, self.notes = ImportCounts(), dict[str, dict[str, None]](), list[str]()
        self.unused: dict[str, None] = {}
        self._importer, self._source = importer, source
        self._logs: dict[str, dict[str, Sample]] = {}
        self._questions, self._documents = dict[str, str](), _Documents()

    def add(self, system: str, samples: Iterable[Sample]) -> None:
        """Adds the log of a system; of a question that comes twice in it, the first is kept."""
        log = self._logs[system] = {}
        for sample in samples:
            query = made_id("query", [sample.question])
            self._questions.setdefault(query, sample.question)
            if query in log:
                self.counts.drop(_rows_of(system), "with the same question as an earlier row", line=sample.line)
                continue
            log[query] = sample
            for context in (*(sample.retrieved or ()), *(sample.relevant or ())):
                self._documents.add(context)

    def imported(self) -> Imported:
        """The dataset, runs and answers of the logs added so far."""
        if not self._questions:
            raise InputError("no row has a question", fix="write it as text in the column user_input", source=self._source.name)
        runs = {system: self._run(system, log) for system, log in self._logs.items() if _says(log, "retrieved")}
        answers = {system: self._answers(system, log) for system, log in self._logs.items() if _says(log, "answer")}
        qrels = self._qrels(runs)
        dataset = Dataset(self._source.stem, self._documents.corpus(self._source.name), self._queries(), qrels)
        self.counts.read("documents", len(dataset.corpus))
        self.counts.read("queries", len(dataset.queries))
        self.notes.extend(_missing_parts(dataset, has_runs=bool(runs), has_answers=bool(answers)))
        self.notes.extend(self._coverage(runs.keys() | answers.keys()))
        self.notes.extend(self._documents.notes())
        if self.unused:
            self.notes.append(f"columns that are not used: {names_for_message(tuple(self.unused))}")
        columns = {role: " or ".join(names) for role, names in self.columns.items()}
        report = ImportReport(self._importer, self._source.name, self.counts.parts(), columns, tuple(self.notes))
        return Imported(dataset, report, runs, answers)

    def _run(self, system: str, log: Mapping[str, Sample]) -> Run:
        part = f"retrieved contexts of {system}"
        rankings: dict[str, list[str]] = {}
        for query, sample in log.items():
            found = [self._documents.id_of(context) for context in sample.retrieved or ()]
            rankings[query] = list(dict.fromkeys(found))
            self.counts.read(part, len(found))
            if repeats := len(found) - len(rankings[query]):
                self.counts.drop(part, "that a better rank of the same ranking has", line=sample.line, count=repeats)
        if empty := sum(not docs for docs in rankings.values()):
            scores = "scores" if empty == 1 else "score"
            self.notes.append(
                f"{system}: {pluralise(empty, 'question has', 'questions have')} no retrieved contexts and {scores} 0"
            )
        return Run(rankings, name=system, source=system)

    def _answers(self, system: str, log: Mapping[str, Sample]) -> Answers:
        part = f"answers of {system}"
        found = {}
        for query, sample in log.items():
            self.counts.read(part)
            if sample.answer is None:
                self.counts.drop(part, "null or empty, which score 0", line=sample.line)
                continue
            given = tuple(dict.fromkeys(map(self._documents.id_of, sample.retrieved or ())))
            found[query] = replace(as_answer(sample.answer), given=given)
        return Answers(found, source=system, given_known=all(sample.retrieved is not None for sample in log.values()))

    def _qrels(self, runs: Mapping[str, Run]) -> Qrels:
        """Grade 1 for every reference context of any log."""
        stated = {
            query: [frozenset(map(self._documents.id_of, one)) for one in lists] for query, lists in self._stated("relevant")
        }
        grades = {
            query: dict.fromkeys(sorted(frozenset().union(*sets)), _RELEVANT) for query, sets in stated.items() if any(sets)
        }
        if grades:
            self.counts.read("reference contexts, grade 1", sum(map(len, grades.values())))
            self._note_different("reference contexts", stated)
            if unjudged := len(self._questions) - len(grades):
                self.notes.append(
                    f"{pluralise(unjudged, 'question')} without reference contexts: left out of measures of rankings"
                )
            if runs and not any(row.doc in grades.get(row.query, ()) for run in runs.values() for row in run.rows()):
                self.notes.append(_DIFFERENT_CHUNKS)
        return Qrels(grades, source=self._source.name)

    def _queries(self) -> Queries:
        """The questions of all logs, with the reference answers of any log."""
        stated = dict(self._stated("references"))
        self._note_different("reference answers", {query: [frozenset(one) for one in lists] for query, lists in stated.items()})
        references = {query: tuple(dict.fromkeys(text for one in lists for text in one)) for query, lists in stated.items()}
        if references:
            self.counts.read("reference answers", sum(map(len, references.values())))
        made = (
            Query(
                query,
                text,
                fields={**self._fields(query), **({ANSWER_FIELDS[0]: list(references[query])} if query in references else {})},
            )
            for query, text in self._questions.items()
        )
        return Queries(made, source=self._source.name)

    def _fields(self, query: str) -> dict[str, Any]:
        """What the logs say of a question; of two logs, the first."""
        return {name: value for log in reversed(self._logs.values()) if query in log for name, value in log[query].fields.items()}

    def _coverage(self, systems: Collection[str]) -> Iterator[str]:
        """Says which systems lack questions of other logs."""
        for system, log in self._logs.items():
            missing = len(self._questions) - len(log)
            if missing and system in systems:
                verb = "scores" if missing == 1 else "score"
                yield f"{system} has no row for {pluralise(missing, 'question')} of the other logs, which {verb} 0"

    def _stated(self, name: str) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """Each question with what every log that has it says of it; questions of which none says anything are left out."""
        for query in self._questions:
            found = [getattr(log[query], name) for log in self._logs.values() if query in log]
            if stated := [one for one in found if one is not None]:
                yield query, stated

    def _note_different(self, what: str, stated: Mapping[str, list[frozenset[str]]]) -> None:
        """Notes the questions for which two logs name other references."""
        if different := [query for query, sets in stated.items() if len({*sets}) > 1]:
            example = self._questions[different[0]]
            count = pluralise(len(different), "question")
            self.notes.append(f"{count} with other {what} in another log, such as {_quoted(example)}: those of all logs count")


def _missing_parts(dataset: Dataset, *, has_runs: bool, has_answers: bool) -> Iterator[str]:
    """Says what cannot be measured."""
    if has_runs and not dataset.is_judged:
        yield "no reference contexts: the rankings cannot be measured before they are judged"
    if not has_runs:
        yield "no retrieved contexts: no rankings"
    if has_answers and not any(ANSWER_FIELDS[0] in query.fields for query in dataset.queries.values()):
        yield "no reference answers: the answers cannot be measured"


def _rows_of(system: str) -> str:
    """The name under which the rows of a log are counted."""
    return f"rows of {system}"


def _quoted(text: str) -> str:
    """The beginning of a text in quotes, for a message."""
    return f'"{for_message(clip_text(text))}"'


def _says(log: Mapping[str, Sample], name: str) -> bool:
    return any(getattr(sample, name) is not None for sample in log.values())


class _Documents:
    """The documents behind contexts: by their id where a log gives one, else by their exact text."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}
        self._own_ids: dict[str, str] = {}
        self._two_texts: dict[str, None] = {}

    def add(self, context: Context) -> None:
        """Takes note of the id of a context, if it has one, and of the text under that id."""
        if context.id is None:
            return
        known = self._texts.setdefault(context.id, context.text)
        if context.text is None:
            return
        if known is None:
            self._texts[context.id] = context.text
        elif known != context.text:
            self._two_texts[context.id] = None
        self._own_ids.setdefault(context.text, context.id)

    def id_of(self, context: Context) -> str:
        """The id of a context, when all contexts with ids have been added."""
        if context.id is not None:
            return context.id
        text = context.text or ""
        if text in self._own_ids:
            return self._own_ids[text]
        made = made_id("document", ["", text])
        self._texts[made] = text
        return made

    def corpus(self, source: str) -> Corpus:
        """The documents; none where no context has a text."""
        if all(text is None for text in self._texts.values()):
            return Corpus((), source=source)
        return Corpus((Document(key, text or "") for key, text in self._texts.items()), source=source)

    def notes(self) -> Iterator[str]:
        """What is missing or contradicts itself."""
        bare = sum(text is None for text in self._texts.values())
        if bare and bare < len(self._texts):
            yield f"{pluralise(bare, 'context')} with an id and no text: documents without text"
        elif bare:
            yield "contexts have ids and no texts: no documents"
        if self._two_texts:
            count, example = len(self._two_texts), next(iter(self._two_texts))
            yield f"{pluralise(count, 'id')} with two texts, such as {for_message(example)}: the first text is kept"


RAGAS = RagasImporter()
