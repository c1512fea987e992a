"""JudgingQueue."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from heapq import nlargest
from math import log2
from typing import Any

from rankproof._analysis.audit.judge_next import MAX_DEPTH, judge_next
from rankproof._analysis.audit.unjudged import UnjudgedDocuments, find_unjudged
from rankproof._analysis.inputs import input_from_results
from rankproof._analysis.values import EMPTY_LIST, main_measure
from rankproof._data.dataset import Dataset
from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE, Qrels
from rankproof._formats.write import qrels_blocks
from rankproof._io.escape import json_block
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.judgement_log import JudgementLog, QueryAndDoc
from rankproof._server.library import highest_grade
from rankproof._server.responses import HttpError, PageResponse, html_page, json_response, judge_script
from rankproof.errors import InputError, RankproofError, UsageError, escape_invisible, for_message
from rankproof.measures._base import Measure


def most_contested(unjudged_docs: UnjudgedDocuments, measure: Measure, most: int) -> UnjudgedDocuments:
    """The holes with at most so many pairs: those that the systems rank most differently, near the top."""
    apart = _rank_disagreement(unjudged_docs, min(getattr(measure, "cutoff", None) or MAX_DEPTH, MAX_DEPTH))
    if len(apart) <= most:
        return unjudged_docs
    kept: dict[str, set[str]] = {query: set() for query in unjudged_docs.docs}
    for query, doc in nlargest(most, apart, key=apart.__getitem__):
        kept[query].add(doc)
    return replace(unjudged_docs, docs={query: frozenset(docs) for query, docs in kept.items()})


def _rank_disagreement(unjudged_docs: UnjudgedDocuments, depth: int) -> Mapping[QueryAndDoc, float]:
    """Each pair and the difference between the discounts of its ranks in the systems; a system that lacks it has 0."""
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
"""Characters of a passage: more than a person reads for one grade, and a page of a thousand stays loadable."""
_ELLIPSIS = "…"


@dataclass(frozen=True, slots=True)
class Passage:
    """What is shown of a document, and whether that is all of it."""

    text: str
    is_complete: bool


class DocumentTexts:
    """Looks documents up in the dataset for the results that were made on it."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self._dataset = dataset
        self._fingerprint = None if dataset is None else dataset.fingerprint()

    def check_fingerprints(self, fingerprints: Iterable[str], name: str) -> None:
        """Refuses a dataset that none of the results were made on."""
        if self._fingerprint is not None and self._fingerprint not in fingerprints:
            what = f"{for_message(name)} is not the dataset of any of these results"
            raise UsageError(what, fix="name the dataset that they were made on, with its judgements as they were then")

    def passage_of(self, results: ExperimentResult, doc: str) -> Passage:
        """The document as far as it is known."""
        if self._dataset is not None and results.fingerprint == self._fingerprint and doc in self._dataset.corpus:
            document = self._dataset.corpus[doc]
            text = " · ".join(part for part in (document.title, document.text) if part)
            return (
                Passage(text, True)
                if len(text) <= MAX_PASSAGE_LENGTH
                else Passage(f"{text[:MAX_PASSAGE_LENGTH]}{_ELLIPSIS}", False)
            )
        kept = results.snippets.get(doc, "")
        return Passage(kept, not kept.endswith(_ELLIPSIS))


MAX_QUEUE_ITEMS = 1000
"""Pairs in one pile: more than a person judges before the experiment is run again."""
MAX_CANDIDATES = 3000
"""Pairs for which it is computed what they could change, while somebody waits for the page."""


@dataclass(frozen=True, slots=True)
class QueueItem:
    """A pair as a person reads it; `stands` is told only when it is judged, so that no system is favoured.

    `whole` says whether the passage is all of the document.
    """

    query: str
    doc: str
    text: str
    passage: str
    is_complete: bool
    system_ranks: str

    @property
    def pair(self) -> QueryAndDoc:
        """What is judged."""
        return self.query, self.doc


@dataclass(frozen=True, eq=False, slots=True)
class JudgingQueue:
    """Questions in the order of what they could change, found by their pair.

    `left_out` counts those nobody can judge here; `passed_over` says that there were too many unjudged pairs to look at all;
    `highest` is the highest grade that the results were judged by.
    """

    measure: str
    fingerprint: str
    queue_items: Mapping[QueryAndDoc, QueueItem]
    left_out: int
    passed_over: bool
    highest: int


