"""The grades that a page offers by the scale of the judgements, and the queue of pairs that people judge."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nlargest
from math import floor, log2

from rankproof._analysis.audit.judge_next import MAX_DEPTH, PairOrder, judge_next
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.compare.joined_values import primary_measure
from rankproof._analysis.inputs import input_from_results, whole_rankings
from rankproof._analysis.values import EMPTY_LIST, main_measure
from rankproof._data.dataset import Dataset
from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE, Qrels
from rankproof._formats.write import qrels_blocks
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.label_tasks import LabelDraw, documents_to_label, draw_documents, draw_questions
from rankproof._server.judgement_log import QueryAndDoc
from rankproof._server.responses import HttpError
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import parse_measure

MOST_GRADES = 11
"""The most grades that have a button each, those of a scale from 0 to 10."""


def grade_scale(qrels: Mapping[str, Mapping[str, int]]) -> tuple[int, ...]:
    """The grades from 0 to the highest one in the judgements, or those that occur; without judgements the rubric's.

    Empty if the judgements have more grades than buttons.
    """
    used = sorted({grade for docs in qrels.values() for grade in docs.values()})
    if not used:
        return tuple(GRADES)
    lowest, highest = min(used[0], LOWEST_GRADE), used[-1]
    if highest - lowest < MOST_GRADES:
        return tuple(range(lowest, max(highest, LOWEST_GRADE + 1) + 1))
    return tuple(used) if len(used) <= MOST_GRADES else ()


def grade_meanings(scale: tuple[int, ...]) -> dict[int, str]:
    """What each grade means: the rubric for a scale from 0 to 3, nothing for any other, whose meaning only its makers know."""
    return dict(GRADES) if scale == tuple(range(LOWEST_GRADE, HIGHEST_GRADE + 1)) else {}


def rubric_of(scale: tuple[int, ...]) -> dict[int, str]:
    """Each grade with what it means, empty where only the makers of the scale know."""
    meanings = grade_meanings(scale)
    return {grade: meanings.get(grade, "") for grade in scale}


def checked_grade(grade: object, scale: tuple[int, ...]) -> int:
    """The grade, or the error of a request with another one."""
    if not isinstance(grade, int) or isinstance(grade, bool) or grade not in scale:
        raise HttpError(400, f"the grade must be one of {', '.join(map(str, scale))}" if scale else "there is no scale of grades")
    return grade


def offered_scale(qrels: Qrels, name: str) -> tuple[int, ...]:
    """The scale of the judgements, of a language model's the rubric; an error if it has too many grades for buttons."""
    scale = grade_scale(qrels)
    if scale and set(scale) <= set(GRADES) and _is_by_rubric(qrels):
        return tuple(GRADES)
    if not scale:
        what = f"the judgements of {for_message(name)} have more than {MOST_GRADES} different grades, too many for buttons"
        raise UsageError(what, fix="map them to fewer grades with --grade-map, and run the experiment again")
    return scale


def _is_by_rubric(qrels: Qrels) -> bool:
    """Whether each judgement is by a machine that graded by the rubric."""
    labels = qrels.judge_labels
    return bool(labels) and all((query, doc) in labels for query, docs in qrels.items() for doc in docs)


def check_same_scale(grades: Iterable[int], scale: tuple[int, ...], file: str, option: str) -> None:
    """Raises an error if a file has a grade of another scale than the results: grades of two scales are never merged."""
    other = sorted({grade for grade in grades if grade not in scale})
    if other:
        what = (
            f"{for_message(file)} has the grade {other[-1]}, and the judgements of the results are from {scale[0]} to {scale[-1]}"
        )
        raise UsageError(what, fix=f"restart with another file: {option} FILE")


def most_contested(unjudged_docs: UnjudgedDocuments, measure: Measure, most: int) -> UnjudgedDocuments:
    """At most `most` unjudged pairs: those that the systems rank most differently, weighted towards the top."""
    disagreement = _rank_disagreement(unjudged_docs, min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH))
    if len(disagreement) <= most:
        return unjudged_docs
    kept: dict[str, set[str]] = {query: set() for query in unjudged_docs.docs}
    for query, doc in nlargest(most, disagreement, key=disagreement.__getitem__):
        kept[query].add(doc)
    docs = {query: frozenset(docs) for query, docs in kept.items()}
    return replace(unjudged_docs, docs=docs, counts={query: len(own) for query, own in docs.items()})


def _rank_disagreement(unjudged_docs: UnjudgedDocuments, depth: int) -> Mapping[QueryAndDoc, float]:
    """The range of the rank discounts of each pair over the systems; 0 for a system that did not retrieve it."""
    disagreement: dict[QueryAndDoc, float] = {}
    for query, unjudged in unjudged_docs.docs.items():
        ranked: dict[str, list[float]] = {}
        for lists in unjudged_docs.lists.values():
            for rank, doc in enumerate(lists.get(query, EMPTY_LIST).docs[:depth], start=1):
                if doc in unjudged:
                    ranked.setdefault(doc, []).append(1 / log2(rank + 1))
        for doc, discounts in ranked.items():
            least = min(discounts) if len(discounts) == len(unjudged_docs.lists) > 1 else 0.0
            disagreement[query, doc] = max(discounts) - least
    return disagreement


