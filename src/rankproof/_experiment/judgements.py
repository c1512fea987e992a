"""The judgements of an experiment: of the dataset and further files, who made them, and chunks collapsed to a field's value."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankproof._data.answers import References, references_from_queries
from rankproof._data.arrays import id_hash
from rankproof._data.corpus import Corpus, Document, Partition
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.grades import GradeMap, describe_conflicts, describe_converted
from rankproof._data.identity import identity_key
from rankproof._data.ordering import Ranking
from rankproof._data.qrels import Judgement, Qrels, assessor_of
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof._data.text import pluralise, unspaced_pattern
from rankproof._data.validation import checked_id
from rankproof._experiment.experiment import Experiment, checked_qrels
from rankproof._formats.read import format_is_detected, read_qrels
from rankproof._formats.trec import numbered_lines
from rankproof._importers.registry import read_stored_dataset
from rankproof._io.corpus_store import CorpusStorage, writing_corpus
from rankproof._io.open import open_source
from rankproof._results.experiment_result import COLLAPSE_KEY
from rankproof._results.judgements import JoinedJudgements, agreement_sentence, join_judgements
from rankproof._results.saved_cases import cases_of, read_cases, with_cases
from rankproof.errors import InputError, UsageError, for_message
from rankproof.stages._analyzer import split_words
from rankproof.stages._chunked import collapse_ranking


@dataclass(frozen=True, eq=False, slots=True)
class JudgedDataset:
    """A dataset with the judgements of all files; `own` is the dataset as it is without them."""

    own: Dataset
    dataset: Dataset
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def load_judged_dataset(experiment: Experiment, storage: CorpusStorage | None = None) -> JudgedDataset:
    """The dataset of the experiment, with the judgements of its further files."""
    grades, rule = experiment.grade_map, experiment.on_conflict
    sources = checked_qrels(experiment.qrels) or ()
    own = load_dataset(experiment, storage)
    if experiment.include_cases is not None:
        own = with_cases(own, cases_of(read_cases(experiment.include_cases), own.name), experiment.include_cases)
    return add_judgements(own, sources, rel=experiment.rel, grade_map=grades, on_conflict=rule)


def load_dataset(experiment: Experiment, storage: CorpusStorage | None = None) -> Dataset:
    """The dataset of the experiment as it is without further judgements, read into the storage if it is a path."""
    where = storage or CorpusStorage()
    if isinstance(experiment.dataset, Dataset):
        return _in_partitions(experiment.dataset, where.partition_size)
    grades, rule = experiment.grade_map, experiment.on_conflict
    dataset = read_stored_dataset(experiment.dataset, where, split=experiment.split, grade_map=grades, on_conflict=rule)
    return _in_partitions(dataset, where.partition_size)


def _in_partitions(dataset: Dataset, size: int) -> Dataset:
    """The dataset with at most that many documents in a partition."""
    if all(len(partition) <= size for partition in dataset.corpus.partitions):
        return dataset
    return replace(dataset, corpus=dataset.corpus.repartitioned(size))


def add_judgements(
    own: Dataset,
    sources: Sequence[str | Qrels],
    *,
    rel: int = 1,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
) -> JudgedDataset:
    """The dataset with further judgements; where a person and a machine judged the same pair, the person's grade counts."""
    if not sources:
        return JudgedDataset(own, own, join_judgements((own.qrels,)).facts({}, rel) if own.qrels.judge_labels else {})
    with format_is_detected():
        read = [
            source if isinstance(source, Qrels) else read_qrels(source, grade_map=grade_map, on_conflict=on_conflict)
            for source in sources
        ]
    for judgements in read:
        if not any(query in own.queries for query in judgements):
            raise InputError(
                "no judged query is among the queries", fix="specify the judgements of this dataset", source=judgements.source
            )
    joined = join_judgements((own.qrels, *read), on_conflict)
    names = {pair: name for source in sources if isinstance(source, str) for pair, name in _assessors(source)}
    facts = joined.facts(names, rel)
    agreement = agreement_sentence(facts)
    notes = (
        *_notes(own, joined.qrels),
        *_grade_notes(joined, (own.qrels, *read), on_conflict),
        *([agreement] if agreement else []),
    )
    return JudgedDataset(own, replace(own, qrels=joined.qrels), facts, notes)


