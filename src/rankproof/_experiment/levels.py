"""Evaluates rankings at the level of the judgements and, where systems rank chunks, at the level of chunks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count, takewhile
from typing import Any

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, chunk_id, chunk_separator
from rankproof._data.ordering import Ranking
from rankproof._data.qrels import Qrels, highest_grade
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions
from rankproof._evaluation.result import Result, SystemResult
from rankproof._experiment.answers import ranking_measures
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.judgements import CHUNK_RULE, ChunkGrades, ChunksOfDocument, CollapsedCorpus, chunk_grades
from rankproof._experiment.runner import StageRun, StageRunner
from rankproof.measures._base import CutoffMeasure, Measure
from rankproof.measures._parse import parse_measures
from rankproof.measures._registry import default_measures
from rankproof.stages._base import Stage
from rankproof.stages._chunked import Chunked

CHUNKS_JUDGED_NOTE = "the judgements of the dataset grade chunks"


@dataclass(frozen=True, eq=False, slots=True)
class ChunkRanks:
    """A system's rankings of chunks; `document_chunks` is None where the dataset judges chunks itself.

    `max_chunks` is how many top chunks were collapsed, `depth` how many documents were kept. Systems with the same `key` have
    the same chunks.
    """

    rankings: Sequence[Ranking]
    document_chunks: ChunksOfDocument | None
    key: str
    max_chunks: int
    depth: int


@dataclass(frozen=True, eq=False, slots=True)
class ChunkLevel:
    """The values of the systems that rank chunks, None where there is none, and their judgements by system."""

    result: Result | None = None
    qrels: Mapping[str, Qrels] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def chunk_rankings(
    stage_runs: Mapping[str, StageRun], runner: StageRunner, collapse: CollapsedCorpus | None
) -> dict[str, ChunkRanks]:
    """The systems that rank chunks: all of them where the documents are chunks, else those of a Chunked stage."""
    if collapse:
        chunks = collapse.document_chunks() if collapse.by_value else None
        most_chunks = {name: _max_chunks(collapse.pool, stage_run.stage.depth) for name, stage_run in stage_runs.items()}
        return {
            name: ChunkRanks(stage_runs[name].output.rankings, chunks, "", max_chunks, len(collapse.values))
            for name, max_chunks in most_chunks.items()
        }
    ranks_of = {name: _chunk_ranks_of(stage_run, runner) for name, stage_run in stage_runs.items()}
    return {name: ranks for name, ranks in ranks_of.items() if ranks}


def evaluate_chunks(
    ranks: Mapping[str, ChunkRanks],
    dataset: Dataset,
    measures: Sequence[Measure],
    queries: Sequence[str],
    options: EvaluateOptions,
) -> ChunkLevel:
    """The measures of every system that ranks chunks; `queries` has the order of the rankings."""
    known: dict[str, ChunkGrades] = {}
    systems: list[SystemResult] = []
    judged: tuple[str, ...] = ()
    for name, chunk_ranks in ranks.items():
        if chunk_ranks.key not in known:
            known[chunk_ranks.key] = _chunk_qrels(chunk_ranks.document_chunks, dataset, options)
        run = Run.from_rankings(name, queries, chunk_ranks.rankings).restricted_to(known[chunk_ranks.key].qrels)
        result = evaluate_runs(known[chunk_ranks.key].qrels, {name: run}, measures, options)
        systems += result.systems
        judged = result.queries
    if not systems:
        return ChunkLevel()
    rule = CHUNKS_JUDGED_NOTE if all(rank.document_chunks is None for rank in ranks.values()) else CHUNK_RULE
    qrels = {name: known[rank.key].qrels for name, rank in ranks.items()}
    return ChunkLevel(Result(judged, tuple(systems)), qrels, {"chunk_rule": rule}, tuple(_cut_notes(ranks, known)))


def _chunk_qrels(document_chunks: ChunksOfDocument | None, dataset: Dataset, options: EvaluateOptions) -> ChunkGrades:
    if document_chunks is None:
        return ChunkGrades(dataset.qrels, ())
    only = dataset.qrels if options.queries is None else options.queries
    return chunk_grades(dataset.qrels, dataset.queries, document_chunks, options.rel, only)


def _chunk_ranks_of(stage_run: StageRun, runner: StageRunner) -> ChunkRanks | None:
    """The input ranking of the first Chunked stage, if no stage after it changes the order of its ranking."""
    while not isinstance(stage_run.stage, Chunked):
        if len(stage_run.inputs) != 1 or not _same_order(stage_run, stage_run.inputs[0]):
            return None
        runner, stage_run = runner.inputs(stage_run.stage), stage_run.inputs[0]
    stage, context = stage_run.stage, runner.inputs(stage_run.stage).context
    documents = runner.context.corpus
    ids = partial(_chunk_ids, context.corpus, chunk_separator(documents))
    chunks = ChunksOfDocument(context.corpus, ids, lambda doc: documents[doc].text)
    max_chunks = _max_chunks(stage.pool, stage.stage.depth)
    return ChunkRanks(stage_run.inputs[0].output.rankings, chunks, context.corpus_key, max_chunks, stage.depth)


def _chunk_ids(chunks: Corpus, separator: str, doc: str) -> list[str]:
    """The ids of the chunks of a document, which are numbered from 1."""
    return list(takewhile(chunks.__contains__, (chunk_id(doc, separator, number) for number in count(1))))


def _max_chunks(pool: int | None, depth: int) -> int:
    return depth if pool is None else min(pool, depth)


def _same_order(stage_run: StageRun, of_input: StageRun) -> bool:
    pairs = zip(stage_run.output.rankings, of_input.output.rankings, strict=True)
    return all(own[0] == other[0] for own, other in pairs)


def _cut_notes(ranks: Mapping[str, ChunkRanks], known: Mapping[str, ChunkGrades]) -> Iterator[str]:
    for key, grades in known.items():
        if count := len(grades.cut):
            names = ", ".join(name for name, rank in ranks.items() if rank.key == key)
            queries = "query, which scores" if count == 1 else "queries, which score"
            yield f"{names}: chunking split the answer of {count} {queries} 0 at chunk level; increase the overlap"


def dataset_notes(dataset: Dataset, selected: Sequence[str]) -> Iterator[str]:
    """Notes on judged documents that are not in the corpus, and on selected queries without text."""
    if missing := len(dataset.missing_documents()):
        noun, verb, them = ("document", "is", "it") if missing == 1 else ("documents", "are", "them")
        yield f"{missing} judged {noun} {verb} not in the corpus: no system can find {them}"
    if missing := sum(query not in dataset.queries for query in selected):
        queries = "query has no text: it scores 0" if missing == 1 else "queries have no text: they score 0"
        yield f"{missing} judged {queries} for every system"


def depth_notes(systems: Mapping[str, Stage], runs: Mapping[str, Run], result: Result, documents: int) -> Iterator[str]:
    """For each depth that rankings were truncated at, a note on the measures with a larger cutoff."""
    cut: dict[int, list[str]] = {}
    for name, stage in systems.items():
        if stage.depth < documents and _longest_ranking(runs[name]) >= stage.depth:
            cut.setdefault(stage.depth, []).append(name)
    for depth, names in cut.items():
        measures = [measure.measure for measure in result.systems[0].measures.values()]
        if deeper := [str(measure) for measure in measures if isinstance(measure, CutoffMeasure) and measure.depth > depth]:
            verb = "has a cutoff" if len(deeper) == 1 else "have cutoffs"
            yield f"{', '.join(deeper)} {verb} beyond depth {depth} of {', '.join(names)}: increase depth"


def _longest_ranking(run: Run) -> int:
    return int((run.offsets[1:] - run.offsets[:-1]).max(initial=0))


def pool_notes(ranks: Mapping[str, ChunkRanks], runs: Mapping[str, Run], result: Result, documents: int) -> Iterator[str]:
    """For each system whose chunks give fewer documents than a measure's cutoff, how often and which measures."""
    measures = [measure.measure for measure in result.systems[0].measures.values() if isinstance(measure.measure, CutoffMeasure)]
    for name, rank in ranks.items():
        short = _short_rankings(rank, runs[name], min(documents, rank.depth))
        if deeper := [measure for measure in measures if short and measure.depth > min(short)]:
            wanted = min(max(measure.depth for measure in deeper), documents)
            queries = f"{sum(count < wanted for count in short)} of {len(rank.rankings)} queries"
            few = f"fewer than {wanted} documents (minimum {min(short)})"
            cutoff = f"too few for {', '.join(map(str, deeper))}"
            chunks = f"for {queries} the top {rank.max_chunks} chunks are from {few}, {cutoff}"
            yield f"{name}: {chunks}: increase pool or the depth of the chunk ranking"