MAX_PASSAGE_LENGTH = 10_000
"""Characters of a passage; keeps a page with a thousand passages small enough to load."""
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Passage:
    """The shown text of a document, and whether it is complete."""

    text: str
    is_complete: bool


class DocumentTexts:
    """Full document texts from the dataset, for results on that dataset."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self.dataset = dataset
        self._fingerprint = None if dataset is None else dataset.fingerprint()

    def check_fingerprints(self, fingerprints: Iterable[str], name: str) -> None:
        """Raises an error if no results are on this dataset."""
        if self._fingerprint is not None and self._fingerprint not in fingerprints:
            what = f"{for_message(name)} is not the dataset of any of these results"
            raise UsageError(what, fix="pass the dataset of the experiment, with the same judgements")

    def passage_of(self, results: ExperimentResult, doc: str) -> Passage:
        """The text of the document, from the dataset or else from the results."""
        if self.dataset is not None and results.fingerprint == self._fingerprint and doc in self.dataset.corpus:
            document = self.dataset.corpus[doc]
            text = " · ".join(part for part in (document.title, document.text) if part)
            return (
                Passage(text, True)
                if len(text) <= MAX_PASSAGE_LENGTH
                else Passage(f"{text[:MAX_PASSAGE_LENGTH]}{_ELLIPSIS}", False)
            )
        snippet = results.snippets.get(doc, "")
        return Passage(snippet, not snippet.endswith(_ELLIPSIS))


DEFAULT_POOL = 10
MAX_QUEUE_ITEMS = 1000
"""The largest number of pairs on a page."""
MAX_CANDIDATES = 3000
"""The largest number of pairs whose effect is computed, because the page waits for it."""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A pair with its texts; `system_ranks` is sent only after the grade, to avoid bias."""

    query: str
    doc: str
    text: str
    passage: str
    is_complete: bool
    system_ranks: str

    @property
    def pair(self) -> QueryAndDoc:
        """The ids of the query and the document."""
        return self.query, self.doc


ORDERS: Mapping[PairOrder, str] = {
    "effect": "how much a pair could change {}",
    "risk": "how much a grade is expected to change the risks of the decision by {}",
}
"""What the pairs of a queue are ordered by."""


@dataclass(frozen=True, eq=False, slots=True)
class JudgingQueue:
    """Pairs to judge: those that could change the measure most first, or a pool in random order.

    `pool` is how many documents of a ranking are in the pool, None where there is none. `left_out` counts the pairs without a
    text or with ids that qrels cannot hold; `is_sampled` is true if only the pairs that the systems rank most differently
    were considered; `scale` are the grades that people give, those of the judgements of the results. `sizes` has the number of
    pairs of each question, where whole questions are labelled.
    """

    measure: str
    fingerprint: str
    items: Mapping[QueryAndDoc, QueueItem]
    left_out: int
    is_sampled: bool
    scale: tuple[int, ...] = tuple(GRADES)
    pool: int | None = None
    order: PairOrder = "risk"
    sizes: tuple[int, ...] = ()

    @property
    def order_text(self) -> str:
        """What the pairs are ordered by."""
        return ORDERS[self.order].format(self.measure)

    @property
    def queries(self) -> dict[str, int]:
        """The number of pairs of each query, in the order of the queue."""
        return dict(Counter(query for query, _ in self.items))

    def share_of(self, person: str, people: Sequence[str], overlap: float) -> JudgingQueue:
        """The part of a person: this share of the queries, which everybody judges, and an equal part of the others."""
        if len(people) < 2 or overlap >= 1:
            return self
        own = {query for place, query in enumerate(self.queries) if _is_own(place, people.index(person), len(people), overlap)}
        items = {pair: item for pair, item in self.items.items() if item.query in own}
        sizes = tuple(self.queries[query] for query in self.queries if query in own) if self.sizes else ()
        return replace(self, items=items, sizes=sizes)


def _is_own(place: int, person: int, people: int, overlap: float) -> bool:
    """Whether a person judges the query at this place: shared queries lie evenly between the others, which go round."""
    before = floor(place * overlap)
    return floor((place + 1) * overlap) > before or (place - before) % people == person


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """How many documents of each ranking are in the pool, the seed of its order, and the order of other queues.

    Without a depth, only results without judgements have a pool, of 10 documents. `questions` is how many questions of a random
    draw are labelled, None if pairs are judged. Of several people each judges `overlap` of the queries, and a part of the others.
    """

    depth: int | None = None
    seed: int = 0
    order: PairOrder = "risk"
    questions: int | None = None
    overlap: float = 1.0


