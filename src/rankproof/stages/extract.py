"""Extracting: the best sentence of the first passages as the answer, without a language model; the baseline of all answers."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from .._registry import Option
from ..data.answers import Answer
from ..data.corpus import Corpus
from ..data.queries import Query
from ..data.ranking import Ranking
from ..models.ports import Encoder, EncoderModel
from .base import Cost, Ground, Stage
from .chunked import whole_documents_note
from .chunks.sentences import sentences
from .clock import Clock
from .encoding import text_vectors
from .idf import idf
from .passages import passage, refuse_unknown_fields
from .settings import Fields, check
from .words import Terms, refuse_language


@dataclass(frozen=True)
class Extract:
    """The ranking below as it is, and of its first `top` passages the sentence that is nearest to the query.

    Without a model that is the sentence whose words of the query, each once, have the largest sum of idf; with one it is the
    largest cosine. Of equal sentences the first counts. Where no sentence has anything of the query there is no answer.
    """

    stage: Annotated[Stage, Option("the system whose documents the answer is taken from", key="of")]
    model: Annotated[EncoderModel | None, Option("the encoder that compares sentences with the query (by shared words)")] = None
    top: Annotated[int, Option("how many documents are read", least=1)] = 5
    fields: Fields = ("text",)
    language: Annotated[str, Option("language of stemmer and stop words")] = "english"
    kind: ClassVar[Literal["answer"]] = "answer"

    def __post_init__(self) -> None:
        check(self)
        refuse_language(self.language, stemming=True, stop_words=True)

    @property
    def depth(self) -> int:
        """As many as the stage below keeps."""
        return self.stage.depth

    def below(self) -> tuple[Stage, ...]:
        """The stage whose ranking gives the passages."""
        return (self.stage,)

    def build(self, ground: Ground) -> ExtractSearcher:
        """Counts in how many passages each word stands, or loads the model."""
        refuse_unknown_fields(ground.corpus, self.fields)
        start = time.perf_counter()
        scorer: _Words | _Nearness
        if self.model is None:
            scorer = _Words(ground.corpus, self.fields, self.language)
        else:
            scorer = _Nearness(self.model.load(threads=ground.threads))
        return ExtractSearcher(self, ground.corpus, scorer, time.perf_counter() - start)


class _Words:
    """Scores sentences by the idf of the query's words in them."""

    def __init__(self, corpus: Corpus, fields: Sequence[str], language: str) -> None:
        self._terms = Terms(language, stemming=True, stop_words=True)
        self._size = len(corpus)
        self._found = Counter(term for document in corpus.values() for term in set(self._terms.of(passage(document, fields))))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        wanted = sorted(set(self._terms.of(query)))
        worth = {term: idf(self._found[term], self._size) for term in wanted}
        return [math.fsum(worth[term] for term in wanted if term in own) for own in map(set, map(self._terms.of, texts))]

    def facts(self) -> Mapping[str, Any]:
        return {"by": "words of the query in the sentence, each once, by idf"}


class _Nearness:
    """Scores sentences by cosine."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        asked, *rows = text_vectors(self._encoder, [query, *texts])
        return [float(asked @ row) for row in rows]

    def facts(self) -> Mapping[str, Any]:
        return {"by": "cosine of query and sentence", "model": dict(self._encoder.facts())}


class ExtractSearcher:
    """Where the passages are, and what scores their sentences."""

    def __init__(self, stage: Extract, corpus: Corpus, scorer: _Words | _Nearness, seconds: float) -> None:
        self._stage, self._corpus, self._scorer, self._seconds = stage, corpus, scorer, seconds

    def search(self, query: Query, below: Sequence[Ranking], clock: Clock) -> Ranking:
        """The ranking below."""
        return below[0]

    def answer(self, query: Query, ranking: Ranking, clock: Clock) -> Answer:
        """The best sentence, with its passage as the source."""
        given = tuple(ranking[0][: self._stage.top])
        with clock.part("generate"):
            every = [(doc, one) for doc in given for field in self._stage.fields for one in self._sentences(doc, field)]
            scores = self._scorer.scores(query.text, [one for _, one in every])
        best = max(range(len(every)), key=scores.__getitem__, default=None)
        if best is None or scores[best] <= 0:
            return Answer("", given=given, state="abstained")
        doc, text = every[best]
        return Answer(text, (doc,), given)

    def _sentences(self, doc: str, field: str) -> list[str]:
        return sentences(passage(self._corpus[doc], (field,)))

    def cost(self) -> Cost:
        """Counting words, or loading the model."""
        return Cost(seconds=self._seconds)

    def facts(self) -> Mapping[str, Any]:
        """How sentences are chosen."""
        return {**self._scorer.facts(), "top": self._stage.top}

    def notes(self) -> Sequence[str]:
        """What the passages are."""
        return whole_documents_note(self._stage.stage)

    def close(self) -> None:
        """Nothing is open."""
