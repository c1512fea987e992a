"""Samples documents, generates a query from each, keeps those that pass the filters, and reports them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from random import Random
from typing import Any

from rankproof._data import format_versions, validation
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Query
from rankproof._data.text import pluralise
from rankproof._executors.base import Progress
from rankproof._generate.filters import DuplicateFilter, TermStatistics, reject_reason, round_trip
from rankproof._generate.generated_queries import (
    REJECT_REASONS,
    TWO_DOCUMENT_CATEGORIES,
    FailedDocument,
    GeneratedQueries,
    KeptQuery,
    QueryDraft,
    RejectedQuery,
    SourceDocument,
)
from rankproof._generate.generators import GenerationOutcome, LLMGenerator, QueryGenerator, RuleGenerator
from rankproof._llm.budget import Estimate
from rankproof._llm.session import LLMSession
from rankproof._version import __version__
from rankproof.errors import ExternalError, RankproofError, UsageError, closest_name, for_message
from rankproof.models._chat.base import ChatModel
from rankproof.stages._analyzer import split_words
from rankproof.stages._base import QueryTimer
from rankproof.stages._bm25 import BM25, BM25Searcher
from rankproof.stages._fields import DEFAULT_FIELDS

FORMAT = "rankproof-generate-report"
MIN_DOCUMENT_WORDS = 8
"""The length of a document that queries are generated from."""
MODEL_CATEGORIES = ("factual", "how-to", "keyword", "paraphrase")
"""The default categories of a model."""
_NEIGHBOURS = 5
_ROUNDS_IN_MEMORY = 500
"""The documents of so many rounds, from anywhere in the corpus, are in memory at once."""
_QUERY_TERMS = 30
ALIASES: Mapping[str, str] = {"paraphrased": "paraphrase", "howto": "how-to", "multihop": "multi-hop"}


class DocumentSampler:
    """The documents with enough words, in a random order that depends on the seed and the category alone."""

    def __init__(self, corpus: Corpus, term_statistics: TermStatistics, fields: tuple[str, ...], seed: int) -> None:
        self._corpus, self._term_statistics, self._fields, self._seed = corpus, term_statistics, fields, seed
        self.docs = sorted(doc for doc, text in term_statistics.texts.items() if len(split_words(text)) >= MIN_DOCUMENT_WORDS)

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
        """The document that BM25 finds for the top terms of this one; None if no other shares a term."""
        terms = " ".join(self._term_statistics.top_terms(self._term_statistics.texts[doc], _QUERY_TERMS))
        ranking, _ = self._index.search(Query(doc, terms), (), QueryTimer())
        return next((other for other in ranking if other != doc and other in self._fit), None)

    @cached_property
    def _fit(self) -> frozenset[str]:
        return frozenset(self.docs)

    @cached_property
    def _index(self) -> BM25Searcher:
        return BM25(fields=self._fields, depth=_NEIGHBOURS).index(self._corpus)


def split_count(count: int, categories: Sequence[str]) -> dict[str, int]:
    """The number of queries of each category; the first categories get the remainder."""
    share, rest = divmod(count, len(categories))
    return {category: share + (at < rest) for at, category in enumerate(categories)}


def check_categories(categories: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """The categories with aliases resolved; an unknown or repeated category is rejected."""
    names = tuple(ALIASES.get(category, category) for category in categories)
    for category in names:
        if category not in known:
            near = closest_name(category, known)
            fix = f"did you mean {near}? known: {', '.join(known)}" if near else f"known: {', '.join(known)}"
            raise UsageError(f"unknown category {for_message(category)}", fix=fix)
    if not names or len(set(names)) < len(names):
        raise UsageError("a category is repeated, or there is none", fix="specify each category once")
    return names


class GenerationPipeline:
    """Generates `count` queries of the categories from the documents, by rules or by a language model."""

    def __init__(
        self,
        corpus: Corpus,
        count: int,
        categories: Sequence[str] | None = None,
        fields: tuple[str, ...] = DEFAULT_FIELDS,
        seed: int = 0,
        model: ChatModel | None = None,
        session: LLMSession | None = None,
        progress: Progress = lambda label, done, total: None,
    ) -> None:
        self.corpus, self.model, self._seed = corpus, model, seed
        self._fields = validation.fields(fields)
        self._term_statistics = TermStatistics(corpus, self._fields)
        self._sampler = DocumentSampler(corpus, self._term_statistics, self._fields, seed)
        self._generator: QueryGenerator = RuleGenerator(corpus, self._term_statistics, seed)
        if model is not None:
            self._generator = LLMGenerator(model, self._term_statistics, session or LLMSession(), progress)
        default = MODEL_CATEGORIES if model is not None else self._generator.categories()
        chosen = check_categories(default if categories is None else categories, self._generator.categories())
        self.wanted: Mapping[str, int] = split_count(count, chosen)

    def estimate(self) -> Estimate:
        """The cost of the calls if no query is rejected."""
        return self._generator.estimate(_next_sources(self._queues(), self.wanted))

    def generate(self) -> GeneratedQueries:
        """The wanted number of queries of each category, or as many as the documents give; a rejected query is replaced."""
        generated, duplicates = GeneratedQueries(self.wanted, self._generator.judge_label), DuplicateFilter()
        queues, rounds = self._queues(), 0
        while self._generator.max_rounds is None or rounds < self._generator.max_rounds:
            rounds += 1
            sources = _next_sources(queues, generated.missing_counts())
            if not sources:
                break
            for source, outcome in zip(sources, self._generator.generate(sources), strict=True):
                self._accept_or_reject(generated, source, outcome, duplicates)
            if rounds % _ROUNDS_IN_MEMORY == 0:
                self.corpus.release()
        if not generated.kept:
            raise _no_queries_error(generated)
        return generated

    def round_trip(self, generated: GeneratedQueries) -> dict[str, Any]:
        """How many targets BM25 finds."""
        return round_trip(self.corpus, generated.kept, self._fields)

    def usage(self) -> Mapping[str, Any]:
        """The counts of the calls so far, none without a language model."""
        usage: Mapping[str, Any] = self._generator.describe().get("usage", {})
        return usage

    def report(self, generated: GeneratedQueries, check: Mapping[str, Any] | None) -> dict[str, Any]:
        """The report, generate.json, without the rejected queries, which may be as many as the documents."""
        return {
            "format": FORMAT,
            "schema": format_versions.GENERATE_REPORT,
            "rankproof": __version__,
            "generated_by": generated.judge_label,
            **self._generator.describe(),
            "seed": self._seed,
            "corpus": {
                "name": self.corpus.source,
                "documents": len(self.corpus),
                "with_too_few_words": len(self.corpus) - len(self._sampler.docs),
                "min_words": MIN_DOCUMENT_WORDS,
                "fingerprint": self.corpus.fingerprint(),
            },
            "wanted": sum(self.wanted.values()),
            "kept": len(generated.kept),
            "categories": generated.counts(),
            "reasons": REJECT_REASONS,
            "check": check,
            "failed": [failure.plain() for failure in generated.failed],
        }

    def _queues(self) -> dict[str, Iterator[SourceDocument]]:
        return {category: self._sampler.sources(category) for category in self.wanted}

    def _accept_or_reject(
        self, generated: GeneratedQueries, source: SourceDocument, outcome: GenerationOutcome, duplicates: DuplicateFilter
    ) -> None:
        if isinstance(outcome, FailedDocument):
            generated.failed.append(outcome)
            return
        if not isinstance(outcome, QueryDraft):
            generated.rejected.append(RejectedQuery(source.category, source.docs[0], "no-draft"))
            return
        terms = self._term_statistics.terms.tokenize(outcome.text)
        documents = [self.corpus[doc] for doc in source.docs]
        reason = reject_reason(outcome, source, documents, self._term_statistics) or duplicates.reject_reason(terms)
        if reason is not None:
            generated.rejected.append(RejectedQuery(source.category, source.docs[0], reason, outcome.text))
            return
        # A rejected query is no duplicate of a later one, so its words are added only now.
        duplicates.add(terms)
        number = len(generated.kept) + 1
        generated.kept.append(KeptQuery(f"g{number:05d}", outcome.text, source, outcome.answers, generated.judge_label))


def _next_sources(queues: Mapping[str, Iterator[SourceDocument]], missing_counts: Mapping[str, int]) -> list[SourceDocument]:
    return [source for category, queue in queues.items() for source in islice(queue, missing_counts[category])]


def _no_queries_error(generated: GeneratedQueries) -> RankproofError:
    if generated.failed:
        documents = pluralise(len(generated.failed), "document")
        return ExternalError(f"no query was generated from {documents}; last error: {generated.failed[-1].error}")
    reasons = Counter(rejection.reason for rejection in generated.rejected)
    causes = (
        "; ".join(f"{REJECT_REASONS[reason]} ({count})" for reason, count in reasons.most_common(3))
        or "they have too few words, or no two have a word in common"
    )
    return UsageError(
        f"no query could be generated from these documents: {causes}", fix="choose other categories or other documents"
    )