def build_queue(results: ExperimentResult, texts: DocumentTexts, options: QueueOptions | None = None) -> JudgingQueue:
    """The unjudged pairs that could change the main measure most, or the pool of all systems."""
    options = options or QueueOptions()
    if options.depth is not None or not results.is_judged:
        return _pool_queue(results, texts, options.depth or DEFAULT_POOL, options.seed)
    inputs = whole_rankings(input_from_results(results))
    measure = main_measure(inputs)
    every = find_unjudged(inputs)
    unjudged_docs = most_contested(every, inputs.result.systems[0].measures[measure].measure, MAX_CANDIDATES)
    rows = judge_next(unjudged_docs, measure, MAX_QUEUE_ITEMS, options.order).records()
    queued = list(queue_items(results, texts, [(str(row["query"]), str(row["document"]), str(row["ranks"])) for row in rows]))
    items = {item.pair: item for item in queued}
    left_out, scale = len(rows) - len(items), scale_of(results)
    return JudgingQueue(measure, results.fingerprint, items, left_out, unjudged_docs is not every, scale, order=options.order)


def _pool_queue(results: ExperimentResult, texts: DocumentTexts, depth: int, seed: int) -> JudgingQueue:
    """The top documents of all systems, query by query; the order of queries and of their documents is random."""
    ranked = [system_run.name for system_run in results.system_runs if system_run.stored_run is not None]
    draw = draw_questions(results.queries, ranked, "documents", depth, seed)
    rows = [(query, doc, "") for query, docs in _shuffled_documents(results, draw).items() for doc in docs]
    items = {item.pair: item for item in queue_items(results, texts, rows)}
    return JudgingQueue("", results.fingerprint, items, len(rows) - len(items), False, scale_of(results), depth)


def _shuffled_documents(results: ExperimentResult, draw: LabelDraw) -> dict[str, list[str]]:
    """The documents of each question of the draw, in random order."""

    def key(query: str, doc: str) -> bytes:
        return hashlib.sha256(json.dumps([draw.seed, query, doc]).encode()).digest()

    return {query: sorted(docs, key=partial(key, query)) for query, docs in documents_to_label(results, draw).items()}


def new_draw(results: ExperimentResult, seed: int) -> LabelDraw:
    """A draw of the questions whose documents people label, as deep as the measure that decides looks."""
    primary = results.decision_settings.primary
    if primary is None and results.is_judged:
        primary = primary_measure(input_from_results(results))
    cutoff = None if primary is None else getattr(parse_measure(primary), "cutoff", None)
    return draw_documents(results, cutoff or DEFAULT_POOL, seed)


def build_draw_queue(results: ExperimentResult, texts: DocumentTexts, draw: LabelDraw, questions: int) -> JudgingQueue:
    """All documents of the first questions of the draw, in random order within a question."""
    shown = _shuffled_documents(results, replace(draw, questions=draw.questions[:questions]))
    items = {(query, doc): _drawn_item(results, texts, query, doc) for query, docs in shown.items() for doc in docs}
    if all(item.passage == _NO_TEXT for item in items.values()):
        raise UsageError(f"{for_message(results.name)} has no texts of documents", fix="pass the dataset: --dataset SOURCE")
    sizes = tuple(map(len, shown.values()))
    return JudgingQueue("", results.fingerprint, items, 0, False, scale_of(results), draw.depth, sizes=sizes)


_NO_TEXT = "This document has no text."


def _drawn_item(results: ExperimentResult, texts: DocumentTexts, query: str, doc: str) -> QueueItem:
    """A pair of a draw, also without a text: a question is complete only with all of its documents."""
    if query not in results.texts or not can_be_written(query, doc):
        what = f"document {for_message(doc)} of query {for_message(query)} cannot be judged"
        raise UsageError(what, fix="use ids without white space, and results with the texts of their queries")
    passage = texts.passage_of(results, doc)
    text = passage.text if passage.text.strip() else _NO_TEXT
    return QueueItem(query, doc, results.texts[query].text, text, passage.is_complete, "")


def queue_items(results: ExperimentResult, texts: DocumentTexts, rows: list[tuple[str, str, str]]) -> Iterator[QueueItem]:
    for query, doc, ranks in rows:
        passage = texts.passage_of(results, doc)
        if passage.text.strip() and query in results.texts and can_be_written(query, doc):
            yield QueueItem(query, doc, results.texts[query].text, passage.text, passage.is_complete, ranks)


def can_be_written(query: str, doc: str) -> bool:
    """Whether TREC qrels can hold these ids."""
    try:
        return any(True for _ in qrels_blocks(Qrels.from_dict({query: {doc: 0}}), "trec"))
    except InputError:
        return False


def scale_of(results: ExperimentResult) -> tuple[int, ...]:
    """The grades that people give to documents of these results."""
    return offered_scale(results.qrels, results.name)
