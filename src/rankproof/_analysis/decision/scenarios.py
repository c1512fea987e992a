"""What is not known about values, as scenarios, which must lead to one choice; and the sources of doubt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from rankproof._analysis.decision.record import Decision, MissingCount, Reason, Scenario, UnjudgedRival
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import in_a_sentence, limit_text, percent
from rankproof._statistics.decision_rule import PairEstimates, Risks, Selection, estimates_of_pairs, group_means, pair_estimates
from rankproof.errors import for_message
from rankproof.measures._base import Measure, worst_value

MAX_MISSING = 0.01
"""Up to this share of a system's questions, a missing value is the worst one; above it, there are scenarios."""
WITHOUT_UNJUDGED, WITHOUT_ABSTENTIONS = "without unjudged documents", "without abstentions"
REVERSED_TIES = "with tied documents in the opposite order"
EQUALLY_LONG = "with all rankings cut at the length of the shortest"
BY_RANK = "with documents in the order of their ranks, which contradict their scores,"
WITHOUT_LACKING = "without queries that a system lacks"
COPIES_ONCE = "with copies of a query counted once"
OTHERS_AT_BEST, ALL_AT_BEST = "with those of the other systems at their best", "with all at their best"
"""The scenarios in words."""
_SHOWN_SYSTEMS = 3
DOUBT = "doubt"
_LABELLED = "labelled questions"
QUERY_MINUTES, LABEL_MINUTES = 10, 5
"""Assumed work for a further query with its judgements, and for the labels of a question."""


@dataclass(frozen=True, eq=False, slots=True)
class PartlyMissing:
    """Questions of which only some of a system's repeated answers are missing: arrays by question and system.

    `abstained` and `unknown` are shares of the answers to the question: those that abstained, and those that the judge gave no
    value. The other two say how much better the value is without the former, and with the latter at their best.
    """

    abstained: FloatArray
    unknown: FloatArray
    without_abstained: FloatArray
    unknown_at_best: FloatArray

    def part(self, rows: BoolArray | IntArray | slice, columns: Sequence[int] | slice = slice(None)) -> PartlyMissing:
        """What is missing of some of the questions or systems."""
        arrays = self.abstained, self.unknown, self.without_abstained, self.unknown_at_best
        return PartlyMissing(*(array[rows][:, columns] for array in arrays))


@dataclass(frozen=True, eq=False, slots=True)
class MissingValues:
    """Which values are missing by query and system: no answer; an abstention or nothing to check; unknown as the judge failed.

    `shares` are the shares of all questions that a system abstained on or that are unknown, where the rows are a sample of them.
    `skips` says that the user asks to leave out what a system lacks (`--skip-missing`). `partly` has the questions of which only
    some repeated answers are missing.
    """

    no_answer: BoolArray
    abstained: BoolArray
    unknown: BoolArray
    shares: FloatArray | None = None
    skips: bool = False
    partly: PartlyMissing | None = None

    def __getitem__(self, rows: BoolArray | IntArray) -> MissingValues:
        parts = self.no_answer[rows], self.abstained[rows], self.unknown[rows]
        return MissingValues(*parts, skips=self.skips, partly=None if self.partly is None else self.partly.part(rows))

    def of_systems(self, columns: Sequence[int]) -> MissingValues:
        """What is missing of some of the systems."""
        parts = (self.no_answer[:, columns], self.abstained[:, columns], self.unknown[:, columns])
        partly = None if self.partly is None else self.partly.part(slice(None), columns)
        return MissingValues(*parts, None if self.shares is None else self.shares[columns], self.skips, partly)

    @property
    def every(self) -> BoolArray:
        """Every missing value."""
        return np.asarray(self.no_answer | self.abstained | self.unknown)

    @property
    def left_out(self) -> BoolArray:
        """What a scenario leaves out: abstentions, and what a system lacks if the user asks for it."""
        return np.asarray(self.abstained | self.no_answer) if self.skips else self.abstained

    def needs_scenarios(self) -> bool:
        """Whether more than 1% of a system's questions are left out in a scenario or unknown."""
        shares = self.left_out_shares + self.unknown_shares if self.shares is None else self.shares
        return bool((shares > MAX_MISSING).any())

    @property
    def left_out_shares(self) -> FloatArray:
        """The share of each system's questions that a scenario leaves out; a part of a question counts as this part."""
        return np.asarray((self.left_out if self.partly is None else self.left_out + self.partly.abstained).mean(axis=0))

    @property
    def unknown_shares(self) -> FloatArray:
        """The share of each system's questions that the judge gave no value."""
        return np.asarray((self.unknown if self.partly is None else self.unknown + self.partly.unknown).mean(axis=0))

    def counts(self, systems: Sequence[str]) -> tuple[MissingCount, ...]:
        """How many values of each system are missing, for systems that lack any."""
        columns = zip(systems, self.no_answer.T, self.abstained.T, self.unknown.T, strict=True)
        counted = (MissingCount(name, *(int(column.sum()) for column in rest)) for name, *rest in columns)
        return tuple(count for count in counted if count.no_answer or count.abstained or count.unknown)


