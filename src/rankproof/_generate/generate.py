"""Samples documents, generates a query from each, and keeps those that pass the filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Queries, Query
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.text import pluralise
from rankproof._generate.draft import (
    REJECT_REASONS,
    TWO_DOCUMENT_CATEGORIES,
    UNANSWERABLE,
    FailedDocument,
    KeptQuery,
    QueryDraft,
    RejectedQuery,
    SourceDocument,
)
from rankproof._generate.filters import DuplicateFilter, TermStatistics, reject_reason
from rankproof._generate.generators import GenerationOutcome, QueryGenerator
from rankproof.errors import ExternalError, RankproofError, UsageError, closest_name, for_message
from rankproof.stages._analyzer import split_words
from rankproof.stages._base import QueryTimer
from rankproof.stages._bm25 import BM25, BM25Searcher

MIN_DOCUMENT_WORDS = 8
"""The length of a document that queries are generated from."""
_NEIGHBOURS = 5
_QUERY_TERMS = 30
ALIASES: Mapping[str, str] = {"paraphrased": "paraphrase", "howto": "how-to", "multihop": "multi-hop"}


class DocumentSampler:
    """The documents with enough words, in a random order that depends on the seed and the category alone."""

    def __init__(self, corpus: Corpus, term_statistics: TermStatistics, fields: tuple[str, ...], seed: int) -> None:
        self._corpus, self._term_statistics, self._fields, self._seed = corpus, term_statistics, fields, seed
        self.docs = sorted(doc for doc, text in term_statistics.texts.items() if len(split_words(text)) >= MIN_DOCUMENT_WORDS)
        self._fit = frozenset(self.docs)

    def sources(self, category: str) -> Iterator[SourceDocument]:
        """Each document once; for a category of two documents, with its nearest document."""
        docs = list(self.docs)
        Random(f"{self._seed}\0{category}").shuffle(docs)
        for doc in docs:
            if category not in TWO_DOCUMENT_CATEGORIES:
                yield SourceDocument(category, (doc,))
            elif (other := self._nearest(doc)) is not None:
                yield SourceDocument(category, (doc, other))

    def _nearest(self, doc: str) -> str | None:
        """The document that BM25 finds for the top terms of this one; None where no other shares a term."""
        terms = " ".join(self._term_statistics.top_terms(self._term_statistics.texts[doc], _QUERY_TERMS))
        found, _ = self._index.search(Query(doc, terms), (), QueryTimer())
        return next((other for other in found if other != doc and other in self._fit), None)

    @cached_property
    def _index(self) -> BM25Searcher:
        return BM25(fields=self._fields, depth=_NEIGHBOURS).index(self._corpus)


@dataclass(frozen=True, eq=False)
class GeneratedQueries:
    """The kept queries, the rejected ones with their reasons, and the documents that failed."""

    wanted: Mapping[str, int]
    judge_label: str
    kept: list[KeptQuery] = field(default_factory=list)
    rejected: list[RejectedQuery] = field(default_factory=list)
    failed: list[FailedDocument] = field(default_factory=list)

    def queries(self) -> Queries:
        """The queries, with category, target, answers and generator as fields."""
        return Queries((Query(one.id, one.text, fields=one.fields()) for one in self.kept), source="generated queries")

    def qrels(self) -> Qrels:
        """Each target with grade 1, that of an unanswerable query with grade 0; labelled with the generator."""
        rows = (
            Judgement(one.id, doc, 0 if one.source.category == UNANSWERABLE else 1, judge_label=one.generated_by)
            for one in self.kept
            for doc in one.source.docs
        )
        return Qrels(rows, source="generated qrels")

    def missing_counts(self) -> dict[str, int]:
        """How many queries of each category are missing."""
        kept = Counter(one.source.category for one in self.kept)
        return {category: wanted - kept[category] for category, wanted in self.wanted.items()}

    def counts(self) -> dict[str, Any]:
        """By category: wanted, kept, failed, and rejected by reason."""
        missing, failed = self.missing_counts(), Counter(one.source.category for one in self.failed)
        rejected = Counter((one.source.category, one.reason) for one in self.rejected)
        return {
            category: {
                "wanted": wanted,
                "kept": wanted - missing[category],
                "failed": failed[category],
                "rejected": {reason: rejected[category, reason] for reason in REJECT_REASONS if rejected[category, reason]},
            }
            for category, wanted in self.wanted.items()
        }


def split_count(count: int, categories: Sequence[str]) -> dict[str, int]:
    """The number of queries of each category; the first categories get the remainder."""
    each, rest = divmod(count, len(categories))
    return {category: each + (at < rest) for at, category in enumerate(categories)}


def check_categories(categories: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The categories with aliases resolved; an unknown or repeated category is refused."""
    found = tuple(ALIASES.get(category, category) for category in categories)
    for category in found:
        if category not in known:
            near = closest_name(category, known)
            fix = f"did you mean {near}? known: {', '.join(known)}" if near else f"known: {', '.join(known)}"
            raise UsageError(f"unknown category {for_message(category)}", fix=fix)
    if not found or len(set(found)) < len(found):
        raise UsageError("a category is repeated, or there is none", fix="specify each category once")
    return found