def _grade_notes(joined: JoinedJudgements, parts: Sequence[Qrels], on_conflict: OnConflict) -> Iterator[str]:
    """Notes on grades that were converted and on pairs with two grades, in one file or in two."""
    if converted := sum(part.converted for part in parts):
        yield describe_converted(converted)
    if conflicts := sum(part.conflicts for part in (*parts, joined.people, joined.machines)):
        yield describe_conflicts(conflicts, on_conflict)


def _assessors(path: str) -> Iterator[tuple[tuple[str, str], str]]:
    """The pairs of a file that `rankproof serve` wrote, with the name of the person who judged each."""
    if not os.path.isfile(path):
        return
    for _, row in numbered_lines(open_source(path)):
        columns = row.decode(errors="replace").split()
        if len(columns) == 4 and (name := assessor_of(columns[1])):
            yield (columns[0], columns[2]), name


def _notes(own: Dataset, qrels: Qrels) -> Iterator[str]:
    """A note on queries that no file judges."""
    unjudged = sum(query not in qrels for query in own.queries)
    if not own.is_judged and unjudged:
        yield f"{pluralise(unjudged, 'query has', 'queries have')} no judgement and no part in the measures"


CHUNK_RULE = (
    "a chunk has its document's grade where it holds an answer of the query, else 0; where the query has no answer, or the"
    " document does not hold it word for word, every chunk has its document's grade"
)
_COLLAPSE_RULE = "every {field} has the score of its best chunk and the highest grade of its chunks"
_COLLAPSE_RULE_BY_VALUE = "every {field} has the score of its best chunk; the judgements grade each {field}, not its chunks"


@dataclass(frozen=True, eq=False, slots=True)
class ChunksOfDocument:
    """The chunks, the ids of those of a document in order (none of an unknown document), and the full text of a document."""

    chunks: Corpus
    ids: Callable[[str], Sequence[str]]
    text: Callable[[str], str]


@dataclass(frozen=True, eq=False, slots=True)
class ChunkGrades:
    """Judgements of chunks; `cut` are the queries whose answer is in a relevant document, but in none of its chunks."""

    qrels: Qrels
    cut: tuple[str, ...]


def chunk_grades(qrels: Qrels, queries: Queries, document_chunks: ChunksOfDocument, rel: int, only: Iterable[str]) -> ChunkGrades:
    """The grades of the chunks of every judged document, for the queries `only`."""
    references = references_from_queries(queries)
    chunk_words = cache(lambda chunk: _spaced_words(document_chunks.chunks[chunk].text))
    document_words = cache(lambda doc: _spaced_words(document_chunks.text(doc)))
    chunk_ids = cache(document_chunks.ids)
    grades: list[Judgement] = []
    cut = []
    for query in only:
        answers = _answer_words(references, query)
        held = {doc for doc in qrels[query] if chunk_ids(doc) and _contains_answer(document_words(doc), answers)}
        chunk_judgements = []
        for doc, grade in qrels[query].items():
            label = qrels.judge_labels.get((query, doc), "")
            # A document without chunks keeps its own id, which is in no ranking of chunks.
            for chunk in chunk_ids(doc) or (doc,):
                own = grade if doc not in held or _contains_answer(chunk_words(chunk), answers) else min(grade, 0)
                chunk_judgements.append(Judgement(query, chunk, own, judge_label=label))
        is_cut = any(qrels[query][doc] >= rel for doc in held) and all(judgement.grade < rel for judgement in chunk_judgements)
        cut += [query] if is_cut else []
        grades += chunk_judgements
    return ChunkGrades(Qrels(iter(grades), source=qrels.source), tuple(cut))


