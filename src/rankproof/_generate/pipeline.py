"""GenerationPipeline: from documents to filtered queries and their report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._data import validation
from rankproof._data.corpus import Corpus
from rankproof._executors.base import Progress
from rankproof._generate.filters import TermStatistics, round_trip
from rankproof._generate.generate import (
    DocumentSampler,
    GeneratedQueries,
    check_categories,
    generate,
    initial_sources,
    split_count,
)
from rankproof._generate.generators import LLMGenerator, QueryGenerator, RuleGenerator
from rankproof._generate.output import build_report
from rankproof._llm.budget import Estimate
from rankproof._llm.session import LLMSession
from rankproof.models._chat.base import ChatModel
from rankproof.stages._fields import DEFAULT_FIELDS

MODEL_CATEGORIES = ("factual", "how-to", "keyword", "paraphrase")
"""The default categories of a model."""


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
        return self._generator.estimate(initial_sources(self._sampler, self.wanted))

    def generate(self) -> GeneratedQueries:
        """Generates and filters the queries."""
        return generate(self.corpus, self._term_statistics, self._sampler, self._generator, self.wanted)

    def round_trip(self, found: GeneratedQueries) -> dict[str, Any]:
        """How many targets BM25 finds."""
        return round_trip(self.corpus, found.kept, self._fields)

    def usage(self) -> Mapping[str, Any]:
        """The counts of the calls so far, none without a language model."""
        found: Mapping[str, Any] = self._generator.describe().get("usage", {})
        return found

    def report(self, found: GeneratedQueries, check: Mapping[str, Any] | None) -> dict[str, Any]:
        """The report, generate.json."""
        return build_report(found, self._generator, self.corpus, self._sampler, self._seed, check)
