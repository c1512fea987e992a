"""Examples of every stage and scorer, for the laws that all of them keep."""

from __future__ import annotations

from typing import Any

from rankproof._registry import Registry, settings_of
from rankproof.stages import (
    BM25,
    RM3,
    RRF,
    SQL,
    BiEncoderScorer,
    Chunked,
    CrossEncoderScorer,
    Dense,
    ExtractAnswer,
    Function,
    Fuse,
    GenerateAnswer,
    Http,
    KeywordScorer,
    LanceDBFTS,
    Listwise,
    MaxSim,
    Pairwise,
    Pointwise,
    Rerank,
    Rewrite,
    RunFile,
    SQLiteFTS5,
    Tantivy,
)
from rankproof.stages._base import Scorer, Stage
from rankproof.stages._registry import SCORERS as REGISTERED_SCORERS
from rankproof.stages._registry import STAGES as REGISTERED_STAGES
from support.rerank_server import APIS as RERANK_APIS
from support.rerank_server import scorer_on_shared_server
from support.run_files import run_of_another_query
from support.scripted_chat import ScriptedChat
from support.search_functions import nothing
from support.small_models import HashedWords, OneByOne, SharedWords

LEXICAL = BM25(stemming=False, stop_words=False, depth=4)
DENSE = Dense(HashedWords(), depth=5)
HYBRID = Fuse((LEXICAL, DENSE), "combsum", norm="z-score", depth=6)


def defaults(registry: Registry[Any], tested: list[Any]) -> list[Any]:
    """The registered parts that are not tested yet and need no setting."""
    parts = [component.load() for component in registry.components]
    types = {type(one) for one in tested}
    return [part() for part in parts if part not in types and not any(setting.required for setting in settings_of(part))]


SCORERS: list[Scorer] = [
    KeywordScorer(),
    CrossEncoderScorer(SharedWords()),
    BiEncoderScorer(HashedWords()),
    MaxSim(HashedWords()),
    Listwise(ScriptedChat(lambda request: "[2] > [1]"), window=2, step=1),
    Pointwise(ScriptedChat(lambda request: "Yes")),
    Pairwise(ScriptedChat(lambda request: "A")),
    *map(scorer_on_shared_server, RERANK_APIS),
]
SCORERS += defaults(REGISTERED_SCORERS, SCORERS)
EXAMPLES: list[Stage] = [
    LEXICAL,
    BM25(tokens="characters-3", depth=4),
    Tantivy(depth=4),
    Tantivy(stemming=False, stop_words=True, syntax="tantivy", depth=2),
    SQLiteFTS5(depth=4),
    SQLiteFTS5(stemming=False, depth=2),
    LanceDBFTS(depth=4),
    LanceDBFTS(stemming=False, stop_words=False, depth=2),
    DENSE,
    Dense(HashedWords(), query_prompt="query: ", passage_prompt="passage: ", store=OneByOne(), depth=3),
    RRF((LEXICAL, DENSE), depth=7),
    HYBRID,
    Fuse((LEXICAL, DENSE, LEXICAL), "combmnz", weights=(1.0, 2.0, 0.5), depth=2),
    Chunked(HYBRID, size=2, overlap=1, depth=3),
    Chunked(Rerank(LEXICAL, KeywordScorer()), size=1, overlap=0, unit="tokens", pool=2),
    RM3(LEXICAL, docs=2, terms=2, weight=0.4, common=1.0),
    Rewrite(LEXICAL, ScriptedChat(lambda request: '{"query": "b c"}')),
    GenerateAnswer(HYBRID, ScriptedChat(lambda request: "b")),
    ExtractAnswer(LEXICAL, HashedWords()),
    Function(nothing),
    RunFile(run_of_another_query()),
    SQL(dsn="host=/nowhere user=nobody", sql="SELECT id FROM doc WHERE body = %(query)s", retries=0),
    Http(url="http://127.0.0.1:9/?q={query}", ids="hits[].id", retries=0),
    *(Rerank(HYBRID, by, top=3, weight=weight) for by in SCORERS for weight in (1.0, 0.3, 0.0)),
    Rerank(Rerank(DENSE, KeywordScorer(), top=9), BiEncoderScorer(HashedWords()), top=1, norm="min-max", weight=0.5),
]
EXAMPLES += defaults(REGISTERED_STAGES, EXAMPLES)
NAMES = [f"{at}-{type(stage).__name__}" for at, stage in enumerate(EXAMPLES)]