def build_queue(results: ExperimentResult, texts: DocumentTexts) -> JudgingQueue:
    """The unjudged pairs that could change the climb's main measure most."""
    inputs = input_from_results(results)
    measure = main_measure(inputs)
    whole = find_unjudged(inputs)
    unjudged_docs = most_contested(whole, inputs.result.systems[0].measures[measure].measure, MAX_CANDIDATES)
    rows = judge_next(unjudged_docs, measure, MAX_QUEUE_ITEMS).records()
    found = list(_queue_items(results, texts, [(str(row["query"]), str(row["document"]), str(row["stands at"])) for row in rows]))
    questions = {one.pair: one for one in found}
    left_out, highest = len(rows) - len(questions), highest_grade(results.qrels)
    return JudgingQueue(measure, results.fingerprint, questions, left_out, unjudged_docs is not whole, highest)


def _queue_items(results: ExperimentResult, texts: DocumentTexts, rows: list[tuple[str, str, str]]) -> Iterator[QueueItem]:
    for query, doc, stands in rows:
        passage = texts.passage_of(results, doc)
        if passage.text.strip() and query in results.texts and _can_be_written(query, doc):
            yield QueueItem(query, doc, results.texts[query].text, passage.text, passage.is_complete, stands)


def _can_be_written(query: str, doc: str) -> bool:
    """Whether a line of TREC qrels can hold these ids."""
    try:
        return any(True for _ in qrels_blocks(Qrels.from_dict({query: {doc: 0}}), "trec"))
    except InputError:
        return False


def scale_warning(highest: int) -> str:
    """What to beware of where the results were judged on another scale; empty where they were not."""
    if highest == HIGHEST_GRADE:
        return ""
    return (
        f"the judgements that the results rest on go up to {highest}, and those made here from {LOWEST_GRADE} to {HIGHEST_GRADE}:"
        " a grade may not mean the same in both, so do not simply put both in one file"
    )


class JudgingPage:
    """The ledger that keeps the grades, as pages see it."""

    def __init__(self, log: JudgementLog) -> None:
        self._log = log

    def page(self, id: str, name: str, queue: JudgingQueue) -> PageResponse:
        """The page on which the pile is judged."""
        self._log.check_collection(queue.fingerprint)
        places = {pair: at for at, pair in enumerate(queue.queue_items)}
        last = self._log.last
        data = {
            "judge": f"/r/{id}/judge",
            "undo": f"/r/{id}/undo",
            "pairs": [_item_fields(question) for question in queue.queue_items.values()],
            "beginnings": [at for at, question in enumerate(queue.queue_items.values()) if not question.is_complete],
            "last": None if last is None else places.get(last),
            **self._grades_so_far(queue),
        }
        return html_page(
            "judge.html.j2",
            title=f"Judge {name}",
            script=judge_script(),
            data=json_block(data),
            queue=queue,
            rubric=GRADES,
            beginnings=any(not question.is_complete for question in queue.queue_items.values()),
            scale=scale_warning(queue.highest),
            assessor=self._log.assessor,
            file=os.path.basename(self._log.path),
        )

    def judge(self, queue: JudgingQueue, body: dict[str, Any]) -> PageResponse:
        """Keeps a grade; the reply says where the systems have the document."""
        question, grade = _requested_item(queue, body), body.get("grade")
        if not isinstance(grade, int) or isinstance(grade, bool) or grade not in GRADES:
            raise HttpError(400, f"the grade must be one of {', '.join(map(str, GRADES))}")
        return self._record_change(queue, question, lambda: self._log.judge(question.pair, grade, queue.fingerprint))

    def undo(self, queue: JudgingQueue, body: dict[str, Any]) -> PageResponse:
        """Takes back a pair's last judgement."""
        question = _requested_item(queue, body)
        return self._record_change(queue, question, lambda: self._log.undo(question.pair, queue.fingerprint))

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
        """The grades so far, by the place of the pair in the pile."""
        found = ((at, self._log.grade(pair)) for at, pair in enumerate(queue.queue_items))
        return {"grades": {at: grade for at, grade in found if grade is not None}}


def _item_fields(item: QueueItem) -> list[str]:
    """The pair as it is asked for by, and then as people can see it."""
    texts = (item.query, item.doc, item.text, item.passage)
    return [*item.pair, *(escape_invisible(" ".join(text.split())) for text in texts)]


def _requested_item(queue: JudgingQueue, body: dict[str, Any]) -> QueueItem:
    query, doc = body.get("query"), body.get("doc")
    if not isinstance(query, str) or not isinstance(doc, str):
        raise HttpError(400, "query and doc must be texts")
    question = queue.queue_items.get((query, doc))
    if question is None:
        raise HttpError(400, "this pair is not in the list; load the page again")
    return question
