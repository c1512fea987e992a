"""The queue of unjudged pairs, and the page on which they are judged."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import nlargest
from itertools import islice
from math import log2
from typing import Any

from rankproof._analysis.audit.judge_next import MAX_DEPTH, judge_next
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.inputs import input_from_results, whole_rankings
from rankproof._analysis.values import EMPTY_LIST, main_measure
from rankproof._data.dataset import Dataset
from rankproof._data.ordering import ranked_documents
from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE, Qrels, highest_grade
from rankproof._formats.write import qrels_blocks
from rankproof._io.escape import json_block
from rankproof._results.experiment_result import ExperimentResult
from rankproof._results.judgements import with_judgements
from rankproof._server.judgement_log import JudgementLog, QueryAndDoc
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, page_script
from rankproof.errors import InputError, RankproofError, UsageError, escape_invisible, for_message
from rankproof.measures._base import Measure


def most_contested(unjudged_docs: UnjudgedDocuments, measure: Measure, most: int) -> UnjudgedDocuments:
    """At most `most` unjudged pairs: those that the systems rank most differently, weighted towards the top."""
    disagreement = _rank_disagreement(unjudged_docs, min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH))
    if len(disagreement) <= most:
        return unjudged_docs
    kept: dict[str, set[str]] = {query: set() for query in unjudged_docs.docs}
    for query, doc in nlargest(most, disagreement, key=disagreement.__getitem__):
        kept[query].add(doc)
    return replace(unjudged_docs, docs={query: frozenset(docs) for query, docs in kept.items()})


def _rank_disagreement(unjudged_docs: UnjudgedDocuments, depth: int) -> Mapping[QueryAndDoc, float]:
    """The range of the rank discounts of each pair over the systems; 0 for a system that did not retrieve it."""
    found: dict[QueryAndDoc, float] = {}
    for query, unjudged in unjudged_docs.docs.items():
        ranked: dict[str, list[float]] = {}
        for lists in unjudged_docs.lists.values():
            for rank, doc in enumerate(lists.get(query, EMPTY_LIST).docs[:depth], start=1):
                if doc in unjudged:
                    ranked.setdefault(doc, []).append(1 / log2(rank + 1))
        for doc, discounts in ranked.items():
            least = min(discounts) if len(discounts) == len(unjudged_docs.lists) > 1 else 0.0
            found[query, doc] = max(discounts) - least
    return found


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
        self._dataset = dataset
        self._fingerprint = None if dataset is None else dataset.fingerprint()

    def check_fingerprints(self, fingerprints: Iterable[str], name: str) -> None:
        """Raises an error if no results are on this dataset."""
        if self._fingerprint is not None and self._fingerprint not in fingerprints:
            what = f"{for_message(name)} is not the dataset of any of these results"
            raise UsageError(what, fix="pass the dataset of the experiment, with the same judgements")

    def passage_of(self, results: ExperimentResult, doc: str) -> Passage:
        """The text of the document, from the dataset or else from the results."""
        if self._dataset is not None and results.fingerprint == self._fingerprint and doc in self._dataset.corpus:
            document = self._dataset.corpus[doc]
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


@dataclass(frozen=True, eq=False, slots=True)
class JudgingQueue:
    """Pairs to judge: those that could change the measure most first, or a pool in random order.

    `pool` is how many documents of a ranking are in the pool, None where there is none. `left_out` counts the pairs without a
    text or with ids that qrels cannot hold; `is_sampled` is true if only the pairs that the systems rank most differently
    were considered; `highest` is the highest grade in the judgements of the results.
    """

    measure: str
    fingerprint: str
    items: Mapping[QueryAndDoc, QueueItem]
    left_out: int
    is_sampled: bool
    highest: int | None
    pool: int | None = None


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """How many documents of each ranking are in the pool, and the seed of its order.

    Without a depth, only results without judgements have a pool, of 10 documents.
    """

    depth: int | None = None
    seed: int = 0


def build_queue(results: ExperimentResult, texts: DocumentTexts, pool: PoolOptions | None = None) -> JudgingQueue:
    """The unjudged pairs that could change the main measure most, or the pool of all systems."""
    pool = pool or PoolOptions()
    if pool.depth is not None or not results.is_judged:
        return _pool_queue(results, texts, pool.depth or DEFAULT_POOL, pool.seed)
    inputs = whole_rankings(input_from_results(results))
    measure = main_measure(inputs)
    every = find_unjudged(inputs)
    unjudged_docs = most_contested(every, inputs.result.systems[0].measures[measure].measure, MAX_CANDIDATES)
    rows = judge_next(unjudged_docs, measure, MAX_QUEUE_ITEMS).records()
    found = list(_queue_items(results, texts, [(str(row["query"]), str(row["document"]), str(row["ranks"])) for row in rows]))
    items = {one.pair: one for one in found}
    left_out, highest = len(rows) - len(items), highest_grade(results.qrels)
    return JudgingQueue(measure, results.fingerprint, items, left_out, unjudged_docs is not every, highest)


def _pool_queue(results: ExperimentResult, texts: DocumentTexts, depth: int, seed: int) -> JudgingQueue:
    """The top documents of all systems, query by query; the order of queries and of their documents is random."""
    rankings = [ranked_documents(system_run.run) for system_run in results.system_runs]
    draw, rows = random.Random(seed), list[tuple[str, str, str]]()
    for query in draw.sample(results.queries, len(results.queries)):
        docs = sorted({doc for ranked in rankings for doc in ranked.get(query, ())[:depth]})
        rows += [(query, doc, "") for doc in draw.sample(docs, len(docs))]
    items = {one.pair: one for one in _queue_items(results, texts, rows)}
    highest = highest_grade(results.qrels)
    return JudgingQueue("", results.fingerprint, items, len(rows) - len(items), False, highest, depth)


def _queue_items(results: ExperimentResult, texts: DocumentTexts, rows: list[tuple[str, str, str]]) -> Iterator[QueueItem]:
    for query, doc, ranks in rows:
        passage = texts.passage_of(results, doc)
        if passage.text.strip() and query in results.texts and _can_be_written(query, doc):
            yield QueueItem(query, doc, results.texts[query].text, passage.text, passage.is_complete, ranks)


def _can_be_written(query: str, doc: str) -> bool:
    """Whether TREC qrels can hold these ids."""
    try:
        return any(True for _ in qrels_blocks(Qrels.from_dict({query: {doc: 0}}), "trec"))
    except InputError:
        return False


def scale_warning(highest: int | None) -> str:
    """A warning if the results were judged on another scale; else empty."""
    if highest in (None, HIGHEST_GRADE):
        return ""
    return (
        f"the judgements of the results go up to {highest}, those of this page from {LOWEST_GRADE} to {HIGHEST_GRADE};"
        " a grade may not mean the same in both, so do not merge the two files unchanged"
    )


class JudgingPage:
    """The judging page and its requests, on top of the judgement log."""

    def __init__(self, log: JudgementLog) -> None:
        self._log = log

    def page(self, id: str, name: str, queue: JudgingQueue) -> PageResponse:
        """The page with the queue."""
        self._log.check_collection(queue.fingerprint)
        indices = {pair: at for at, pair in enumerate(queue.items)}
        last = self._log.last
        shown = self._shown_pairs(queue)
        data = {
            "judge": f"/r/{id}/judge",
            "undo": f"/r/{id}/undo",
            "decision": f"/r/{id}/decision",
            "pairs": [_item_fields(item) if item.pair in shown else None for item in queue.items.values()],
            "beginnings": [at for at, item in enumerate(queue.items.values()) if not item.is_complete],
            "last": None if last is None else indices.get(last),
            **self._grades_so_far(queue),
        }
        return html_page(
            "judge.html.j2",
            title=f"Judge {name}",
            id=id,
            script=page_script("changes.js", "judge.js"),
            data=json_block(data),
            queue=queue,
            rubric=GRADES,
            beginnings=any(not item.is_complete for item in queue.items.values()),
            scale=scale_warning(queue.highest),
            assessor=self._log.assessor,
            file=os.path.basename(self._log.path),
        )

    def _shown_pairs(self, queue: JudgingQueue) -> set[QueryAndDoc]:
        """The pairs on the page: all of a short queue, else the first without a grade, and the one judged last."""
        if len(queue.items) <= MAX_QUEUE_ITEMS:
            return set(queue.items)
        ungraded = (pair for pair in queue.items if self._log.grade(pair) is None)
        return {*islice(ungraded, MAX_QUEUE_ITEMS), *([self._log.last] if self._log.last else [])}

    def measured(self, results: ExperimentResult) -> ExperimentResult:
        """The results measured with the grades so far."""
        qrels, names = self._log.judgements()
        if not qrels:
            raise UsageError("there are no grades yet", fix="judge some pairs first")
        return with_judgements(results, qrels, names=names)

    def judge(self, queue: JudgingQueue, body: dict[str, Any]) -> PageResponse:
        """Saves a grade; the response has the ranks of the document in the systems."""
        item, grade = _requested_item(queue, body), body.get("grade")
        if not isinstance(grade, int) or isinstance(grade, bool) or grade not in GRADES:
            raise HttpError(400, f"the grade must be one of {', '.join(map(str, GRADES))}")
        return self._record_change(queue, item, lambda: self._log.judge(item.pair, grade, queue.fingerprint))

    def undo(self, queue: JudgingQueue, body: dict[str, Any]) -> PageResponse:
        """Removes the last judgement of a pair."""
        item = _requested_item(queue, body)
        return self._record_change(queue, item, lambda: self._log.undo(item.pair, queue.fingerprint))

    def _record_change(self, queue: JudgingQueue, item: QueueItem, change: Callable[[], None]) -> PageResponse:
        try:
            change()
        except RankproofError as error:
            raise HttpError(409 if isinstance(error, UsageError) else 500, str(error)) from None
        grade = self._log.grade(item.pair)
        return json_response(
            200, {"grade": grade, "system_ranks": "" if grade is None else item.system_ranks, **self._grades_so_far(queue)}
        )

    def _grades_so_far(self, queue: JudgingQueue) -> dict[str, Any]:
        """The grades by the index of the pair in the queue."""
        found = ((at, self._log.grade(pair)) for at, pair in enumerate(queue.items))
        return {"grades": {at: grade for at, grade in found if grade is not None}}


def _item_fields(item: QueueItem) -> list[str]:
    """The ids for requests, then the ids and texts with invisible characters escaped."""
    texts = (item.query, item.doc, item.text, item.passage)
    return [*item.pair, *(escape_invisible(" ".join(text.split())) for text in texts)]


def _requested_item(queue: JudgingQueue, body: dict[str, Any]) -> QueueItem:
    query, doc = body.get("query"), body.get("doc")
    if not isinstance(query, str) or not isinstance(doc, str):
        raise HttpError(400, "query and doc must be strings")
    item = queue.items.get((query, doc))
    if item is None:
        raise HttpError(400, "this pair is not in the list; reload the page")
    return item
