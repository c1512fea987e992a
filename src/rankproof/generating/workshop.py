"""All that generating takes, put together: documents, words, the draw, and the maker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..asking.desk import Desk
from ..asking.estimate import Estimate
from ..data import checks
from ..data.corpus import Corpus
from ..models.chat.port import ChatModel
from ..stages.base import Progress
from ..stages.passages import DEFAULT_FIELDS
from .drawing import Drawing
from .generate import Generated, checked_categories, first_sources, generate, shares
from .lexicon import Lexicon
from .maker import Maker, RuleMaker
from .model_maker import ModelMaker
from .report import report_of
from .round_trip import round_trip

MODEL_CATEGORIES = ("factual", "how-to", "keyword", "paraphrase")
"""What a model is asked for where nobody says."""


class Workshop:
    """Makes `count` queries of the categories from the documents: by rules, or by the model at the desk."""

    def __init__(
        self,
        corpus: Corpus,
        count: int,
        categories: Sequence[str] | None = None,
        fields: tuple[str, ...] = DEFAULT_FIELDS,
        seed: int = 0,
        model: ChatModel | None = None,
        desk: Desk | None = None,
        progress: Progress = lambda label, done, total: None,
    ) -> None:
        self.corpus, self.model, self._seed = corpus, model, seed
        self._fields = checks.fields(fields)
        self._lexicon = Lexicon(corpus, self._fields)
        self._drawing = Drawing(corpus, self._lexicon, self._fields, seed)
        self._maker: Maker = RuleMaker(corpus, self._lexicon, seed)
        if model is not None:
            self._maker = ModelMaker(model, self._lexicon, desk or Desk(), progress)
        usual = MODEL_CATEGORIES if model is not None else self._maker.categories()
        chosen = checked_categories(usual if categories is None else categories, self._maker.categories())
        self.wanted: Mapping[str, int] = shares(count, chosen)

    def estimate(self) -> Estimate:
        """What asking comes to if nothing is left out."""
        return self._maker.estimate(first_sources(self._drawing, self.wanted))

    def generated(self) -> Generated:
        """The queries."""
        return generate(self.corpus, self._lexicon, self._drawing, self._maker, self.wanted)

    def round_trip(self, found: Generated) -> dict[str, Any]:
        """How many targets BM25 finds again."""
        return round_trip(self.corpus, found.made, self._fields)

    def report(self, found: Generated, check: Mapping[str, Any] | None) -> dict[str, Any]:
        """What is written beside the queries."""
        return report_of(found, self._maker, self.corpus, self._drawing, self._seed, check)
