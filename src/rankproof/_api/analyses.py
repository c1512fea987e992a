"""`compare`, `audit`, `segments` and `diagnose` as functions."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.joined_values import deciding_measure
from rankproof._analysis.compare.look_log import logged_comparison
from rankproof._analysis.compare.pairs import CompareOptions
from rankproof._analysis.compare.significance import Test
from rankproof._analysis.inputs import MAIN_MEASURES, AnalysisInput, check_judged, checked_system, set_corpus_size, whole_rankings
from rankproof._api.inputs import DataLike, GroupsLike, analysis_input, groupings, with_run_texts, with_value_notes
from rankproof._api.values import Audit, Diagnosis, Segments
from rankproof._data.table import Table
from rankproof._data.validation import checked_integer
from rankproof._evaluation.evaluate import MeasuresLike
from rankproof._evaluation.notes import value_notes
from rankproof._evaluation.options import EvaluateArguments
from rankproof._evaluation.user_forms import RunLike
from rankproof._io.open import path_text
from rankproof._results.experiment_result import Completeness, LabelsBy
from rankproof._statistics.correction import Correction
from rankproof._statistics.decision_rule import Looks
from rankproof._statistics.intervals import IntervalMethod
from rankproof.measures._base import Measure


def compare(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    primary: str | Measure | None = None,
    baseline: str | None = None,
    margin: float | str | None = None,
    costs: Mapping[str, float] | None = None,
    labels: str | os.PathLike[str] | None = None,
    labels_by: LabelsBy | None = None,
    looks: Looks | None = None,
    judgements: Completeness | None = None,
    log: str | os.PathLike[str] | None = None,
    by: GroupsLike = None,
    dataset: Any = None,
    test: Test = "randomisation",
    correction: Correction = "holm",
    interval: IntervalMethod = "t",
    alpha: float = 0.05,
    equivalence: float | None = None,
    samples: int = 100_000,
    resamples: int = 10_000,
    seed: int = 0,
    **options: Unpack[EvaluateArguments],
) -> Comparison:
    """Which system to choose, and which differences are real.

    `data` are judgements, with `runs` as {name: run}; or a Result, an ExperimentResult, a results folder, or a list of these. The
    `primary` measure decides, by default the first of `measures`, else nDCG@10; the others are exploratory. `margin` is how far
    below the best a system may be (0.02 is 2 percentage points). `costs` has a number for each system. With `baseline` only pairs
    with it are tested. `by` adds in which segments of queries the chosen system, or each system against the baseline, is worse:
    a field of the queries, `length`, `relevant`, `complexity`, a list of these, or {query: segment}. `dataset` has the queries of
    runs.
    `labels` is a file of labels of people, made with `rankproof serve RESULTS --label 30`, that check a machine judge; by default
    the file beside the results folder. `labels_by="people"` says that the labels are people's, even if the files name a machine
    judge; a machine judge alone never decides. `looks="many"` uses the limits for looking again and again while queries arrive.
    `log` is a file of JSON lines that counts looks and comparisons: an earlier look with fewer queries switches to these limits.
    `judgements="complete"` says that no relevant document is unjudged; without it, nothing is decided where a rival of the chosen
    system may not have been judged.
    """
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


def audit(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    tools: bool = False,
    ties: bool = False,
    unjudged: bool = False,
    judge_next: int | None = None,
    **options: Unpack[EvaluateArguments],
) -> Audit:
    """How ties, unjudged documents and the conventions of other tools change the values; without a choice, all of these.

    `judge_next` is the number of unjudged pairs to list, by the expected change of the risks of the decision.
    """
    from rankproof._analysis.audit.tools import DEFAULT_MEASURES

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

    check_judged(inputs)
    everything = not (tools or ties or unjudged or pairs)
    tables = [audit_tools(inputs)] if tools or everything else []
    if ties or everything:
        tables.append(audit_ties(inputs))
    if unjudged or pairs or everything:
        whole = whole_rankings(inputs)
        found = find_unjudged(whole)
        about = [audit_unjudged(whole, found), audit_pool(whole, found)] if unjudged or everything else []
        measures = inputs.result.systems[0].measures
        first = [name for name, measure in measures.items() if pairs or has_pair_changes(measure.measure)][:1]
        if pairs or everything:
            about += [judge_next(found, name, pairs or FEW_PAIRS) for name in first]
        notes = () if whole is inputs else (WHOLE_RANKINGS_NOTE,)
        tables += [replace(table, notes=(*table.notes, *notes)) for table in about]
    return tables


def segments(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    by: GroupsLike = None,
    dataset: Any = None,
    bands: str | os.PathLike[str] | None = None,
    profile: str | Sequence[str] | None = None,
    correction: Correction = "holm",
    alpha: float = 0.05,
    samples: int = 10_000,
    seed: int = 0,
    **options: Unpack[EvaluateArguments],
) -> Segments:
    """The values of groups of queries, and the groups on which a system is significantly weaker.

    `by` is a field of the queries, `length`, `relevant`, `complexity`, a list of these, or {query: segment}. `dataset` has the
    queries of runs. `bands` is a TOML file of band profiles instead of the built-in ones, `profile` the name of one or more.
    """
    from rankproof._analysis.bands import requested_profiles
    from rankproof._analysis.segments import SegmentOptions
    from rankproof._analysis.segments import segments as make_tables

    settings = SegmentOptions(correction=correction, alpha=alpha, samples=samples, seed=seed)
    profiles = None if bands is None and profile is None else requested_profiles(bands, profile)
    inputs = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    names = list(inputs.result.systems[0].measures)[: 1 if measures is None else None]
    each = [make_tables(inputs, grouping, name, settings, profiles) for grouping in groupings(inputs, by) for name in names]
    return Segments(with_value_notes([table for tables in each for table in tables], inputs))


def diagnose(
    data: DataLike,
    runs: RunLike | None = None,
    measures: MeasuresLike = None,
    *,
    by: GroupsLike = None,
    system: str | None = None,
    failed: int = 10,
    top: int = 10,
    documents: int | None = None,
    dataset: Any = None,
    **options: Unpack[EvaluateArguments],
) -> Diagnosis:
    """Weak systems, stages and groups of queries, and queries that fail: no relevant document in the first `top`.

    `system` is the one whose failed queries are listed, by default the best; `failed` is their number. `documents` is the size of
    the corpus, for the comparison with a random ranking. `dataset` has the texts of runs.
    """
    from rankproof._analysis.diagnose.diagnose import diagnose as make_tables
    from rankproof._analysis.run_files import with_system_runs

    checked_integer("failed", failed, 0)
    checked_integer("top", top)
    given = with_run_texts(analysis_input(data, runs, measures, options), dataset)
    inputs = with_system_runs(set_corpus_size(given, documents))
    named = None if system is None else checked_system(inputs, system)
    groups = list(groupings(inputs, by))
    tables = make_tables(inputs, groups, system=named, cutoff=top, most=failed, rules=True)
    return Diagnosis(with_value_notes(tables, inputs))