def best_value(measure: Measure) -> float | None:
    """The best possible value; None if the measure has none."""
    best = measure.range[0] if measure.higher_is_better is False else measure.range[1]
    return best if np.isfinite(best) else None


@dataclass(frozen=True, eq=False, slots=True)
class ScenarioChoice:
    """The choice in a scenario; `words` continue the sentence "with missing values at their worst the choice is a, "."""

    words: str
    reason: Reason
    risks: Risks
    systems: tuple[int, ...]

    def keeps(self, chosen: Sequence[int]) -> bool:
        """Whether the systems are chosen here too; without unjudged documents it is enough that they are good enough."""
        return set(chosen) <= set(self.risks.good if self.reason == "unjudged" else self.systems)

    def named(self, names: Sequence[str]) -> Scenario:
        """The scenario of the record: its risk is that of its first system, or the lowest one."""
        risk = self.risks.risk[self.systems[0]] if self.systems else self.risks.risk.min()
        return Scenario(self.words, tuple(names[at] for at in self.systems), float(risk))


Choose = Callable[[PairEstimates], tuple[Risks, Selection]]
UnknownRankings = Literal["unjudged", "ties", "depth", "ranks"]
_RANKINGS: Mapping[UnknownRankings, str] = {
    "unjudged": WITHOUT_UNJUDGED,
    "ties": REVERSED_TIES,
    "depth": EQUALLY_LONG,
    "ranks": BY_RANK,
}


def scenario_choices(
    values: FloatArray,
    weights: FloatArray | None,
    missing: MissingValues | None,
    others: Mapping[UnknownRankings, FloatArray],
    chosen: Sequence[int],
    best: float,
    choose: Choose,
    groups: IntArray | None = None,
    copies: IntArray | None = None,
) -> list[ScenarioChoice]:
    """The choices if missing values were not at their worst, with each of `copies` once, and with `others`: other rankings.

    All values are oriented so that higher is better, and `best` is the best possible one.
    """
    estimates: list[tuple[str, Reason, PairEstimates]] = []
    if missing is not None and missing.needs_scenarios():
        estimates += (
            (words, "missing", differences)
            for words, differences in missing_scenarios(values, weights, missing, chosen, best, groups)
        )
    estimates += (
        (_RANKINGS[reason], reason, pair_estimates(other_values, weights, groups)) for reason, other_values in others.items()
    )
    if copies is not None and groups is None:
        estimates.append((COPIES_ONCE, "few_queries", estimates_without_copies(values, copies)))
    choices = []
    for words, reason, differences in estimates:
        risks, selection = choose(differences)
        choices.append(ScenarioChoice(words, reason, risks, selection.systems))
    return choices


def estimates_without_copies(values: FloatArray, copies: IntArray) -> PairEstimates:
    """The differences of systems if each query counts once, with the mean value of its copies."""
    return pair_estimates(group_means(values, None, copies)[0])


def missing_scenarios(
    values: FloatArray,
    weights: FloatArray | None,
    missing: MissingValues,
    chosen: Sequence[int],
    best: float,
    groups: IntArray | None = None,
) -> Iterator[tuple[str, PairEstimates]]:
    """The differences of systems without what they left out, and with unknown values at their best."""
    partly = missing.partly
    if missing.left_out_shares.any():
        words = WITHOUT_LACKING if missing.skips else WITHOUT_ABSTENTIONS
        others = values if partly is None else values + partly.without_abstained
        yield words, estimates_of_pairs(others, ~missing.left_out, weights, groups)
    if missing.unknown_shares.any():
        at_best = np.where(missing.unknown, best, values if partly is None else values + partly.unknown_at_best)
        yield OTHERS_AT_BEST, pair_estimates(_with_columns(at_best, values, chosen), weights, groups)
        yield ALL_AT_BEST, pair_estimates(at_best, weights, groups)


