"""Retrievers as objects, systems by name, and readers of their files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from rankproof._data import validation
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Queries, Query
from rankproof._data.grades import GradeReader
from rankproof._data.ordering import Ranking
from rankproof._data.qrels import qrels_of_rows
from rankproof._experiment.cache import MemoryBlockCache
from rankproof._experiment.experiment import stage_with_inputs
from rankproof._formats import texts as texts_format
from rankproof._formats.json import parsed_lines
from rankproof._formats.rows import ParseOptions, judgements
from rankproof._io.open import open_source
from rankproof.errors import InputError, UsageError, closest_name, for_message
from rankproof.ir_eval._measures import Scored, document_ids, measure_ranking, ordered_list
from rankproof.measures._precision_recall import R
from rankproof.models._base import EncoderModel
from rankproof.models._registry import encoder_by_name, is_ready
from rankproof.stages._base import BuildContext, QueryTimer, Stage
from rankproof.stages._bm25 import BM25
from rankproof.stages._dense import Dense
from rankproof.stages._rerank import Rerank
from rankproof.stages._scorers import BiEncoderScorer, KeywordScorer


class BuiltStages:
    """The built stages with their inputs, each once; stages with one encoder share document vectors."""

    def __init__(self, stages: Iterable[Stage], corpus: Corpus) -> None:
        parts = dict.fromkeys(part for stage in stages for part in stage_with_inputs(stage))
        context = BuildContext(corpus, corpus.fingerprint(), MemoryBlockCache(lambda label, done, total: None))
        self._searchers = {part: part.build(context) for part in parts}

    def ranking(self, stage: Stage, query: Query) -> Ranking:
        """The documents that the stage finds, best first, and their scores."""
        inputs = [self.ranking(part, query) for part in stage.inputs()]
        return self._searchers[stage].search(query, inputs, QueryTimer())


Texts = Iterable[Mapping[str, Any]] | Mapping[str, Any]
"""Items with `id` or `_id`, `text` and perhaps `title`; or id to text, or id to such an item."""


def build_corpus(corpus: Texts) -> Corpus:
    """The documents, checked; an error names the position of an invalid one."""
    return corpus if isinstance(corpus, Corpus) else texts_format.build_corpus(_numbered_items(corpus, "documents"), "corpus")


def build_queries(queries: Texts) -> Queries:
    """The queries, checked in the same way."""
    return queries if isinstance(queries, Queries) else texts_format.build_queries(_numbered_items(queries, "queries"), "queries")


def _numbered_items(texts: Texts, what: str) -> Iterator[tuple[int, Any]]:
    items = [_item(*pair) for pair in texts.items()] if isinstance(texts, Mapping) else ordered_list(texts, what)
    if not items:
        raise InputError(f"there are no {what}", fix="pass at least one")
    return ((at, dict(item) if isinstance(item, Mapping) else item) for at, item in enumerate(items, start=1))


def _item(key: Any, value: Any) -> dict[str, Any]:
    rest = (
        {name: part for name, part in value.items() if name not in ("_id", "id")}
        if isinstance(value, Mapping)
        else {"text": value}
    )
    return {"_id": key, **rest}


DEPTH = 100


class StageRetriever:
    """A stage as a retriever with `fit` and `rank`."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._built: BuiltStages | None = None

    def fit(self, corpus: Texts) -> Self:
        """Indexes the documents, replacing earlier ones."""
        self._built = BuiltStages([self.stage], build_corpus(corpus))
        return self

    def rank(self, query: str, k: int = 10) -> list[Scored]:
        """The first k documents for a query's text, best first."""
        if self._built is None:
            raise UsageError("the retriever has no documents", fix="call fit(corpus) first")
        validation.checked_integer("k", k, most=self.stage.depth)
        docs, scores = self._built.ranking(self.stage, Query("query", validation.checked_text("query", query)))
        return [Scored(doc, score) for doc, score in zip(docs[:k], scores[:k].tolist(), strict=True)]

    def retrieve(self, query: str, top_k: int) -> list[Scored]:
        """The same as `rank`, for `evaluate_retrieval`."""
        return self.rank(query, top_k)


class BM25Retriever(StageRetriever):
    """BM25 over title and text; with English stop words and stemming by default."""

    def __init__(
        self,
        k1: float = 1.5,
        b: float = 0.75,
        *,
        language: str = "english",
        stemming: bool = True,
        stop_words: bool | tuple[str, ...] = True,
        depth: int = DEPTH,
    ) -> None:
        super().__init__(BM25(k1, b, language=language, stemming=stemming, stop_words=stop_words, depth=depth))


class EmbeddingRetriever(StageRetriever):
    """Dense retrieval with an encoder; prompts are added before queries and passages."""

    def __init__(
        self, model: EncoderModel | str | None = None, *, query_prompt: str = "", passage_prompt: str = "", depth: int = DEPTH
    ) -> None:
        self.model = encoder_model(model)
        super().__init__(Dense(self.model, query_prompt, passage_prompt, depth=depth))


