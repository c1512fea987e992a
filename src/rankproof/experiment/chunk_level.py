"""The same run at the level of chunks: what the rankings were before they were collapsed to documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..data.dataset import Dataset
from ..data.qrels import Qrels
from ..data.ranking import Ranking
from ..data.run import Run
from ..evaluation import Options, Result, SystemResult, evaluate_runs
from ..measures import Measure
from ..stages.chunked import Chunked
from ..stages.chunks.chunking import DOCUMENT
from .bench import Bench
from .chunk_grades import CHUNK_RULE, ChunkGrades, Pieces, chunk_grades
from .collapsing import Collapse
from .standing import Standing

JUDGED = "chunks are judged as the dataset judges them"


@dataclass(frozen=True, eq=False, slots=True)
class ChunkRanks:
    """A system's rankings of chunks, and where the judgements of those come from: None where they are the dataset's own.

    `most` is how many of the first chunks the documents were taken from, `keeps` how many of those documents were kept.
    """

    rankings: Sequence[Ranking]
    pieces: Pieces | None
    key: str
    most: int
    keeps: int


@dataclass(frozen=True, eq=False, slots=True)
class ChunkLevel:
    """The values of the systems that rank chunks; None where there is none. `qrels` are the judgements, by system."""

    result: Result | None = None
    qrels: Mapping[str, Qrels] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def chunk_ranks(standings: Mapping[str, Standing], bench: Bench, collapse: Collapse | None) -> dict[str, ChunkRanks]:
    """Every system that ranks chunks: all of them where the documents are chunks, else those with a Chunked on top."""
    if collapse:
        pieces = collapse.pieces() if collapse.by_value else None
        each = {name: _most(collapse.pool, standing.stage.depth) for name, standing in standings.items()}
        return {
            name: ChunkRanks(standings[name].outcome.rankings, pieces, "", most, len(collapse.values))
            for name, most in each.items()
        }
    found = {name: _chunked(standing, bench) for name, standing in standings.items()}
    return {name: ranks for name, ranks in found.items() if ranks}


def chunk_level(
    ranks: Mapping[str, ChunkRanks], dataset: Dataset, measures: Sequence[Measure], queries: Sequence[str], options: Options
) -> ChunkLevel:
    """The measures of every system that ranks chunks; `queries` are those asked, in the order of the rankings."""
    known: dict[str, ChunkGrades] = {}
    systems: list[SystemResult] = []
    judged: tuple[str, ...] = ()
    for name, one in ranks.items():
        if one.key not in known:
            known[one.key] = _grades(one.pieces, dataset, options)
        run = Run.of_rankings(name, queries, one.rankings).among(known[one.key].qrels)
        result = evaluate_runs(known[one.key].qrels, {name: run}, measures, options)
        systems += result.systems
        judged = result.queries
    if not systems:
        return ChunkLevel()
    rule = JUDGED if all(one.pieces is None for one in ranks.values()) else CHUNK_RULE
    qrels = {name: known[one.key].qrels for name, one in ranks.items()}
    return ChunkLevel(Result(judged, tuple(systems)), qrels, {"chunk_rule": rule}, tuple(_cut_notes(ranks, known)))


def _grades(pieces: Pieces | None, dataset: Dataset, options: Options) -> ChunkGrades:
    if pieces is None:
        return ChunkGrades(dataset.qrels, ())
    only = dataset.qrels if options.queries is None else options.queries
    return chunk_grades(dataset.qrels, dataset.queries, pieces, options.rel, only)


def _chunked(standing: Standing, bench: Bench) -> ChunkRanks | None:
    """The ranking below the first Chunked, where nothing above it changes its order: an answer, another wording of the query."""
    while not isinstance(standing.stage, Chunked):
        if len(standing.below) != 1 or not _same_order(standing, standing.below[0]):
            return None
        bench, standing = bench.below(standing.stage), standing.below[0]
    stage, ground = standing.stage, bench.below(standing.stage).ground
    of: dict[str, list[str]] = {}
    for chunk in ground.corpus.values():
        of.setdefault(chunk.fields[DOCUMENT], []).append(chunk.id)
    documents = bench.ground.corpus
    pieces = Pieces(ground.corpus, of, lambda doc: documents[doc].text)
    most = _most(stage.pool, stage.stage.depth)
    return ChunkRanks(standing.below[0].outcome.rankings, pieces, ground.corpus_key, most, stage.depth)


def _most(pool: int | None, depth: int) -> int:
    return depth if pool is None else min(pool, depth)


def _same_order(above: Standing, below: Standing) -> bool:
    pairs = zip(above.outcome.rankings, below.outcome.rankings, strict=True)
    return all(own[0] == under[0] for own, under in pairs)


def _cut_notes(ranks: Mapping[str, ChunkRanks], known: Mapping[str, ChunkGrades]) -> Iterator[str]:
    for key, grades in known.items():
        if count := len(grades.cut):
            names = ", ".join(name for name, one in ranks.items() if one.key == key)
            fate = "query in two: it counts 0" if count == 1 else "queries in two: they count 0"
            yield f"{names}: chunking cut the answer of {count} {fate} at chunk level; a larger overlap keeps answers whole"
