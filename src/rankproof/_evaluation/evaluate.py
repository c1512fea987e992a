"""Evaluation of runs by judgements."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, NamedTuple, Unpack

import numpy as np

from rankproof._align.hits import Hits, JudgedQueries, without_lookup
from rankproof._data.arrays import FloatArray, read_only, weight_column
from rankproof._data.run import Run
from rankproof._data.text import example_ids, pluralise
from rankproof._data.validation import NAMED_FILES, public
from rankproof._data.view import Deferred
from rankproof._evaluation.notes import Note, evaluation_notes
from rankproof._evaluation.options import EvaluateArguments, EvaluateOptions, QrelsLike, RunLike, make_evaluate_options
from rankproof._evaluation.result import MeasureResult, Result, SystemResult, joined_repeats, with_inputs
from rankproof._evaluation.sources import EvaluationInput, align, prepare_judgements
from rankproof._evaluation.user_forms import Coercion, queries_of_judgements, with_own_weights
from rankproof._registry import Option
from rankproof.errors import InputError, UsageError, for_message
from rankproof.measures._base import Measure
from rankproof.measures._parse import MeasureLike, parse_measures
from rankproof.measures._registry import default_measures
from rankproof.measures._relevant import forget

if TYPE_CHECKING:
    from rankproof.measures._counts import TextResult

_MISMATCH_REASONS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("leading zeros differ", lambda query: query.lstrip("0")),
    ("upper and lower case differ", str.casefold),
    ("only one of them has a prefix", lambda query: re.sub("^[A-Za-z_:-]+", "", query)),
)


def no_common_query_error(hits: Hits, source: str) -> InputError:
    """The error for a run and judgements without a common query; shows the first ids of each."""
    judged, unjudged = hits.queries, hits.alignment_counts.unjudged_queries
    if not unjudged:
        return InputError("the run has none of the judged queries", fix="check the run and the selected queries", source=source)
    ids = f"the run has {example_ids(unjudged)}, the judgements have {example_ids(judged)}"
    reason = next((f" ({what})" for what, plain in _MISMATCH_REASONS if {*map(plain, unjudged)} & {*map(plain, judged)}), "")
    what = f"no query of the run is judged in {hits.judged.source}: {ids}{reason}"
    return InputError(what, fix="use the same query ids in both", source=source)


def no_judged_query_error(source: str, selected: Collection[str] | None) -> InputError:
    """The error for judgements without any query, or without any of the selected ones."""
    if selected is None:
        return InputError("no query is judged", fix="check the qrels", source=source)
    what = f"none of the {len(selected)} selected queries is judged: {example_ids(sorted(selected))}"
    return InputError(what, fix="check the ids of the selected queries", source=source)


MeasuresLike = MeasureLike | Sequence[MeasureLike] | None
USUAL_MEASURES = "nDCG@10, RR@10, R@100, P@10, Success@1/3/5/10, and nDCG(gain='exp')@10 if grades exceed 1"


@public
def evaluate(
    qrels: Annotated[QrelsLike, Option("the judgements", typed=str, role="path")],
    run: Annotated[RunLike, Option("one run, or several as {name: run}", typed=NAMED_FILES, role="path")],
    measures: Annotated[MeasuresLike, Option("one measure or several", unset=USUAL_MEASURES)] = None,
    **options: Unpack[EvaluateArguments],
) -> Result:
    """The values of the measures for one run, or for several runs as {name: run}.

    Judgements and runs may be our types, paths, dicts of dicts, {query: [docs, best first]}, tables of pandas, polars or pyarrow,
    rows of ir_measures, or objects of ranx.

    >>> import rankproof as rp
    >>> rp.evaluate({"q1": {"d1": 1}}, {"q1": ["d2", "d1"]}, "RR").systems[0].measures["RR"].value
    0.5
    """
    return evaluate_forms(qrels, run, measures, make_evaluate_options(options))


def evaluate_forms(qrels: QrelsLike, run: RunLike, measures: MeasuresLike, options: EvaluateOptions) -> Result:
    """The measures of one run or of several, with judgements and runs in any form."""
    queries = queries_of_judgements(qrels)
    options = with_own_weights(options, queries)
    named = None if measures is None else parse_measures(measures)
    coercion = Coercion(options.files.columns, options.files.grade_map, options.files.on_conflict)
    source = coercion.qrels(qrels)
    judged = prepare_judgements(source, options)
    runs = coercion.runs(run, lambda: judged.queries)
    coercion.check_columns()
    return with_inputs(_evaluate(judged, runs, named, options), EvaluationInput(source, runs, options, queries))


def evaluate_runs(qrels: QrelsLike, runs: Mapping[str, RunLike], measures: MeasuresLike, options: EvaluateOptions) -> Result:
    """The measures of every named run; judgements and runs are paths, our types, dicts of dicts, or frames."""
    named = None if measures is None else parse_measures(measures)
    return _evaluate(prepare_judgements(qrels, options), runs, named, options)


def _evaluate(
    judged: JudgedQueries, runs: Mapping[str, RunLike], named: list[Measure] | None, options: EvaluateOptions
) -> Result:
    if not runs:
        raise UsageError("there is no run", fix="pass at least one run")
    if not judged.queries:
        raise no_judged_query_error(judged.source, options.queries)
    chosen = default_measures(judged.highest) if named is None else named
    # By name, so that P with rel=2 in the options and P(rel=2) are measured once.
    fitted = {str(measure): measure for measure in [measure.with_rel(options.rel) for measure in chosen]}
    rels = sorted({options.rel, *(rel for measure in fitted.values() if (rel := getattr(measure, "rel", None)))})
    _check_judgements(judged, fitted)
    numbers = {name: measure for name, measure in fitted.items() if measure.kind != "text"}
    hits_of, results = {}, {}
    for name, run in runs.items():
        hits_of[name] = hits = _aligned(judged, run, name, options)
        results[name] = _measure_results(hits, numbers, options)
        if len(runs) > 1:
            # What measures share takes as much memory as the hits, which are kept for the notes.
            for block in hits.blocks:
                forget(block)
    measured = {name: _Measured(hits, results[name]) for name, hits in without_lookup(hits_of).items()}
    notes = _SystemNotes(list(measured.values()), rels, options)
    systems = [
        SystemResult(name, own.results, Deferred(partial(notes.of, own)), _common_depth(own.hits), _texts(own.hits, fitted))
        for name, own in measured.items()
    ]
    return joined_repeats(Result(judged.queries, tuple(systems)))


class _Measured(NamedTuple):
    """The alignment of one system, and its values."""

    hits: Hits
    results: dict[str, MeasureResult]


class _SystemNotes:
    """The notes of each system; ties are noted for all systems at once, since they may change their order."""

    def __init__(self, systems: Sequence[_Measured], rels: Sequence[int], options: EvaluateOptions) -> None:
        self._systems, self._rels, self._options = systems, rels, options
        self._ties: list[Note | None] | None = None

    def of(self, own: _Measured) -> tuple[Note, ...]:
        """The notes of one of the systems."""
        if self._ties is None:
            self._ties = self._tie_notes()
        tie = next(note for system, note in zip(self._systems, self._ties, strict=True) if system is own)
        return (*evaluation_notes(own.hits, self._rels, self._options, own.results), *filter(None, (tie,)))

    def _tie_notes(self) -> list[Note | None]:
        tied = [system.hits.alignment_counts.tied for system in self._systems]
        if not any(tied):
            return [None] * len(tied)
        from rankproof._evaluation.value_ranges import tie_notes, tie_ranges

        return tie_notes([tie_ranges(system.hits, system.results) for system in self._systems], tied)


def _aligned(judged: JudgedQueries, run: RunLike, name: str, options: EvaluateOptions) -> Hits:
    hits = align(judged, run, name, options)
    source = _path_of(run) or name
    if not hits.present.any() and not _is_empty(run):
        raise no_common_query_error(hits, source)
    if _is_same_file(source, judged.source):
        raise InputError("the run is the file of the judgements", fix="specify the run of a system", source=source)
    return hits


def _path_of(run: RunLike) -> str:
    """The file of a run, also of one that was read; empty for a run that is from no file."""
    if isinstance(run, str | os.PathLike):
        return os.fspath(run)
    return run.source if isinstance(run, Run) and os.path.exists(run.source) else ""


def _is_same_file(path: str, other: str) -> bool:
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):  # no file, or a name that no file can have
        return False


def _is_empty(run: RunLike) -> bool:
    """Whether a run in memory has no query: a system that retrieved nothing, not a mistake in the ids."""
    return isinstance(run, Run | Mapping) and not len(run)


def _common_depth(hits: Hits) -> int | None:
    """The depth at which rankings were cut: the longest length, if at least half of several rankings have it; else None."""
    lengths = hits.retrieved[hits.present]
    if not len(lengths):
        return None
    longest = int(lengths.max())
    as_long = int((lengths == longest).sum())
    return longest if as_long > 1 and 2 * as_long >= len(lengths) else None


def _measure_results(hits: Hits, measures: Mapping[str, Measure], options: EvaluateOptions) -> dict[str, MeasureResult]:
    """Every measure over all judged queries, or over those in the run."""
    results = {}
    skips = options.skip_missing and not hits.present.all()
    queries = tuple(np.array(hits.queries, dtype=object)[hits.present]) if skips else hits.queries
    weights = None if options.weights is None else _weights_of(queries, options.weights)
    blocks = hits.blocks
    for name, measure in measures.items():
        all_values = np.concatenate([measure.values(block) for block in blocks])
        values = all_values[hits.present] if skips else all_values
        results[name] = MeasureResult(measure, measure.summarise(values, weights), queries, values, weights)
    return results


def _check_judgements(judged: JudgedQueries, measures: Mapping[str, Measure]) -> None:
    """Rejects measures of grades where the judgements are preferences."""
    if judged.preferences is None:
        return
    from rankproof.measures._preferences import MEASURES_OF_PREFERENCES

    if others := [name for name, measure in measures.items() if measure.name not in MEASURES_OF_PREFERENCES]:
        what = f"{others[0]} needs grades, and {for_message(judged.source)} has preferences"
        raise UsageError(what, fix="name measures of preferences, such as -m PrefsFul or -m all_prefs")


def _texts(hits: Hits, measures: Mapping[str, Measure]) -> dict[str, TextResult]:
    """The texts of the measures that have no number."""
    if not any(measure.kind == "text" for measure in measures.values()):
        return {}
    from rankproof.measures._counts import StringMeasure

    return {name: measure.texts(hits) for name, measure in measures.items() if isinstance(measure, StringMeasure)}


def _weights_of(queries: Sequence[str], weights: Mapping[str, float]) -> FloatArray:
    missing = [query for query in queries if query not in weights]
    if missing:
        what = f"{pluralise(len(missing), 'judged query has', 'judged queries have')} no weight: {example_ids(missing)}"
        raise UsageError(what, fix="give every judged query a weight")
    return read_only(weight_column(weights[query] for query in queries))
