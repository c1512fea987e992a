"""`Changes`: two results of the same data compared, system by system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rankproof._analysis.answers.answer_input import answer_input_from_results
from rankproof._analysis.changes.changed_queries import rankings_of
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.summary import with_decision_settings
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.inputs import AnalysisInput, input_from_results, join_inputs, joined_names
from rankproof._analysis.overlap import mean_overlaps, overlap_columns
from rankproof._data.arrays import FloatArray
from rankproof._data.dataset import Queries
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._evaluation.result import Result
from rankproof._results.decision_settings import Completeness, LabelsBy
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._statistics.options import Looks
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

Labels = tuple[str, str]
"""The names of the two results, before and after."""


@dataclass(frozen=True, slots=True)
class MatchedSystem:
    """A system of both results, and its names in the joined results."""

    name: str
    before: str
    after: str


def matched_systems(before: Sequence[str], after: Sequence[str], labels: Labels) -> tuple[MatchedSystem, ...]:
    """The systems of the same name, in the order of `after`; two results of one system each match by themselves."""
    old, new = joined_names([(labels[0], before), (labels[1], after)])
    if len(before) == len(after) == 1 and before != after:
        return (MatchedSystem(f"{before[0]} → {after[0]}", old[before[0]], new[after[0]]),)
    matched = tuple(MatchedSystem(name, old[name], new[name]) for name in after if name in old)
    if not matched:
        names = f"{', '.join(map(for_message, before))} and {', '.join(map(for_message, after))}"
        raise UsageError(
            f"the two results have no system of the same name ({names})",
            fix="give the systems the same names in both experiments, or use `rankproof compare BEFORE AFTER`",
        )
    return matched


def joined_results(
    before: ExperimentResult, after: ExperimentResult, labels: Labels, matched: Sequence[MatchedSystem]
) -> ExperimentResult:
    """The systems of both on the queries of both."""
    run_names = [[run.name for run in results.system_runs] for results in (before, after)]
    names = joined_names(list(zip(labels, run_names, strict=True)))
    queries = tuple(dict.fromkeys((*before.queries, *after.queries)))
    runs = [
        _moved(run, new, results.queries, queries)
        for results, new in zip((before, after), names, strict=True)
        for run in results.system_runs
    ]
    texts = {**after.texts, **before.texts}
    order = [name for system in matched for name in (system.before, system.after)]
    runs.sort(key=lambda run: order.index(run.name) if run.name in order else len(order))
    return replace(
        before,
        name=f"{before.name} → {after.name}" if before.name != after.name else after.name,
        queries=queries,
        result=_joined_result([before.result, after.result], names, [run.name for run in runs]),
        system_runs=tuple(runs),
        texts=Queries([texts[query] for query in queries if query in texts]),
        snippets={**after.snippets, **before.snippets},
        titles={**after.titles, **before.titles},
        contexts={**after.contexts, **before.contexts},
        answers=_joined_answers(before, after, names, [run.name for run in runs]),
        notes=(),
    )


def _moved(run: SystemRun, names: Mapping[str, str], own: Sequence[str], queries: Sequence[str]) -> SystemRun:
    """The system under its new name, with its times in the order of the queries of both."""
    at = {query: place for place, query in enumerate(own)}
    places = [at.get(query, -1) for query in queries]
    times = {part: _taken(time, places) for part, time in run.times.items()}
    return replace(run, name=names[run.name], builds_on=names.get(run.builds_on or ""), times=times)


def _taken(values: FloatArray, places: Sequence[int]) -> FloatArray:
    return np.array([values[place] if place >= 0 else np.nan for place in places], np.float64)


def _joined_result(results: Sequence[Result], names: Sequence[Mapping[str, str]], order: Sequence[str]) -> Result:
    """The values of both, in the order of the names; `claims` are those of the systems under their new names."""
    systems = [
        replace(system, name=new[system.name]) for result, new in zip(results, names, strict=True) for system in result.systems
    ]
    systems.sort(key=lambda system: order.index(system.name))
    claims = (
        replace(claim, system=new.get(claim.system, claim.system))
        for result, new in zip(results, names, strict=True)
        for claim in result.claims
    )
    queries = tuple(dict.fromkeys(query for result in results for query in result.queries))
    return Result(queries, tuple(systems), tuple(claims))


def _joined_answers(
    before: ExperimentResult, after: ExperimentResult, names: Sequence[Mapping[str, str]], order: Sequence[str]
) -> Result | None:
    both = [(results.answers, new) for results, new in zip((before, after), names, strict=True) if results.answers is not None]
    return _joined_result([result for result, _ in both], [new for _, new in both], order) if both else None


LABELS: Labels = ("before", "after")


@dataclass(frozen=True, eq=False, slots=True)
class Changes:
    """Two results: their systems as one, the systems of both, and the comparisons of rankings and of answers.

    The decision of `comparison` is between all systems of both, as in `rankproof compare BEFORE AFTER`; its tests are those of
    each system after against before. It is None without judgements, and where no measure says which system is better.
    """

    before: ExperimentResult
    after: ExperimentResult
    labels: Labels
    matched: tuple[MatchedSystem, ...]
    joined: ExperimentResult
    inputs: AnalysisInput
    comparison: Comparison | None
    answers: Comparison | None

    @property
    def main(self) -> Comparison | None:
        """The comparison of rankings, else that of answers."""
        return self.comparison or self.answers

    def pair(self, system: MatchedSystem, measure: str | None = None, of: Comparison | None = None) -> PairRecord | None:
        """A system after against before, by the primary measure or another; None if it was not tested."""
        comparison = of or self.main
        if comparison is None:
            return None
        wanted = (system.after, system.before, measure or comparison.primary)
        return next((pair for pair in comparison.pairs if (pair.system, pair.other, pair.measure) == wanted), None)


def compare_before_after(
    before: ExperimentResult,
    after: ExperimentResult,
    *,
    labels: Labels = LABELS,
    primary: str | Measure | None = None,
    baseline: str | None = None,
    margin: float | str | None = None,
    costs: Mapping[str, float] | None = None,
    labels_by: LabelsBy | None = None,
    looks: Looks | None = None,
    judgements: Completeness | None = None,
) -> Changes:
    """Compare two results of the same data; different data are an error. The settings are those of `compare`."""
    if labels[0] == labels[1]:
        raise UsageError("the two results have the same name", fix="give each its own name with --name")
    before, after = (
        results if primary is None else with_decision_settings(results, primary=primary) for results in (before, after)
    )
    judged = before.is_judged or after.is_judged
    both = [input_from_results(results, needs_judgements=judged) for results in (before, after)]
    old, new = ([run.name for run in results.system_runs] for results in (before, after))
    matched = matched_systems(old, new, labels)
    inputs = join_inputs([replace(results, name=label) for results, label in zip(both, labels, strict=True)])
    pairs = [(results.after, results.before) for results in matched]
    comparison = None
    if judged and _has_primary(inputs):
        comparison = compare_inputs(
            inputs,
            primary=primary,
            baseline=baseline,
            margin=margin,
            costs=costs,
            labels_by=labels_by,
            looks=looks,
            judgements=judgements,
            pairs=pairs,
        )
    return Changes(
        before,
        after,
        labels,
        matched,
        joined_results(before, after, labels, matched),
        inputs,
        comparison,
        _compared_answers(before, after, labels, pairs),
    )


def _has_primary(inputs: AnalysisInput) -> bool:
    """Whether a measure of all systems says which is better."""
    first, *others = inputs.result.systems
    return any(
        measure.summary == "mean" and measure.measure.has_winner and all(name in other.measures for other in others)
        for name, measure in first.measures.items()
    )


def _compared_answers(
    before: ExperimentResult, after: ExperimentResult, labels: Labels, pairs: Sequence[tuple[str, str]]
) -> Comparison | None:
    """The answers by the measures of both; None if one has none, or nothing is left to compare."""
    if before.answers is None or after.answers is None:
        return None
    names = [name for name in before.answers.systems[0].measures if name in after.answers.systems[0].measures]
    if not names:
        return None
    both = [answer_input_from_results(inputs, names).inputs for inputs in (before, after)]
    queries = tuple(dict.fromkeys(query for inputs in both for query in inputs.result.queries))
    labelled = [
        replace(inputs, name=label, result=replace(inputs.result, queries=queries))
        for inputs, label in zip(both, labels, strict=True)
    ]
    try:
        return compare_inputs(join_inputs(labelled), pairs=pairs)
    except UsageError:
        return None


_MOST_NAMES = 6


def change_sentences(changes: Changes) -> tuple[str, ...]:
    """Whether the systems are better than before; then one sentence for each system, if there are several."""
    comparison = changes.main
    if comparison is None:
        return _overlap_sentences(changes)
    n = f"n = {pluralise(comparison.n, 'query', 'queries')}"
    verdicts = next((table.sentences for table in comparison.tables if table.name == "verdicts"), ())
    if not verdicts:
        return (f"Nothing was tested: {n}, or the systems of both retrieved nothing.",)
    if len(verdicts) == len(changes.matched) == 1:
        return verdicts
    summary = _summary(changes, comparison, n)
    return (
        (summary,)
        if all(pair is not None and pair.verdict == "same" for pair in _pairs(changes, comparison))
        else (summary, *verdicts)
    )


def _pairs(changes: Changes, comparison: Comparison) -> list[PairRecord | None]:
    return [changes.pair(system, of=comparison) for system in changes.matched]


def _summary(changes: Changes, comparison: Comparison, n: str) -> str:
    """One sentence on all systems of both."""
    by_verdict: dict[str, list[str]] = {}
    for system, pair in zip(changes.matched, _pairs(changes, comparison), strict=True):
        by_verdict.setdefault("untested" if pair is None else pair.verdict, []).append(system.name)
    before, after = map(for_message, changes.labels)
    first_word = after.capitalize() if changes.labels == LABELS else after
    better, worse, same = (by_verdict.get(verdict, []) for verdict in ("better", "worse", "same"))
    if len(same) == len(changes.matched):
        return f"Nothing changed: {_have(same, f'the same {comparison.primary} on every query')} ({n})."
    head = f"No significant change in {comparison.primary} from {before} to {after}"
    if better or worse:
        first, *other = [(word, names) for word, names in (("better", better), ("worse", worse)) if names]
        also = "".join(f", and {word} for {_names(names)}" for word, names in other)
        head = f"{first_word} is {first[0]} than {before} in {comparison.primary} for {_names(first[1])}{also}"
    open_ = [*by_verdict.get("not significant", []), *by_verdict.get("equivalent", [])]
    rest = [
        *([f"no significant change for {_names(open_)}"] if open_ and (better or worse) else []),
        *([_have(same, "the same value on every query")] if same else []),
        *([f"not tested: {_names(by_verdict['untested'])}"] if "untested" in by_verdict else []),
    ]
    return f"{'; '.join([head, *rest])} ({n})."


def _have(names: Sequence[str], what: str) -> str:
    return f"{_names(names)} {'has' if len(names) == 1 else 'have'} {what}"


def _names(names: Sequence[str]) -> str:
    shown = [for_message(name) for name in names]
    if len(shown) > _MOST_NAMES:
        shown = [*shown[: _MOST_NAMES - 1], pluralise(len(shown) - _MOST_NAMES + 1, "other system")]
    return in_a_sentence(shown)


def _overlap_sentences(changes: Changes) -> tuple[str, ...]:
    """What is known of rankings without judgements."""
    same = [system.name for system in changes.matched if _is_same(changes, system)]
    if len(same) == len(changes.matched):
        return (f"Nothing changed: {_have(same, 'the same rankings')}.",)
    other = [system.name for system in changes.matched if system.name not in same]
    kept = f"; {_have(same, 'the same rankings')}" if same else ""
    return (
        f"The rankings of {_names(other)} changed{kept}.",
        "Without judgements no system can be called better: grade the rankings of both"
        " (`rankproof judge` or `rankproof serve --judge`), then compare again.",
    )


def _is_same(changes: Changes, system: MatchedSystem) -> bool:
    return rankings_of(changes.joined, system.before) == rankings_of(changes.joined, system.after)


def change_table(changes: Changes, of: Comparison | None = None) -> Table:
    """A row for each system: its value before and after, and the difference with interval and test."""
    comparison = of or changes.main
    if comparison is None:
        return _overlap_table(changes)
    (before, after), level = changes.labels, comparison.options.percent
    correction = comparison.options.correction_name or "no correction"
    columns = (
        Column("system"),
        Column(before, "value", f"mean {comparison.primary} before"),
        Column(after, "value", f"mean {comparison.primary} after"),
        Column("difference", "difference", f"{after} minus {before}"),
        Column(f"{level} CI", "interval", f"of the difference, {comparison.options.about_interval}; empty if few queries differ"),
        Column("p", "p", f"two-sided, {comparison.options.about_p}"),
        Column("p adjusted", "p", f"{correction}, over the systems of both"),
        Column("verdict", about=f"on {after}"),
    )
    rows = tuple(_tested_row(changes, system, comparison) for system in changed_systems(changes))
    title = f"{comparison.primary} of each system, {before} and {after} (n = {pluralise(comparison.n, 'query', 'queries')})"
    return Table("changes", title, columns, rows, notes=tuple(_notes(changes, comparison)), facts={"primary": comparison.primary})


def order_note(changes: Changes) -> str | None:
    """A note on results that are newer than those after them, by the dates that they record."""
    dates = [str(results.provenance.get("created") or "")[:_TO_THE_MINUTE] for results in (changes.before, changes.after)]
    # To the minute, as runs of the same minute are in no order worth a note.
    if not all(dates) or dates[0] <= dates[1]:
        return None
    (before, after), (newer, older) = map(for_message, changes.labels), map(for_message, dates)
    return f"{before} ({newer}) is newer than {after} ({older}): swap the two to see what changed since"


_TO_THE_MINUTE = len("2026-01-02T03:04")


def _notes(changes: Changes, comparison: Comparison) -> Iterator[str]:
    if (note := order_note(changes)) is not None:
        yield note
    yield from comparison.notes
    if comparison.method:
        yield comparison.method


def changed_systems(changes: Changes) -> list[MatchedSystem]:
    """The systems of both, then those of one of them; a name is empty if the other results lack the system."""
    known = {name for system in changes.matched for name in (system.before, system.after)}
    own = {run.name for run in changes.after.system_runs}
    others = [run.name for run in changes.joined.system_runs if run.name not in known]
    alone = [MatchedSystem(name, "", name) if name in own else MatchedSystem(name, name, "") for name in others]
    return [*changes.matched, *alone]


def _tested_row(changes: Changes, system: MatchedSystem, comparison: Comparison) -> tuple[CellValue, ...]:
    pair = changes.pair(system, of=comparison)
    if pair is not None:
        return system.name, pair.other_value, pair.value, pair.difference, pair.ci, pair.p, pair.p_adjusted, pair.verdict
    old, new = (comparison.values.get(name, {}).get(comparison.primary) for name in (system.before, system.after))
    only = f"only {changes.labels[0] if system.before else changes.labels[1]}"
    return system.name, old, new, None, None, None, None, "not tested" if system.before and system.after else only


def _overlap_table(changes: Changes) -> Table:
    """How much the rankings before and after have in common."""
    rankings = {run.name: rankings_of(changes.joined, run.name) for run in changes.joined.system_runs}
    rows = tuple(
        (system.name, *mean_overlaps(changes.joined.queries, rankings, system.before, system.after)) for system in changes.matched
    )
    title = (
        f"Rankings of {changes.labels[0]} and {changes.labels[1]} ({pluralise(len(changes.joined.queries), 'query', 'queries')})"
    )
    return Table("changes", title, (Column("system"), *overlap_columns()), rows)
