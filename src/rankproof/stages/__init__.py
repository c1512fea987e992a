"""Stages, which rank documents, scorers, which rerank them, and the decorators of fusion methods and normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankproof._fusion.method import fusion_method as fusion_method
    from rankproof._fusion.normalisations import normalisation as normalisation
    from rankproof.stages._answer import ExtractAnswer as ExtractAnswer
    from rankproof.stages._answer import GenerateAnswer as GenerateAnswer
    from rankproof.stages._bm25 import BM25 as BM25
    from rankproof.stages._chunked import Chunked as Chunked
    from rankproof.stages._dense import Dense as Dense
    from rankproof.stages._engines.function import Function as Function
    from rankproof.stages._engines.http import Http as Http
    from rankproof.stages._engines.sql import SQL as SQL
    from rankproof.stages._fuse import RRF as RRF
    from rankproof.stages._fuse import Fuse as Fuse
    from rankproof.stages._lancedb_fts import LanceDBFTS as LanceDBFTS
    from rankproof.stages._llm_scorers import Listwise as Listwise
    from rankproof.stages._llm_scorers import Pairwise as Pairwise
    from rankproof.stages._llm_scorers import Pointwise as Pointwise
    from rankproof.stages._maxsim import MaxSim as MaxSim
    from rankproof.stages._rerank import Rerank as Rerank
    from rankproof.stages._rerank_apis.apis import CohereRerank as CohereRerank
    from rankproof.stages._rerank_apis.apis import InfinityRerank as InfinityRerank
    from rankproof.stages._rerank_apis.apis import JinaRerank as JinaRerank
    from rankproof.stages._rerank_apis.apis import MixedbreadRerank as MixedbreadRerank
    from rankproof.stages._rerank_apis.apis import TEIRerank as TEIRerank
    from rankproof.stages._rerank_apis.apis import VLLMRerank as VLLMRerank
    from rankproof.stages._rerank_apis.apis import VoyageRerank as VoyageRerank
    from rankproof.stages._rewrite import RM3 as RM3
    from rankproof.stages._rewrite import Rewrite as Rewrite
    from rankproof.stages._run_file import RunFile as RunFile
    from rankproof.stages._scorers import BiEncoderScorer as BiEncoderScorer
    from rankproof.stages._scorers import CrossEncoderScorer as CrossEncoderScorer
    from rankproof.stages._scorers import KeywordScorer as KeywordScorer
    from rankproof.stages._sqlite_fts5 import SQLiteFTS5 as SQLiteFTS5
    from rankproof.stages._tantivy import Tantivy as Tantivy
else:
    from rankproof._registry import lazy_names
    from rankproof.stages._registry import SCORERS, STAGES

    __all__, __getattr__, __dir__ = lazy_names(
        __name__,
        *(STAGES, SCORERS),
        RRF="rankproof.stages._fuse",
        fusion_method="rankproof._fusion.method",
        normalisation="rankproof._fusion.normalisations",
    )