def initial_sources(sampler: DocumentSampler, wanted: Mapping[str, int]) -> list[SourceDocument]:
    """The sources of the first round."""
    return [source for category, count in wanted.items() for source in islice(sampler.sources(category), count)]


def generate(
    corpus: Corpus,
    term_statistics: TermStatistics,
    sampler: DocumentSampler,
    generator: QueryGenerator,
    wanted: Mapping[str, int],
) -> GeneratedQueries:
    """The wanted number of queries of each category, or as many as the documents give; a rejected query is replaced."""
    found, duplicates = GeneratedQueries(wanted, generator.judge_label), DuplicateFilter()
    queues = {category: sampler.sources(category) for category in wanted}
    rounds = 0
    while generator.max_rounds is None or rounds < generator.max_rounds:
        rounds += 1
        sources = _next_sources(queues, found.missing_counts())
        if not sources:
            break
        for source, outcome in zip(sources, generator.generate(sources), strict=True):
            _accept_or_reject(found, source, outcome, corpus, term_statistics, duplicates)
    if not found.kept:
        raise _no_queries_error(found)
    return found


def _no_queries_error(found: GeneratedQueries) -> RankproofError:
    if found.failed:
        documents = pluralise(len(found.failed), "document")
        return ExternalError(f"no query was generated from {documents}; last error: {found.failed[-1].error}")
    reasons = Counter(one.reason for one in found.rejected)
    causes = (
        "; ".join(f"{REJECT_REASONS[reason]} ({count})" for reason, count in reasons.most_common(3))
        or "they have too few words, or no two have a word in common"
    )
    return UsageError(
        f"no query could be generated from these documents: {causes}", fix="choose other categories or other documents"
    )


def _next_sources(queues: Mapping[str, Iterator[SourceDocument]], missing_counts: Mapping[str, int]) -> list[SourceDocument]:
    return [source for category, queue in queues.items() for source in islice(queue, missing_counts[category])]


def _accept_or_reject(
    found: GeneratedQueries,
    source: SourceDocument,
    outcome: GenerationOutcome,
    corpus: Corpus,
    term_statistics: TermStatistics,
    duplicates: DuplicateFilter,
) -> None:
    if isinstance(outcome, FailedDocument):
        found.failed.append(outcome)
        return
    if not isinstance(outcome, QueryDraft):
        found.rejected.append(RejectedQuery(source, "no-draft"))
        return
    terms = term_statistics.terms.tokenize(outcome.text)
    documents = [corpus[doc] for doc in source.docs]
    reason = reject_reason(outcome, source, documents, term_statistics) or duplicates.reject_reason(terms)
    if reason is not None:
        found.rejected.append(RejectedQuery(source, reason, outcome.text))
        return
    duplicates.add(terms)
    found.kept.append(KeptQuery(f"g{len(found.kept) + 1:05d}", outcome.text, source, outcome.answers, found.judge_label))
