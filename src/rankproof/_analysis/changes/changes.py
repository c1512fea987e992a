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
        found = of or self.main
        if found is None:
            return None
        wanted = (system.after, system.before, measure or found.primary)
        return next((pair for pair in found.pairs if (pair.system, pair.other, pair.measure) == wanted), None)


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
    before, after = (one if primary is None else with_decision_settings(one, primary=primary) for one in (before, after))
    judged = before.is_judged or after.is_judged
    found = [input_from_results(one, needs_judgements=judged) for one in (before, after)]
    old, new = ([run.name for run in one.system_runs] for one in (before, after))
    matched = matched_systems(old, new, labels)
    inputs = join_inputs([replace(one, name=label) for one, label in zip(found, labels, strict=True)])
    pairs = [(one.after, one.before) for one in matched]
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
    each = [answer_input_from_results(one, names).inputs for one in (before, after)]
    queries = tuple(dict.fromkeys(query for one in each for query in one.result.queries))
    found = [
        replace(one, name=label, result=replace(one.result, queries=queries)) for one, label in zip(each, labels, strict=True)
    ]
    try:
        return compare_inputs(join_inputs(found), pairs=pairs)
    except UsageError:
        return None


_MOST_NAMES = 6


def change_sentences(changes: Changes) -> tuple[str, ...]:
    """Whether the systems are better than before; then one sentence for each system, if there are several."""
    found = changes.main
    if found is None:
        return _overlap_sentences(changes)
    n = f"n = {pluralise(found.n, 'query', 'queries')}"
    each = next((table.sentences for table in found.tables if table.name == "verdicts"), ())
    if not each:
        return (f"Nothing was tested: {n}, or the systems of both retrieved nothing.",)
    if len(each) == len(changes.matched) == 1:
        return each
    summary = _summary(changes, found, n)
    return (summary,) if all(pair is not None and pair.verdict == "same" for pair in _pairs(changes, found)) else (summary, *each)


def _pairs(changes: Changes, found: Comparison) -> list[PairRecord | None]:
    return [changes.pair(one, of=found) for one in changes.matched]


def _summary(changes: Changes, found: Comparison, n: str) -> str:
    """One sentence on all systems of both."""
    by_verdict: dict[str, list[str]] = {}
    for one, pair in zip(changes.matched, _pairs(changes, found), strict=True):
        by_verdict.setdefault("untested" if pair is None else pair.verdict, []).append(one.name)
    before, after = map(for_message, changes.labels)
    first_word = after.capitalize() if changes.labels == LABELS else after
    better, worse, same = (by_verdict.get(verdict, []) for verdict in ("better", "worse", "same"))
    if len(same) == len(changes.matched):
        return f"Nothing changed: {_have(same, f'the same {found.primary} on every query')} ({n})."
    head = f"No significant change in {found.primary} from {before} to {after}"
    if better or worse:
        first, *other = [(word, names) for word, names in (("better", better), ("worse", worse)) if names]
        also = "".join(f", and {word} for {_names(names)}" for word, names in other)
        head = f"{first_word} is {first[0]} than {before} in {found.primary} for {_names(first[1])}{also}"
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
    same = [one.name for one in changes.matched if _is_same(changes, one)]
    if len(same) == len(changes.matched):
        return (f"Nothing changed: {_have(same, 'the same rankings')}.",)
    other = [one.name for one in changes.matched if one.name not in same]
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
    found = of or changes.main
    if found is None:
        return _overlap_table(changes)
    (before, after), level = changes.labels, found.options.percent
    correction = found.options.correction_name or "no correction"
    columns = (
        Column("system"),
        Column(before, "value", f"mean {found.primary} before"),
        Column(after, "value", f"mean {found.primary} after"),
        Column("difference", "difference", f"{after} minus {before}"),
        Column(f"{level} CI", "interval", f"of the difference, {found.options.about_interval}; empty if few queries differ"),
        Column("p", "p", f"two-sided, {found.options.about_p}"),
        Column("p adjusted", "p", f"{correction}, over the systems of both"),
        Column("verdict", about=f"on {after}"),
    )
    rows = tuple(_tested_row(changes, system, found) for system in changed_systems(changes))
    title = f"{found.primary} of each system, {before} and {after} (n = {pluralise(found.n, 'query', 'queries')})"
    return Table("changes", title, columns, rows, notes=tuple(_notes(changes, found)), facts={"primary": found.primary})


def order_note(changes: Changes) -> str | None:
    """A note on results that are newer than those after them, by the dates that they record."""
    dates = [str(one.provenance.get("created") or "")[:_TO_THE_MINUTE] for one in (changes.before, changes.after)]
    if not all(dates) or dates[0] <= dates[1]:
        return None
    (before, after), (newer, older) = map(for_message, changes.labels), map(for_message, dates)
    return f"{before} ({newer}) is newer than {after} ({older}): swap the two to see what changed since"


_TO_THE_MINUTE = len("2026-01-02T03:04")


def _notes(changes: Changes, found: Comparison) -> Iterator[str]:
    if (note := order_note(changes)) is not None:
        yield note
    yield from found.notes
    if found.method:
        yield found.method


def changed_systems(changes: Changes) -> list[MatchedSystem]:
    """The systems of both, then those of one of them; a name is empty where the other results lack the system."""
    known = {name for one in changes.matched for name in (one.before, one.after)}
    own = {run.name for run in changes.after.system_runs}
    others = [run.name for run in changes.joined.system_runs if run.name not in known]
    alone = [MatchedSystem(name, "", name) if name in own else MatchedSystem(name, name, "") for name in others]
    return [*changes.matched, *alone]


def _tested_row(changes: Changes, system: MatchedSystem, found: Comparison) -> tuple[CellValue, ...]:
    pair = changes.pair(system, of=found)
    if pair is not None:
        return system.name, pair.other_value, pair.value, pair.difference, pair.ci, pair.p, pair.p_adjusted, pair.verdict
    old, new = (found.values.get(name, {}).get(found.primary) for name in (system.before, system.after))
    only = f"only {changes.labels[0] if system.before else changes.labels[1]}"
    return system.name, old, new, None, None, None, None, "not tested" if system.before and system.after else only


def _overlap_table(changes: Changes) -> Table:
    """How much the rankings before and after have in common."""
    rankings = {run.name: rankings_of(changes.joined, run.name) for run in changes.joined.system_runs}
    rows = tuple((one.name, *mean_overlaps(changes.joined.queries, rankings, one.before, one.after)) for one in changes.matched)
    title = (
        f"Rankings of {changes.labels[0]} and {changes.labels[1]} ({pluralise(len(changes.joined.queries), 'query', 'queries')})"
    )
    return Table("changes", title, (Column("system"), *overlap_columns()), rows)
