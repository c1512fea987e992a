"""`compare`, `audit`, `segments` and `diagnose` as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from rankproof._analysis.options import EQUIVALENCE, INTERVAL, PERMUTATIONS, RESAMPLES, SIGN_FLIPS, TEST, CompareOptions, Test
from rankproof._api.options import DataLike, DatasetOption, GroupsOption, MeasuresOption, RunsLike
from rankproof._data.table import Table
from rankproof._data.validation import BANDS, DOCUMENTS, LABELS, LOG, PROFILE, SEED, checked_integer, public
from rankproof._evaluation.options import EvaluateArguments
from rankproof._io.open import path_text
from rankproof._registry import Option
from rankproof._results.decision_settings import (
    BASELINE,
    COSTS,
    JUDGEMENTS,
    LABELS_BY,
    LOOKS,
    MARGIN,
    PRIMARY,
    Completeness,
    LabelsBy,
)
from rankproof._statistics.options import ALPHA, CORRECTION, Correction, IntervalMethod, Looks

if TYPE_CHECKING:
    from rankproof._analysis.compare.comparison import Comparison
    from rankproof._analysis.inputs import AnalysisInput
    from rankproof._api.values import Audit, Diagnosis, Segments
    from rankproof._evaluation.evaluate import MeasuresLike
    from rankproof.measures._base import Measure


@public
def compare(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    primary: Annotated[str | Measure | None, PRIMARY._replace(unset="the first of measures, else nDCG@10")] = None,
    baseline: Annotated[str | None, BASELINE._replace(unset="every pair is tested")] = None,
    margin: Annotated[float | str | None, MARGIN] = None,
    costs: Annotated[Mapping[str, float] | None, COSTS] = None,
    labels: Annotated[str | os.PathLike[str] | None, LABELS] = None,
    labels_by: Annotated[LabelsBy | None, LABELS_BY] = None,
    looks: Annotated[Looks | None, LOOKS] = None,
    judgements: Annotated[Completeness | None, JUDGEMENTS] = None,
    log: Annotated[str | os.PathLike[str] | None, LOG] = None,
    by: GroupsOption = None,
    dataset: DatasetOption = None,
    test: Annotated[Test, TEST] = "randomisation",
    correction: Annotated[Correction, CORRECTION] = "holm",
    interval: Annotated[IntervalMethod, INTERVAL] = "t",
    alpha: Annotated[float, ALPHA] = 0.05,
    equivalence: Annotated[float | None, EQUIVALENCE] = None,
    samples: Annotated[int, SIGN_FLIPS] = 100_000,
    resamples: Annotated[int, RESAMPLES] = 10_000,
    seed: Annotated[int, SEED] = 0,
    **options: Unpack[EvaluateArguments],
) -> Comparison:
    """Which system to choose, and which differences are real.

    One measure decides; the others are exploratory. With `by`, the comparison has the segments in which the chosen system, or
    each system against the baseline, is worse. A machine judge alone never decides. An earlier look with fewer queries in the log
    switches to the limits of many looks.

    >>> import rankproof as rp
    >>> qrels = {f"q{at}": {"d": 1} for at in range(40)}
    >>> runs = {"old": dict.fromkeys(qrels, ["x", "d"]), "new": dict.fromkeys(qrels, ["d", "x"])}
    >>> rp.compare(qrels, runs, "RR").decision.systems
    ('new',)
    """
    from rankproof._analysis.compare.comparison import compare_inputs
    from rankproof._analysis.compare.joined_values import deciding_measure
    from rankproof._analysis.compare.look_log import logged_comparison
    from rankproof._analysis.inputs import MAIN_MEASURES
    from rankproof._api.inputs import analysis_input, groupings, with_run_texts
    from rankproof._evaluation.notes import value_notes

    settings = CompareOptions(
        alpha=alpha,
        samples=samples,
        seed=seed,
        test=test,
        correction=correction,
        interval=interval,
        equivalence=equivalence,
        resamples=resamples,
    )
    why: tuple[str, ...] = ()
    if primary is None and measures is not None:
        primary, why = deciding_measure(measures)
    first = [] if primary is None else [primary]
    wanted = None if measures is None else [*first, *listed(measures)]
    inputs = analysis_input(data, runs, wanted, options, usual=[*first, *MAIN_MEASURES], needs_rankings=False)
    inputs = with_run_texts(inputs, dataset)
    groups = [] if by is None else list(groupings(inputs, by))

    def compared(mode: Looks | None) -> Comparison:
        return compare_inputs(
            inputs,
            primary=primary,
            baseline=baseline,
            margin=margin,
            costs=costs,
            labels=None if labels is None else path_text(labels, "labels"),
            labels_by=labels_by,
            looks=mode,
            judgements=judgements,
            groupings=groups,
            options=settings,
        )

    comparison = compared(looks) if log is None else logged_comparison(compared, inputs, path_text(log, "log"), looks)
    return replace(comparison, notes=(*why, *value_notes(inputs.result.systems), *comparison.notes))


def listed(measures: MeasuresLike) -> list[Any]:
    """The measures as a list, which is empty for None."""
    if measures is None:
        return []
    return list(measures) if isinstance(measures, Sequence) and not isinstance(measures, str) else [measures]


@public
def audit(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    tools: Annotated[bool, Option("values and best system by the conventions of other tools")] = False,
    ties: Annotated[bool, Option("expected, worst and best value over all orders of ties")] = False,
    unjudged: Annotated[bool, Option("bounds for unjudged documents, and pool bias")] = False,
    judge_next: Annotated[
        int | None,
        Option("the N unjudged pairs to judge first, by their expected effect on the risks of the decision", least=1),
    ] = None,
    **options: Unpack[EvaluateArguments],
) -> Audit:
    """How ties, unjudged documents and the conventions of other tools change the values; without a choice, all of these."""
    from rankproof._analysis.audit.tools import DEFAULT_MEASURES
    from rankproof._api.inputs import analysis_input, with_value_notes
    from rankproof._api.values import Audit

    if judge_next is not None:
        checked_integer("judge_next", judge_next)
    chosen = DEFAULT_MEASURES if measures is None else measures
    inputs = analysis_input(data, runs, chosen, options)
    tables = audit_tables(inputs, tools=tools, ties=ties, unjudged=unjudged, pairs=judge_next)
    shows_bounds = unjudged or not (tools or ties or judge_next)
    return Audit(with_value_notes(tables, inputs, bounds=not shows_bounds))


FEW_PAIRS = 5


WHOLE_RANKINGS_NOTE = "the tables on unjudged documents are of the whole rankings, which have these documents"


def audit_tables(inputs: AnalysisInput, *, tools: bool, ties: bool, unjudged: bool, pairs: int | None) -> list[Table]:
    """The chosen tables of the audit, or all; `pairs` is the number of pairs to judge next."""
    from rankproof._analysis.audit.judge_next import has_pair_changes, judge_next
    from rankproof._analysis.audit.pool_bias import audit_pool
    from rankproof._analysis.audit.ties import audit_ties
    from rankproof._analysis.audit.tools import audit_tools
    from rankproof._analysis.audit.unjudged import audit_unjudged, find_unjudged
    from rankproof._analysis.inputs import check_judged, whole_rankings

    check_judged(inputs)
    everything = not (tools or ties or unjudged or pairs)
    tables = [audit_tools(inputs)] if tools or everything else []
    if ties or everything:
        tables.append(audit_ties(inputs))
    if unjudged or pairs or everything:
        whole = whole_rankings(inputs)
        unjudged_pairs = find_unjudged(whole)
        about = [audit_unjudged(whole, unjudged_pairs), audit_pool(whole, unjudged_pairs)] if unjudged or everything else []
        measures = inputs.result.systems[0].measures
        first = [name for name, measure in measures.items() if pairs or has_pair_changes(measure.measure)][:1]
        if pairs or everything:
            about += [judge_next(unjudged_pairs, name, pairs or FEW_PAIRS) for name in first]
        notes = () if whole is inputs else (WHOLE_RANKINGS_NOTE,)
        tables += [replace(table, notes=(*table.notes, *notes)) for table in about]
    return tables


@public
def segments(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    by: GroupsOption = None,
    dataset: DatasetOption = None,
    bands: Annotated[str | os.PathLike[str] | None, BANDS] = None,
    profile: Annotated[str | Sequence[str] | None, PROFILE] = None,
    correction: Annotated[Correction, CORRECTION] = "holm",
    alpha: Annotated[float, ALPHA] = 0.05,
    samples: Annotated[int, PERMUTATIONS] = 10_000,
    seed: Annotated[int, SEED] = 0,
    **options: Unpack[EvaluateArguments],
) -> Segments:
    """The values of groups of queries, and the groups on which a system is significantly weaker."""
    from rankproof._analysis.bands import requested_profiles
    from rankproof._analysis.options import SegmentOptions
    from rankproof._analysis.segments import segments as make_tables
    from rankproof._api.inputs import analysis_input, groupings, with_run_texts, with_value_notes
    from rankproof._api.values import Segments

    settings = SegmentOptions(correction=correction, alpha=alpha, samples=samples, seed=seed)
    profiles = None if bands is None and profile is None else requested_profiles(bands, profile)
    inputs = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    names = list(inputs.result.systems[0].measures)[: 1 if measures is None else None]
    tables_of_groupings = [
        make_tables(inputs, grouping, name, settings, profiles) for grouping in groupings(inputs, by) for name in names
    ]
    return Segments(with_value_notes([table for tables in tables_of_groupings for table in tables], inputs))


@public
def diagnose(
    data: DataLike,
    runs: RunsLike = None,
    measures: MeasuresOption = None,
    *,
    by: GroupsOption = None,
    system: Annotated[str | None, Option("the system whose failed queries are listed", metavar="NAME", unset="the best")] = None,
    failed: Annotated[int, Option("number of failed queries to list", least=0)] = 10,
    top: Annotated[int, Option("a query fails if none of its first K documents is relevant", least=1, metavar="K")] = 10,
    documents: Annotated[int | None, DOCUMENTS] = None,
    dataset: DatasetOption = None,
    **options: Unpack[EvaluateArguments],
) -> Diagnosis:
    """Weak systems, stages and groups of queries, and queries that fail: no relevant document in the first `top`."""
    from rankproof._analysis.diagnose.diagnose import diagnose as make_tables
    from rankproof._analysis.inputs import checked_system, set_corpus_size
    from rankproof._analysis.run_files import with_system_runs
    from rankproof._api.inputs import analysis_input, groupings, with_run_texts, with_value_notes
    from rankproof._api.values import Diagnosis

    checked_integer("failed", failed, 0)
    checked_integer("top", top)
    analysed = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    inputs = with_system_runs(set_corpus_size(analysed, documents))
    named = None if system is None else checked_system(inputs, system)
    groups = list(groupings(inputs, by))
    tables = make_tables(inputs, groups, system=named, cutoff=top, most=failed, rules=True)
    return Diagnosis(with_value_notes(tables, inputs))