def _with_columns(values: FloatArray, other: FloatArray, columns: Sequence[int]) -> FloatArray:
    """The values with these columns of the other ones."""
    values = values.copy()
    values[:, list(columns)] = other[:, list(columns)]
    return values


def disagreement(choice: ScenarioChoice, chosen: Sequence[int], missing: MissingValues | None, names: Sequence[str]) -> str:
    """Why nothing is decided: the choice in this scenario is another one."""
    here, there = (", ".join(for_message(names[at]) for at in systems) or "open" for systems in (chosen, choice.systems))
    if choice.reason != "missing" or missing is None:
        return f"{choice.words} the choice is {there}, not {here}"
    return scenario_text(choice.words, missing, names, f"the choice is {here}", there)


def scenario_text(words: str, missing: MissingValues, names: Sequence[str], here: str, there: str) -> str:
    """What a system lacks, what follows with missing values at their worst, and what in a scenario."""
    shares = missing.unknown_shares if words in (OTHERS_AT_BEST, ALL_AT_BEST) else missing.left_out_shares
    most = int(shares.argmax())
    share, name = percent(float(shares[most])), for_message(names[most])
    of_what = "questions" if missing.partly is None else "answers"
    if words == WITHOUT_LACKING:
        return f"{name} lacks {share} of the queries; with these at their worst {here}, without them {there}"
    if words == WITHOUT_ABSTENTIONS:
        return f"{name} abstained on {share} of the {of_what}; with abstentions as wrong {here}, without them {there}"
    return f"the judge gave {name} no value for {share} of the {of_what}; with these at their worst {here}, {words} {there}"


def without_worst_value(measure: Measure, missing: MissingValues | None, names: Sequence[str]) -> str:
    """That a system lacks too many values of a measure without a worst or best value, such as a time; empty if none does."""
    if missing is None or not len(missing.unknown) or (worst_value(measure) is not None and best_value(measure) is not None):
        return ""
    lacking = missing.every.mean(axis=0)
    most = int(lacking.argmax())
    if lacking[most] <= MAX_MISSING:
        return ""
    what = f"{for_message(names[most])} has no {measure} for {percent(float(lacking[most]))} of the questions"
    return f"{what}, and {measure} has no worst value"


def largest_risks(every: Sequence[Risks]) -> Risks:
    """The first risks, with the risk, limit and rival of each system from where its risk is largest compared with its limit."""
    # Limits differ from pair to pair and between scenarios, so the largest risk alone would not be the one that decides.
    shares = np.array([risks.risk / risks.limit for risks in every])
    at = shares.argmax(axis=0).tolist()
    systems = range(len(at))
    return replace(
        every[0],
        risk=np.array([every[at[system]].risk[system] for system in systems]),
        limit=np.array([every[at[system]].limit[system] for system in systems]),
        rival=tuple(every[at[system]].rival[system] for system in systems),
    )


def doubt_table(decision: Decision) -> Table | None:
    """The shares of the variance by source, the scenarios and an unjudged rival; None where only queries are a source.

    Sentences say what an hour of work is, which work removes most, and what more repeats remove, which need no work of people.
    """
    rows = (*_variance_rows(decision), *_scenario_rows(decision))
    rival = decision.unjudged_rival
    unjudged = () if rival is None else (f"{unjudged_text(rival, decision.limit)}.",)
    if len(rows) < 2 and not unjudged and not decision.labelled:
        return None
    columns = (
        Column("source"),
        Column("share of variance", "share", "of the difference between the first system and its rival"),
        Column("one hour removes", "share", "of the variance"),
        Column("chosen there"),
        Column("risk", "risk"),
    )
    return Table(DOUBT, "Where the doubt comes from", columns, rows, (*unjudged, *_work_sentences(decision, rows)))


