"""`Changes`: two results of the same data compared, system by system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from rankproof._analysis.answers.inputs import answer_input_from_results
from rankproof._analysis.changes.changed_queries import rankings_of
from rankproof._analysis.changes.joined_results import Labels, MatchedSystem, joined_results, matched_systems
from rankproof._analysis.compare.comparison import Comparison, compare_inputs
from rankproof._analysis.compare.summary import with_decision_settings
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.inputs import AnalysisInput, input_from_results, join_inputs
from rankproof._analysis.overlap import mean_overlaps, overlap_columns
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import in_a_sentence, pluralise
from rankproof._results.experiment_result import Completeness, ExperimentResult, LabelsBy
from rankproof._statistics.decision_rule import Looks
from rankproof.errors import UsageError, for_message
from rankproof.measures._base import Measure

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
    """The answers by the measures of both; None where one has none, or nothing is left to compare."""
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
    """The systems of both, then those of one of them; a name is empty where the other results lack the system."""
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
