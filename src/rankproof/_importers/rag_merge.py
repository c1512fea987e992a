"""Merges the RAG logs of several systems by the names of their questions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

from rankproof._data.answers import (
    ANSWER_FIELDS,
    ANSWERABLE_FIELD,
    SESSION_FIELD,
    TURN_FIELD,
    Answer,
    Answers,
    AnswerState,
    AnswerUsage,
    SearchCall,
    as_answer,
    repeats_note,
)
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query, chunk_id, chunk_separator
from rankproof._data.qrels import Judgement, Qrels, writer_of
from rankproof._data.run import Run
from rankproof._data.text import clip_text, plain_words, pluralise
from rankproof._data.validation import made_id
from rankproof._formats.columns import names_for_message
from rankproof._importers.base import ImportCounts, Imported, ImportReport, ImportSource
from rankproof._importers.cells import THIRDS, Thresholds, are_grades, describe_thresholds, grade_by
from rankproof._importers.question_names import AskedQuestion, ids_name_questions, names_of_questions
from rankproof.errors import InputError, for_message

_RELEVANT = 1
_FEW_DIFFERENT = 0.01
"""Logs may have different references for this share of the questions, and for one."""
_FAR_ABOVE = 0.1
"""References of one log alone that equal its answers more often by this share than those of another may be its answers."""
_NOTHING_RETRIEVED = "no retrieved contexts and"
_LEFT_OUT = "without reference contexts: left out of measures of rankings"
_RANKING_NOTES = (
    "no reference contexts: the rankings cannot be measured before they are judged",
    "no retrieved contexts: no rankings",
    "no reference context is among the retrieved contexts, so every ranking scores 0; contexts are compared by their exact text:"
    " cut the reference contexts from the same chunks, or log the ids of contexts",
)

_VERSION = re.compile(r"(?:^|_)(?:version|variant|experiment|arm|pipeline|release|build|config)$")
_MOST_VERSIONS = 10

IDS_ALONE = "contexts have ids and no texts: no documents"
"""The note of an import where no context has a text."""


@dataclass(frozen=True, slots=True)
class Context:
    """A retrieved or relevant passage by its text, its id, or both; the score says how relevant it is."""

    text: str | None = None
    id: str | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class LoggedSearch:
    """A call of a search tool in a log, as SearchCall, with the passages that it returned."""

    query: str
    returned: tuple[Context, ...]
    tokens: float | None
    elapsed_ms: float | None


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
    id: str | None = None
    cited: tuple[str, ...] = ()
    state: AnswerState | None = None
    usage: AnswerUsage | None = None
    searches: tuple[LoggedSearch, ...] | None = None

    @property
    def asked(self) -> AskedQuestion:
        """The question, and where it was asked."""
        session, turn = (self.fields.get(name) for name in (SESSION_FIELD, TURN_FIELD))
        return AskedQuestion(
            self.question, self.id, None if session is None else str(session), None if turn is None else str(turn)
        )

    @property
    def contexts(self) -> Iterator[Context]:
        """All contexts of the row."""
        yield from (*(self.retrieved or ()), *(self.relevant or ()))
        for search in self.searches or ():
            yield from search.returned


class LogMerge:
    """The logs of several systems, merged by the names of their questions.

    Ids that are made depend only on texts, so that a later import of more logs gives the same ids. Further rows of a system
    with a question are its repeats. The references and reference contexts of all rows count; logs that have others for more
    than a few questions are an error, because each system would be measured by its own.
    """

    def __init__(self, importer: str, source: ImportSource, thresholds: Thresholds = THIRDS) -> None:
        self._thresholds = thresholds
        self.counts, self.columns, self.notes = ImportCounts(), dict[str, dict[str, None]](), list[str]()
        self.unused: dict[str, None] = {}
        self.groups: dict[str, None] = {}
        self._importer, self._source = importer, source
        self._rows: dict[str, list[Sample]] = {}
        self._asked: set[str] = set()
        self._logs: dict[str, dict[str, Sample]] = {}
        self._repeats: dict[str, dict[str, list[Sample]]] = {}
        self._scored = 0
        self._questions, self._documents = dict[str, str](), _Documents()

    def add(self, system: str, samples: Sequence[Sample], source: str, *, has_answers: bool) -> None:
        """Adds the samples of a system; `has_answers` says whether its log has a column of answers."""
        if system in self._rows:
            what = f"the system {for_message(system)} is in another file too"
            raise InputError(what, fix="give the systems different names, or put their rows into one file", source=source)
        self._rows[system] = list(samples)
        if has_answers:
            self._asked.add(system)
        for sample in samples:
            for context in sample.contexts:
                self._documents.add(context)

    def imported(self) -> Imported:
        """The dataset, runs and answers of the logs added so far."""
        self._name_questions()
        if not self._questions:
            raise InputError("no row has a question", fix="write each question as text", source=self._source.name)
        runs = {system: self._run(system, log) for system, log in self._logs.items() if _says(log, "retrieved")}
        answers = {system: self._answers(system, self._logs[system]) for system in self._answering()}
        self._count_repeats(answers)
        qrels = self._qrels(runs)
        dataset = Dataset(self._source.stem, self._documents.corpus(self._source.name), self._queries(), qrels)
        self.counts.read("documents", len(dataset.corpus))
        self.counts.read("queries", len(dataset.queries))
        self.notes.extend(_missing_parts(dataset, has_runs=bool(runs), has_answers=bool(answers)))
        self.notes.extend(self._coverage(runs.keys() | answers.keys()))
        self.notes.extend(self._documents.notes())
        versions = {name: values for name in (*self.groups, *self._model_columns) if (values := self._versions(name))}
        self.notes.extend(
            f"{for_message(name)} ({names_for_message(values)}) may name the system of a row: if so, add --set system={name}"
            for name, values in versions.items()
        )
        for name, questions in self._of_answers.items():
            if name in versions:
                continue
            differs = f"{for_message(name)} differs between the rows of {pluralise(questions, 'question')}"
            self.notes.append(f"{differs}: it describes answers and makes no segments")
        if segments := tuple(name for name in self.groups if name not in self._of_answers):
            self.notes.append(f"columns that make segments (--by): {names_for_message(segments)}")
        if self.unused:
            self.notes.append(f"columns that are not used: {names_for_message(tuple(self.unused))}")
        columns = {role: " or ".join(names) for role, names in self.columns.items()}
        report = ImportReport(self._importer, self._source.name, self.counts.parts(), columns, tuple(self.notes))
        return Imported(dataset, report, runs, answers, self._documents.passages())

    def _answering(self) -> list[str]:
        """The systems that answer; beside them, those whose answers are all empty, as they were asked too."""
        answering = {system for system, log in self._logs.items() if _says(log, "answer") or _says(log, "state")}
        asked = answering | self._asked if answering else answering
        return [system for system in self._logs if system in asked]

    def _name_questions(self) -> None:
        """Names each question; a later row of a system with the same name is a repeat."""
        asked = {system: [sample.asked for sample in samples] for system, samples in self._rows.items()}
        if any(sample.id is not None for samples in self._rows.values() for sample in samples) and not ids_name_questions(asked):
            self.notes.append(
                "the ids of questions are not used: a row has none, or rows with one id ask different questions, or logs have"
                " different ids for a question"
            )
        names = names_of_questions(asked)
        for system, samples in self._rows.items():
            first, further = self._logs.setdefault(system, {}), self._repeats.setdefault(system, {})
            for name, sample in zip(names[system], samples, strict=True):
                self._questions.setdefault(name, sample.question)
                if first.setdefault(name, sample) is not sample:
                    further.setdefault(name, []).append(sample)

    def _run(self, system: str, log: Mapping[str, Sample]) -> Run:
        part = f"retrieved contexts of {system}"
        rankings: dict[str, list[str]] = {}
        for query, sample in log.items():
            retrieved = [self._documents.id_of(context) for context in sample.retrieved or ()]
            rankings[query] = list(dict.fromkeys(retrieved))
            self.counts.read(part, len(retrieved))
            if repeats := len(retrieved) - len(rankings[query]):
                self.counts.drop(part, "that a better rank of the same ranking has", line=sample.line, count=repeats)
        if empty := sum(not docs for docs in rankings.values()):
            scores = "scores" if empty == 1 else "score"
            self.notes.append(f"{system}: {pluralise(empty, 'question has', 'questions have')} {_NOTHING_RETRIEVED} {scores} 0")
        return Run(rankings, name=system, source=system)

    def _answers(self, system: str, log: Mapping[str, Sample]) -> Answers:
        part = f"answers of {system}"
        answers = {}
        for query, sample in log.items():
            self.counts.read(part)
            if sample.answer is None and sample.state in (None, "answered"):
                self.counts.drop(part, "null or empty", line=sample.line)
            answers[query] = self._answer(sample)
        repeats = {query: tuple(map(self._answer, samples)) for query, samples in self._repeats[system].items()}
        return Answers(answers, source=system, repeats=repeats)

    def _count_repeats(self, answers: Mapping[str, Answers]) -> None:
        """Counts the rows that ask a question again: they are kept with the answers, and dropped without them."""
        for system, repeats in self._repeats.items():
            rows = [sample for samples in repeats.values() for sample in samples]
            if rows and system not in answers:
                line = min(sample.line for sample in rows)
                self.counts.drop(rows_of(system), "with the same question as an earlier row", line=line, count=len(rows))
            elif rows:
                self.counts.read(f"repeats of {system}", len(rows))
                self.notes.extend(filter(None, [repeats_note(system, answers[system])]))

    def _answer(self, sample: Sample) -> Answer:
        passages = None if sample.retrieved is None else self._passages(sample.retrieved)
        searches = None if sample.searches is None else tuple(map(self._search, sample.searches))
        if sample.answer is None:
            state: AnswerState = "missing" if sample.state in (None, "answered") else sample.state
            return Answer("", given=passages, state=state, usage=sample.usage, searches=searches)
        cited = tuple(_cited_ids(sample, passages or ()))
        answer = replace(as_answer(sample.answer), given=passages, cited=cited, usage=sample.usage, searches=searches)
        return answer if sample.state is None else replace(answer, state=sample.state)

    def _passages(self, contexts: Iterable[Context]) -> tuple[str, ...]:
        return tuple(map(self._documents.passage_id, contexts))

    def _search(self, search: LoggedSearch) -> SearchCall:
        return SearchCall(search.query, self._passages(search.returned), search.tokens, search.elapsed_ms)

    def _qrels(self, runs: Mapping[str, Run]) -> Qrels:
        """The grade of every reference context of any log: 1, or by its score."""
        stated = {
            query: [frozenset(map(self._documents.id_of, list_)) for list_ in lists]
            for query, lists in self._stated_values("relevant")
        }
        grades = self._grades()
        if grades:
            graded = "" if self._scored else ", grade 1"
            self.counts.read(f"reference contexts{graded}", sum(map(len, grades.values())))
            self._note_different("reference contexts", "relevant", stated)
            if unjudged := len(self._questions) - len(grades):
                self.notes.append(f"{pluralise(unjudged, 'question')} {_LEFT_OUT}")
            if runs and not any(row.doc in grades.get(row.query, ()) for run in runs.values() for row in run.rows()):
                self.notes.append(_RANKING_NOTES[-1])
        writers = {query: writer for query in grades if (writer := writer_of(self._fields(query)))}
        if not writers:
            return Qrels(grades, source=self._source.name)
        rows = (
            Judgement(query, doc, grade, judge_label=writers.get(query, ""))
            for query, docs in grades.items()
            for doc, grade in docs.items()
        )
        return Qrels(rows, source=self._source.name)

    def _grades(self) -> dict[str, dict[str, int]]:
        """The grades by query and document; of several scores of a document, the highest counts."""
        scores: dict[str, dict[str, float]] = {}
        for query, lists in self._stated_values("relevant"):
            for context in (context for list_ in lists for context in list_):
                docs = scores.setdefault(query, {})
                doc = self._documents.id_of(context)
                self._scored += context.score is not None
                docs[doc] = max(docs.get(doc, 0.0), _RELEVANT if context.score is None else context.score)
        plain = are_grades(score for docs in scores.values() for score in docs.values())
        if self._scored:
            how = "scores are whole numbers and grades" if plain else describe_thresholds(self._thresholds)
            self.notes.append(f"reference contexts: {how}; one without a score has score {_RELEVANT}")
        return {
            query: {doc: int(docs[doc]) if plain else grade_by(docs[doc], self._thresholds) for doc in sorted(docs)}
            for query, docs in scores.items()
        }

    def _queries(self) -> Queries:
        """The questions of all logs, with the reference answers of any log."""
        stated = dict(self._stated_values("references"))
        sets = {query: [frozenset(list_) for list_ in lists] for query, lists in stated.items()}
        self._note_different("reference answers", "references", sets)
        self._check_references_of_all(stated)
        references = {query: tuple(dict.fromkeys(text for list_ in lists for text in list_)) for query, lists in stated.items()}
        if references:
            self.counts.read("reference answers", sum(map(len, references.values())))
        self._note_contradictions(references)
        made = (
            Query(
                query,
                text,
                fields={**self._fields(query), **({ANSWER_FIELDS[0]: list(references[query])} if query in references else {})},
            )
            for query, text in self._questions.items()
        )
        return Queries(made, source=self._source.name)

    def _note_contradictions(self, references: Mapping[str, tuple[str, ...]]) -> None:
        """Notes the questions with reference answers of which a log says that they have no answer."""
        contradicted = [
            query for query, texts in references.items() if texts and self._fields(query).get(ANSWERABLE_FIELD) is False
        ]
        if contradicted:
            count = pluralise(len(contradicted), "question")
            example = _quoted_question(self._questions[contradicted[0]])
            self.notes.append(
                f"{count} with reference answers and {ANSWERABLE_FIELD}: false, such as {example}: no answer is right, and the"
                " references are not used"
            )

    def _fields(self, query: str) -> dict[str, Any]:
        """What the logs say of a question; of two rows, the first. Columns that differ between rows describe answers."""
        rows = reversed(self._samples(query))
        return {name: value for sample in rows for name, value in sample.fields.items() if name not in self._of_answers}

    @cached_property
    def _of_answers(self) -> dict[str, int]:
        """The columns of groups that two rows of a question have different values of, and for how many questions."""
        differing: dict[str, int] = {}
        for query in self._questions:
            samples = self._samples(query)
            for name in self.groups:
                if len({sample.fields[name] for sample in samples if name in sample.fields}) > 1:
                    differing[name] = differing.get(name, 0) + 1
        return differing

    @property
    def _model_columns(self) -> tuple[str, ...]:
        return tuple(self.columns.get("language model", ()))

    def _versions(self, name: str) -> tuple[str, ...]:
        """The values of a column that looks like the system of a row; none of any other column.

        It is called so, or the rows of a log that ask a question again have other values of it.
        """
        if "system" in self.columns:
            return ()
        values, repeated, differing = dict[Any, None](), 0, 0
        for system, log in self._logs.items():
            for query, sample in log.items():
                rows = (sample, *self._repeats[system].get(query, ()))
                own = dict.fromkeys(self._value(row, name) for row in rows)
                values |= own
                repeated += len(rows) > 1
                differing += len(own) > 1
        is_version = differing > repeated / 2 or bool(_VERSION.search(name.lower()) and name not in self._model_columns)
        return tuple(map(str, values)) if is_version and None not in values and 2 <= len(values) <= _MOST_VERSIONS else ()

    def _value(self, sample: Sample, name: str) -> Any:
        if name in self._model_columns:
            return sample.usage.model if sample.usage is not None else None
        return sample.fields.get(name)

    def _samples(self, query: str) -> list[Sample]:
        """The rows of all logs that ask the question, the repeats of a log after its first row."""
        logs = ((log, self._repeats[system]) for system, log in self._logs.items() if query in log)
        return [sample for log, repeats in logs for sample in (log[query], *repeats.get(query, ()))]

    def _coverage(self, systems: Collection[str]) -> Iterator[str]:
        """Says which systems lack questions of other logs."""
        for system, log in self._logs.items():
            missing = len(self._questions) - len(log)
            if missing and system in systems:
                counts = "it counts" if missing == 1 else "they count"
                yield f"{system} has no row for {pluralise(missing, 'question')} of the other logs; {counts} as missing"

    def _stated_values(self, name: str) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
        """Each question with what every row that asks it says of it; questions of which none says anything are left out."""
        for query in self._questions:
            values = [getattr(sample, name) for sample in self._samples(query)]
            if stated := [value for value in values if value is not None]:
                yield query, stated

    def _note_different(self, what: str, name: str, stated: Mapping[str, list[frozenset[str]]]) -> None:
        """Notes the questions for which two rows name other references."""
        if not (different := [query for query, sets in stated.items() if len({*sets}) > 1]):
            return
        self._check_logs_agree(what, name, different, len(stated))
        count, example = pluralise(len(different), "question"), _quoted_question(self._questions[different[0]])
        self.notes.append(f"{count} with other {what} in another row, such as {example}: those of all rows count")

    def _check_logs_agree(self, what: str, name: str, queries: Sequence[str], stated: int) -> None:
        """Refuses logs that have other references than another log for more than a few questions."""
        differing: dict[tuple[str, str], list[str]] = {}
        for query in queries:
            by_log = {system: self._texts(system, query, name) for system, log in self._logs.items() if query in log}
            stating = {system: texts for system, texts in by_log.items() if texts is not None}
            for system, other in combinations(stating, 2):
                if stating[system] != stating[other]:
                    differing.setdefault((system, other), []).append(query)
        for (system, other), own in differing.items():
            if len(own) > max(1, _FEW_DIFFERENT * stated):
                names = f"{for_message(system)} and {for_message(other)} have different {what}"
                example = _quoted_question(self._questions[own[0]])
                raise InputError(
                    f"the logs {names} for {len(own):,} questions, such as {example}",
                    fix=f"check which file has the right ones, and remove {what} from the others",
                    source=self._source.name,
                )

    def _check_references_of_all(self, queries: Iterable[str]) -> None:
        """Refuses references that one compared system alone brings, and that equal its own answers far more often."""
        answering = self._answering()
        brought: dict[str, list[str]] = {}
        for query in queries:
            stating = [system for system, log in self._logs.items() if query in log and self._texts(system, query, "references")]
            if len(stating) == 1 and stating[0] in answering:
                brought.setdefault(stating[0], []).append(query)
        for system, own in brought.items():
            for other in answering:
                shared = [query for query in own if query in self._logs[other]]
                equal = {
                    name: {query for query in shared if self._answers_reference(name, query, system)} for name in (system, other)
                }
                more, less = len(equal[system] - equal[other]), len(equal[other] - equal[system])
                if more - less > max(_FAR_ABOVE * len(shared), 2 * (more + less) ** 0.5):
                    shares = [
                        f"{len(equal[name]) / len(shared):.0%} of the answers of {for_message(name)}" for name in (system, other)
                    ]
                    raise InputError(
                        f"{len(shared):,} questions have reference answers in the log of {for_message(system)} alone, which equal"
                        f" {' and '.join(shares)}: they may be its own answers",
                        fix="check which are right, and give them in a file of their own, or in every log",
                        source=self._source.name,
                    )

    def _answers_reference(self, system: str, query: str, stating: str) -> bool:
        """Whether the first answer of a system is a reference of that log, in the same words."""
        answer = self._logs[system][query].answer
        references = self._texts(stating, query, "references") or ()
        return answer is not None and plain_words(answer) in map(plain_words, references)

    def _texts(self, system: str, query: str, name: str) -> frozenset[Any] | None:
        """The references of all rows in which a log asks the question; None if none has any."""
        rows = (self._logs[system][query], *self._repeats[system].get(query, ()))
        stated = [value for sample in rows if (value := getattr(sample, name)) is not None]
        items = (self._documents.id_of(item) if isinstance(item, Context) else item for value in stated for item in value)
        return frozenset(items) if stated else None


def is_ranking_note(note: str) -> bool:
    """Whether a note of an import is about rankings alone."""
    return note in _RANKING_NOTES or note.endswith(_LEFT_OUT) or _NOTHING_RETRIEVED in note


def _missing_parts(dataset: Dataset, *, has_runs: bool, has_answers: bool) -> Iterator[str]:
    """Says what cannot be measured."""
    unjudged, without, _ = _RANKING_NOTES
    if has_runs and not dataset.is_judged:
        yield unjudged
    if not has_runs:
        yield without
    if has_answers and not any(ANSWER_FIELDS[0] in query.fields for query in dataset.queries.values()):
        yield "no reference answers: answers are measured by their contexts alone"


def rows_of(system: str) -> str:
    """The name under which the rows of a log are counted."""
    return f"rows of {system}"


def _cited_ids(sample: Sample, passages: tuple[str, ...]) -> Iterator[str]:
    """The ids of cited contexts; a number that is no id counts the retrieved contexts from 1."""
    ids = {context.id: key for context, key in zip(sample.retrieved or (), passages, strict=True) if context.id is not None}
    for citation in sample.cited:
        is_place = citation not in ids and citation.isdecimal() and 1 <= int(citation) <= len(passages)
        yield passages[int(citation) - 1] if is_place else ids.get(citation, citation)


def _quoted_question(text: str) -> str:
    """The beginning of a text in quotes, for a message."""
    return f'"{for_message(clip_text(text))}"'


def _says(log: Mapping[str, Sample], name: str) -> bool:
    return any(getattr(sample, name) is not None for sample in log.values())


class _Documents:
    """The documents behind contexts: by their id where a log gives one, else by their exact text."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}
        self._own_ids: dict[str, str] = {}
        self._other_texts: dict[str, list[str]] = {}

    def add(self, context: Context) -> None:
        """Takes note of the id of a context, if it has one, and of the text under that id."""
        if context.id is None:
            return
        known = self._texts.setdefault(context.id, context.text)
        if context.text is None:
            return
        if known is None:
            self._texts[context.id] = context.text
        elif known != context.text and context.text not in self._other_texts.setdefault(context.id, []):
            self._other_texts[context.id].append(context.text)
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

    def passage_id(self, context: Context) -> str:
        """The id of the text of a context: that of a chunk where its document has another text too."""
        doc = self.id_of(context)
        others = self._other_texts.get(doc, [])
        return chunk_id(doc, self._separator, others.index(context.text) + 2) if context.text in others else doc

    def passages(self) -> dict[str, str]:
        """The text of every passage that has one."""
        chunks = {
            chunk_id(doc, self._separator, number): text
            for doc, texts in self._other_texts.items()
            for number, text in enumerate(texts, start=2)
        }
        return {**{key: text for key, text in self._texts.items() if text is not None}, **chunks}

    @cached_property
    def _separator(self) -> str:
        return chunk_separator(self._texts)

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
            yield IDS_ALONE
        if self._other_texts:
            count, example = len(self._other_texts), next(iter(self._other_texts))
            yield f"{pluralise(count, 'id')} with two texts, such as {for_message(example)}: the first text is kept"