def _work_sentences(decision: Decision, rows: Sequence[tuple[CellValue, ...]]) -> Iterator[str]:
    removed = {str(source): float(share) for source, _, share, *_ in rows if isinstance(share, float)}
    queries = f"{60 // QUERY_MINUTES} further queries, at {QUERY_MINUTES} minutes each"
    labels = f"{60 // LABEL_MINUTES} further labelled questions, at {LABEL_MINUTES} minutes each"
    works = [labels] * (_LABELLED in removed) + [queries] * ({*removed} != {_LABELLED})
    yield f"One hour of work is {', or '.join(works)}."
    if len(removed) > 1:
        most = max(removed, key=removed.__getitem__)
        yield f"More {'labels remove' if most == _LABELLED else 'queries without labels remove'} most per hour."
    repeats = decision.repeats
    if repeats is not None and repeats.repeat_share is not None and repeats.repeats is not None:
        share = percent(repeats.repeat_share / (repeats.repeats + 1))
        yield f"Asking every question once more removes {share}, without work of people."


def _variance_rows(decision: Decision) -> Iterator[tuple[CellValue, ...]]:
    repeats = decision.repeats
    questions = 1.0 if repeats is None or repeats.question_share is None else repeats.question_share
    if decision.labelled:
        share = 1.0 if decision.check is None or decision.check.label_share is None else decision.check.label_share
        yield _LABELLED, share * questions, share * _removed(decision.labelled, 60 // LABEL_MINUTES), None, None
        if share < 1:
            removed = (1 - share) * _removed(decision.queries - decision.labelled, 60 // QUERY_MINUTES)
            yield "judge's values of the other questions", (1 - share) * questions, removed, None, None
    else:
        yield "queries", questions, _removed(decision.n, 60 // QUERY_MINUTES), None, None
    if repeats is not None and repeats.repeat_share is not None:
        yield "repeats", repeats.repeat_share, None, None, None
        if repeats.judge_share is not None:
            yield "judge, part of the repeats", repeats.judge_share, None, None, None


def _removed(size: int, more: int) -> float:
    """The share of the variance of a mean that more of its questions remove."""
    return more / (size + more)


def _scenario_rows(decision: Decision) -> Iterator[tuple[CellValue, ...]]:
    for scenario in decision.scenarios:
        yield scenario.name, None, None, ", ".join(scenario.systems) or "open", scenario.risk


def missing_sentences(measure: Measure, missing: Sequence[MissingCount], n: int) -> Iterator[str]:
    """How many values of a system are missing, and as what they count."""
    worst = worst_value(measure)
    counts = "are left out" if worst is None else f"count as {worst:g}"
    if missing and measure.kind != "answer":
        first, *more = (f"{for_message(count.system)} lacks {count.no_answer:,}" for count in missing)
        lacking = in_a_sentence([first, *(text.replace(" lacks", "") for text in more)])
        yield f"{lacking} of {n:,} queries; they {counts}."
        return
    for count in missing[:_SHOWN_SYSTEMS]:
        name, of = for_message(count.system), f"of {n:,} questions; they {counts}."
        if count.no_answer:
            yield f"{name} did not answer {count.no_answer:,} {of}"
        if count.abstained:
            yield f"{name} abstained on {count.abstained:,} {of}"
        if count.unknown:
            yield f"The judge gave {name} no value for {count.unknown:,} {of}"


def next_judgements(audit_command: str) -> str:
    """What to do about a rival that may not have been judged."""
    return f"Next: {audit_command}, or --judgements complete if nothing relevant is missing."


def unjudged_text(finding: UnjudgedRival, limit: float | None) -> str:
    """Why a rival may not have been judged."""
    state, own, other = "judged" if finding.has_zeros else "known to be relevant", finding.chosen, finding.other
    name, rival = for_message(own.system), for_message(other.system)
    if finding.needed is None:
        all_known = f"Every document that is known to be relevant is in the top {finding.depth} of {name}"
        return f"{rival} may not have been judged. {all_known}; perhaps only its documents were judged"
    only = f"Of the documents that only {name} shows in its top {finding.depth}, {own.known:,} of {own.shown:,} are {state}"
    known = f"of those of {rival} {other.known:,} of {other.shown:,}"
    if finding.pool_depth is not None:
        only = f"Perhaps only the top {finding.pool_depth} of {name} was"
        known = f"of the other documents in the top {finding.depth} of {rival} {other.known:,} of {other.shown:,} are {state}"
    share = f"{100 * finding.needed:.0f}% of the unjudged ones"
    risky = f"the risk of {name} is above {limit_text(limit)}"
    relevant = "are relevant" if finding.grade is None else f"have grade {finding.grade}"
    if_relevant = f"If {share} {relevant}, {risky if finding.claim == 'safe' else f'{name} is not shown to be better'}"
    return f"{rival} may not have been judged. {only}; {known}. {if_relevant}"