def _answer_words(references: References, query: str) -> tuple[str, ...]:
    """The answers of the query as words, without empty ones."""
    answers = references[query].answers if query in references else ()
    return tuple(_spaced_words(answer) for answer in answers if split_words(answer))


def _spaced_words(text: str) -> str:
    """The words, separated and surrounded by spaces."""
    return f" {' '.join(split_words(text))} "


def _contains_answer(text: str, answers: Sequence[str]) -> bool:
    """Whether the words of an answer follow each other in the text, or its characters in scripts without spaces."""
    return any(
        answer in text or (unspaced_pattern().search(answer) and answer.replace(" ", "") in text.replace(" ", ""))
        for answer in answers
    )


@dataclass(frozen=True, eq=False, slots=True)
class CollapsedCorpus:
    """A dataset of chunks, the field value of each chunk, and the judgements of the values.

    `by_value` says that the dataset judges values itself. `pool` is how many top chunks of a ranking are collapsed.
    """

    dataset: Dataset
    field: str
    pool: int | None
    values: FieldValues
    qrels: Qrels
    by_value: bool

    def ranking(self, ranking: Ranking) -> Ranking:
        """The ranking of chunks as a ranking of values."""
        return collapse_ranking(ranking, lambda doc: self.values.get(doc, doc), pool=self.pool)

    def fingerprint(self, own: Dataset) -> str:
        """The fingerprint of the collapsed dataset, which is `own` without the judgements of further files."""
        return identity_key(own.fingerprint(), "collapse", self.field)

    @property
    def rule(self) -> str:
        """The rule of collapsing, in words."""
        return (_COLLAPSE_RULE_BY_VALUE if self.by_value else _COLLAPSE_RULE).format(field=self.field)

    def facts(self) -> dict[str, Any]:
        """The facts of the collapse, for the provenance."""
        return {COLLAPSE_KEY: {"field": self.field, "pool": self.pool, "rule": self.rule, "chunks": len(self.dataset.corpus)}}

    def notes(self) -> Iterator[str]:
        """A note with the rule, since every value depends on it."""
        pool = f"; only the top {self.pool} chunks of a ranking count" if self.pool else ""
        yield f"{len(self.values)} documents are chunks with {self.values.distinct} values of {self.field}: {self.rule}{pool}"

    def judged(self, runs: Iterable[Run]) -> Dataset:
        """A dataset of the values, each with the text of the chunk that comes first in the rankings, else of its first chunk."""
        corpus, best = self.dataset.corpus, dict[str, str]()
        for doc in dict.fromkeys(doc for run in runs for doc in run.docs):
            if doc in corpus:
                best.setdefault(self.values[doc], doc)
        ranked = ((value, corpus[doc]) for value, doc in best.items())
        first = ((value, document) for value, document in self.values.first_documents() if value not in best)
        with writing_corpus(CorpusStorage(None), (), corpus.source) as writer:
            for value, document in chain(ranked, first):
                writer.add(replace(document, id=value, line=None))
            collapsed = writer.corpus(corpus.source)
        return Dataset(self.dataset.name, collapsed, self.dataset.queries, self.qrels)

    def document_chunks(self) -> ChunksOfDocument:
        """The documents as chunks of the values."""
        corpus, values = self.dataset.corpus, self.values
        return ChunksOfDocument(
            corpus, values.documents, lambda value: "\n".join(corpus[doc].text for doc in values.documents(value))
        )