def _short_rankings(ranks: ChunkRanks, run: Run, enough: int) -> Sequence[int]:
    """The number of documents of each ranking that has too few because its chunks were used up."""
    lengths = (run.offsets[1:] - run.offsets[:-1]).tolist()
    pairs = zip(lengths, ranks.rankings, strict=True)
    return [count for count, (chunks, _) in pairs if len(chunks) >= ranks.max_chunks and count < enough]


def _measures(experiment: Experiment, qrels: Qrels) -> list[Measure] | None:
    """The measures of the rankings with the primary one, None for the default set."""
    named = ranking_measures(experiment.measures)
    if experiment.primary is None:
        return named
    primary = parse_measures([experiment.primary])
    return list(dict.fromkeys([*(named or default_measures(highest_grade(qrels) or 0)), *primary]))


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    """The rankings and values of every system at the level of the judgements, and at chunk level.

    `dataset` has the documents and judgements of the level of the judgements.
    """

    dataset: Dataset
    fingerprint: str
    runs: Mapping[str, Run]
    result: Result
    chunks: ChunkLevel
    facts: Mapping[str, Any]
    notes: tuple[str, ...]


def evaluate_levels(
    experiment: Experiment,
    dataset: Dataset,
    own: Dataset,
    collapse: CollapsedCorpus | None,
    stage_runs: Mapping[str, StageRun],
    runner: StageRunner,
    selected: Sequence[str],
) -> Levels:
    """The rankings of the systems, collapsed if the experiment says so, and their values; none without judgements.

    `own` is the dataset without the judgements of further files, which its fingerprint does not depend on.
    """
    ids = [query.id for query in runner.queries]
    chosen = selected if len(selected) < len(dataset.qrels) else None
    read_options = ReadOptions(judged_only=experiment.judged_only)
    weights, primary = dataset.queries.weights, experiment.decision_settings.primary
    options = EvaluateOptions(read_options, rel=experiment.rel, queries=chosen, weights=weights, primary=primary)
    runs = {name: Run.from_rankings(name, ids, stage_run.output.rankings) for name, stage_run in stage_runs.items()}
    judged = collapse.judged(runs.values()) if collapse else dataset
    if collapse:
        runs = {name: _collapse_run(collapse, name, ids, stage_run) for name, stage_run in stage_runs.items()}
    counted = {name: run.restricted_to(judged.qrels) for name, run in runs.items()}
    if not selected:
        result = Result((), tuple(SystemResult(name, {}, ()) for name in runs))
    else:
        result = evaluate_runs(judged.qrels, counted, _measures(experiment, judged.qrels), options)
    first = {name: stage_run for name, stage_run in stage_runs.items() if name in experiment.systems}
    ranks = chunk_rankings(first, runner, collapse) if selected else {}
    chunks = evaluate_chunks(ranks, dataset, [measure.measure for measure in result.systems[0].measures.values()], ids, options)
    return Levels(
        dataset=judged,
        fingerprint=collapse.fingerprint(own) if collapse else own.fingerprint(),
        runs=runs,
        result=result,
        chunks=chunks,
        facts={**(collapse.facts() if collapse else {}), **chunks.facts},
        notes=(
            *dataset_notes(judged, selected),
            *depth_notes(experiment.systems, runs, result, len(judged.corpus)),
            *(collapse.notes() if collapse else ()),
            *pool_notes(ranks, runs, result, len(judged.corpus)),
            *chunks.notes,
        ),
    )


def _collapse_run(collapse: CollapsedCorpus, name: str, ids: Sequence[str], stage_run: StageRun) -> Run:
    return Run.from_rankings(name, ids, map(collapse.ranking, stage_run.output.rankings))