class EmbeddingReranker(StageRetriever):
    """Reranks another retriever with an encoder."""

    def __init__(
        self, over: StageRetriever, model: EncoderModel | str | None = None, *, query_prompt: str = "", passage_prompt: str = ""
    ) -> None:
        self.model = encoder_model(model)
        stage = _stage(over)
        super().__init__(Rerank(stage, BiEncoderScorer(self.model, query_prompt, passage_prompt), top=stage.depth))


class KeywordJudge(StageRetriever):
    """Reranks another retriever by the number of query words in each document, without a language model.

    Ties keep their order.
    """

    def __init__(self, over: StageRetriever) -> None:
        stage = _stage(over)
        super().__init__(Rerank(stage, KeywordScorer(), top=stage.depth))


def encoder_model(model: EncoderModel | str | None = None) -> EncoderModel:
    """The model, or the model by name; None is `default_encoder`."""
    if model is None or isinstance(model, str):
        return encoder_by_name(default_encoder() if model is None else model)
    return model


def default_encoder() -> str:
    """The default encoder: minilm if its weights are in the cache, else wordllama."""
    return "minilm" if is_ready(encoder_by_name("minilm")) else "wordllama"


def _stage(over: StageRetriever) -> Stage:
    if not isinstance(over, StageRetriever):
        raise UsageError(f"{type(over).__name__} is not a retriever", fix="pass one, such as BM25Retriever()")
    return over.stage


Runs = dict[str, list[str]]
_SYSTEMS: Mapping[str, Callable[[EncoderModel, int], StageRetriever]] = {
    "bm25": lambda model, depth: BM25Retriever(depth=depth),
    "embed": lambda model, depth: EmbeddingRetriever(model, depth=depth),
    "bm25->embed": lambda model, depth: EmbeddingReranker(BM25Retriever(depth=depth), model),
    "bm25->embed->judge": lambda model, depth: KeywordJudge(EmbeddingReranker(BM25Retriever(depth=depth), model)),
}
_ALIASES = {"bm25+embeddings": "bm25->embed", "bm25+embeddings+judge": "bm25->embed->judge"}
MODES = tuple(_SYSTEMS)


def run_system(queries: Texts, corpus: Texts, mode: str, k: int, *, model: EncoderModel | str | None = None) -> Runs:
    """Query id to the ids of the first k documents, best first, by one of the modes.

    Queries and documents are items with `id` (or `_id`) and `text`, or mappings from id to text. `model` is the encoder of the
    modes that have one; without it, the one that `default_encoder` names.
    """
    return run_systems(queries, corpus, [mode], k, model=model)[mode]


def run_systems(
    queries: Texts, corpus: Texts, modes: Iterable[str], k: int, *, model: EncoderModel | str | None = None
) -> dict[str, Runs]:
    """The same for several modes; documents are indexed and encoded once."""
    depth = max(DEPTH, validation.checked_integer("k", k))
    chosen = encoder_model(model)
    stages = {mode: _system_factory(mode)(chosen, depth).stage for mode in ordered_list(modes, "modes")}
    selected, built = build_queries(queries), BuiltStages(stages.values(), build_corpus(corpus))
    return {
        mode: {query: built.ranking(stage, text)[0][:k] for query, text in selected.items()} for mode, stage in stages.items()
    }


def _system_factory(mode: str) -> Callable[[EncoderModel, int], StageRetriever]:
    known = (*_SYSTEMS, *_ALIASES)
    if not isinstance(mode, str) or mode not in known:
        near = closest_name(mode, known) if isinstance(mode, str) else None
        fix = f"did you mean {near}? " if near else ""
        raise UsageError(f"mode {for_message(str(mode))} is not known", fix=f"{fix}Choose from {', '.join(known)}")
    return _SYSTEMS[_ALIASES.get(mode, mode)]


def load_jsonl(path: str | Path) -> list[Any]:
    """The value of every line except blank lines and comments; an error names the line."""
    if not isinstance(path, str | os.PathLike):
        raise UsageError(f"{type(path).__name__} is not a path", fix="pass the path of a file")
    return [value for _, value in parsed_lines(open_source(path))]


def build_qrels(items: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Query to document to grade, of items like {"query_id": "q1", "doc_id": "d1", "rel": 3}; other usual field names do too."""
    numbered = ((None, item) for item in ordered_list(items, "judgements"))
    grades = GradeReader("qrels")
    qrels = qrels_of_rows(judgements(numbered, grades, ParseOptions()), grades)
    return {query: dict(docs) for query, docs in qrels.items()}


def compute_recall_at_k(retrieved_urls: Iterable[Any], relevant_urls: Iterable[Any], k: int = 10) -> float:
    """R@k of the URLs of the first k chunks; repeated URLs count once; 0 without relevant URLs."""
    relevant = list(relevant_urls) if isinstance(relevant_urls, set | frozenset) else relevant_urls
    return measure_ranking(R @ k, retrieved_urls, dict.fromkeys(document_ids(relevant), 1))