class FieldValues(Mapping[str, str]):
    """Document id to the value of a field; a value is read when it is asked for, and each has a hash in memory."""

    def __init__(self, corpus: Corpus, field: str) -> None:
        self._corpus, self._field = corpus, field
        values = (id_hash(_field_value(corpus, document, field).encode()) for document in corpus.documents())
        hashes = np.fromiter(values, np.uint64, len(corpus))
        self._order = np.argsort(hashes, kind="stable")
        self._hashes = hashes[self._order]

    def __getitem__(self, doc: str) -> str:
        return _field_value(self._corpus, self._corpus[doc], self._field)

    def __contains__(self, doc: object) -> bool:
        return doc in self._corpus

    def __iter__(self) -> Iterator[str]:
        return iter(self._corpus)

    def __len__(self) -> int:
        return len(self._corpus)

    def documents(self, value: str) -> list[str]:
        """The ids of the documents with the value, in input order."""
        start, end = (np.searchsorted(self._hashes, np.uint64(id_hash(value.encode())), side) for side in ("left", "right"))
        documents = (partition.document(row) for partition, row in self._places(self._order[start:end]))
        return [document.id for document in documents if _field_value(self._corpus, document, self._field) == value]

    @property
    def distinct(self) -> int:
        """The number of different values."""
        return int(np.count_nonzero(self._is_first))

    def first_documents(self) -> Iterator[tuple[str, Document]]:
        """Each value with its first document, in input order."""
        for partition, row in self._places(np.sort(self._order[self._is_first])):
            document = partition.document(row)
            yield _field_value(self._corpus, document, self._field), document

    @property
    def _is_first(self) -> NDArray[np.bool_]:
        return np.concatenate([np.ones(min(1, len(self)), np.bool_), self._hashes[1:] != self._hashes[:-1]])

    def _places(self, positions: NDArray[np.int64]) -> Iterator[tuple[Partition, int]]:
        return map(self._corpus.partitions.at, map(int, positions))


def collapse_corpus(dataset: Dataset, field: str, pool: int | None) -> CollapsedCorpus:
    """The dataset with the field value of each document."""
    values = FieldValues(dataset.corpus, field)
    by_value = _is_judged_by_value(dataset, values, field)
    qrels = dataset.qrels if by_value else _highest_grades(dataset.qrels, values)
    return CollapsedCorpus(dataset, field, pool, values, qrels, by_value)


def _field_value(corpus: Corpus, document: Document, field: str) -> str:
    value = document.title if field == "title" else document.fields.get(field)
    if isinstance(value, str | int) and not isinstance(value, bool) and str(value).strip():
        return checked_id(value, field, source=corpus.source, line=document.line)
    if field != "title" and field not in (names := _field_names(corpus)):
        known = ", ".join(map(for_message, sorted(names))) or "title"
        raise UsageError(f"no document has a field called {for_message(field)} to collapse to", fix=f"choose from {known}")
    what = f"document {for_message(document.id)} has no {for_message(field)} to collapse to"
    raise InputError(
        what, fix="fill in the field for every document, or leave out collapse", source=corpus.source, line=document.line
    )


def _field_names(corpus: Corpus) -> set[str]:
    return {name for partition in corpus.partitions for fields in partition.other_fields() for name in fields}


def _is_judged_by_value(dataset: Dataset, values: FieldValues, field: str) -> bool:
    """Whether the judgements are of values instead of documents; a mix of both is refused."""
    pairs = [(query, doc) for query, docs in dataset.qrels.items() for doc in docs]
    document = next((pair for pair in pairs if pair[1] in values), None)
    value = next((pair for pair in pairs if pair[1] not in values and values.documents(pair[1])), None)
    if document and value:
        of_documents = f"of documents (query {for_message(document[0])}: {for_message(document[1])})"
        of_values = f"of {for_message(field)} (query {for_message(value[0])}: {for_message(value[1])})"
        what = f"judgements {of_documents} and {of_values} are mixed"
        raise InputError(what, fix="use judgements of either documents or field values, not both", source=dataset.qrels.source)
    return value is not None


def _highest_grades(qrels: Qrels, values: Mapping[str, str]) -> Qrels:
    """The highest grade of the chunks of each value, with its judge label; unknown documents keep their id."""
    best: dict[tuple[str, str], Judgement] = {}
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            key = query, values.get(doc, doc)
            if key not in best or grade > best[key].grade:
                best[key] = Judgement(*key, grade, judge_label=qrels.judge_labels.get((query, doc), ""))
    return Qrels(iter(best.values()), source=qrels.source)
