"""The decision from preferences between answers: strengths, the bias of the place, agreement of orders and of judges.

The chance that the first of two answers is preferred is the logistic function of the difference of their strengths plus the bias
(Bradley and Terry 1952; Davidson and Beaver 1977). A tie is half a win for each. Comparisons of one question are dependent, so
the question is the unit: each has a row of values whose mean is the estimate and whose variance is that of the sandwich.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rankproof._analysis.compare.value_judge import without_risks
from rankproof._analysis.decision.decide import DecisionData, decide
from rankproof._analysis.decision.judge_sentences import by_unchecked_judge
from rankproof._analysis.decision.record import Costs, Decision
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.qrels import is_unknown_judge, judge_label
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import in_a_sentence, pluralise, unnumbered_words
from rankproof._data.view import View, ViewedTables
from rankproof._formats.preferences import TIE, Preference
from rankproof._results.decision_settings import LabelsBy
from rankproof._statistics.agreement import RatedItem, kappa
from rankproof._statistics.decision_rule import MarginLike, parse_margin
from rankproof._statistics.distributions import student_quantile
from rankproof._statistics.intervals import Interval, enough_differ, mean_interval
from rankproof.errors import UsageError, for_message
from rankproof.measures._answers import AnswerCase, AnswerMeasure

_SERIOUS_BIAS = 0.05
_RIDGE = 0.02
"""A system that always wins has a finite strength, as if it had lost a small part of a comparison."""
_STEPS, _ACCURACY = 100, 1e-10
_RANK_TOLERANCE = 1e-8


class PreferredShare(AnswerMeasure):
    """The chance that an answer of a system is preferred to that of another system."""

    name = "Preferred"
    title = "Chance of being preferred"
    definition = "The chance that an answer of the system is preferred to that of another system, by a Bradley-Terry model."
    source = "Bradley and Terry 1952; Davidson and Beaver 1977"
    with_reference: ClassVar[bool] = False

    def value(self, case: AnswerCase) -> float | None:
        return None


PREFERRED = PreferredShare()


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class PreferenceResult(ViewedTables):
    """What preferences say: the decision, and tables on systems, places and judges.

    `sentences` are the decision in words. Preferences of people decide; those of machines alone name a leader.
    """

    decision: Decision
    sentences: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The decision and the tables as JSON."""
        rows = {table.name: [list(row) for row in table.rows] for table in self.tables}
        made = self.decision
        systems = [{"system": risk.name, "preferred": risk.value, "risk": risk.risk} for risk in made.by_system]
        decided = {"decided": made.decided, "outcome": made.outcome, "reason": made.reason, "systems": list(made.systems)}
        decision = {**decided, "n": made.n, "by_system": systems, "sentences": list(self.sentences)}
        return {"decision": decision, "tables": rows, "notes": list(self.notes)}

    def _view(self) -> View:
        systems = len(self.decision.by_system)
        title = f"Preferences between {pluralise(systems, 'system')}, {pluralise(self.decision.n, 'question')}"
        return View(title, self.tables, self.sentences, self.notes)


def analyse_preferences(
    preferences: Sequence[Preference],
    *,
    margin: MarginLike | None = None,
    costs: Mapping[str, float] | None = None,
    labels_by: LabelsBy | None = None,
    notes: Sequence[str] = (),
) -> PreferenceResult:
    """The decision by the preferences of people, or without any the leader by those of machines.

    A name that says neither people nor machine, or no name, counts as a machine's unless `labels_by` is "people".
    """
    people = [made for made in preferences if not made.is_machine or (labels_by == "people" and not made.is_known_machine)]
    deciding = people or list(preferences)
    systems = _systems(deciding)
    comparisons, questions = _comparisons(deciding, systems)
    if not comparisons.is_connected:
        what = "no preference, even by way of others, connects all systems"
        raise UsageError(what, fix="compare every system with another one that is compared")
    fitted = fit_strengths(comparisons)
    decision = _decision(systems, fitted, margin, costs or {})
    decision = replace(decision, n=len(questions), queries=len(questions))
    is_confounded = not comparisons.separates_places
    if is_confounded:
        decision = replace(without_risks(decision), outcome="not_decided", kind=None, systems=(), reason="places")
    sentences = decision.sentences
    if is_confounded:
        sentences = (_CONFOUNDED, f"Next: show half of the pairs the other way round. {_leader(decision)}")
    elif not people:
        unknown = sorted({_name(made) for made in deciding if not made.who or is_unknown_judge(judge_label(made.who))})
        names = in_a_sentence(sorted(set(map(_name, deciding))))
        decision = replace(without_risks(decision), outcome="judge_leads", kind=None, systems=(), reason="judge_not_checked")
        decision = replace(decision, judge=names)
        sentences = (
            f"{by_unchecked_judge(names)}, {_leader(decision)} Whether people agree is not known.",
            *_unknown(unknown),
            _CHECK,
        )
    tables = (
        _system_table(systems, fitted, deciding),
        _place_table(preferences),
        *_agreement_tables(preferences, people),
    )
    repeated = _repeated(deciding, questions)
    more = (*notes, *repeated, *_bias_note(fitted, comparisons), *(_ignored(preferences, people) if people else ()))
    return PreferenceResult(decision, tuple(sentences), tuple(table for table in tables if table.rows), more)


_CONFOUNDED = (
    "Not decided: in each pair one system was always shown first, so that its strength cannot be told from the bias of its place."
)
_CHECK = "Next: rankproof serve RESULTS --edit: people prefer the same answers blind (Prefer blind), at least 30 questions."


def _name(made: Preference) -> str:
    return made.who or "somebody without a name"


def _unknown(names: Sequence[str]) -> Iterator[str]:
    if names:
        who = in_a_sentence(list(map(for_message, names)))
        yield f"Whether {who} {'is a machine' if len(names) == 1 else 'are machines'} is not known: --labels-by people if not."


def _leader(decision: Decision) -> str:
    leader = decision.of(str(decision.leader))
    chance = f"preferred to another system with a chance of {leader.value:.3f}"
    return f"{for_message(leader.name)} leads: {chance}, {pluralise(decision.n, 'question')}."


def _systems(preferences: Sequence[Preference]) -> tuple[str, ...]:
    return tuple(sorted({name for made in preferences for name in (made.a, made.b)}))


def _comparisons(preferences: Sequence[Preference], systems: Sequence[str]) -> tuple[Comparisons, list[str]]:
    """The preferences as arrays, the system that was shown first before the other."""
    at = {name: place for place, name in enumerate(systems)}
    questions = sorted({unnumbered_words(made.query) for made in preferences})
    places = {query: place for place, query in enumerate(questions)}
    shown = [(made.b, made.a) if made.first == made.b else (made.a, made.b) for made in preferences]
    won = [
        0.5 if made.preferred == TIE else float(made.preferred == first)
        for made, (first, _) in zip(preferences, shown, strict=True)
    ]
    first, second = (np.array([at[pair[place]] for pair in shown]) for place in (0, 1))
    question = np.array([places[unnumbered_words(made.query)] for made in preferences])
    ordered = np.array([bool(made.first) for made in preferences])
    return Comparisons(first, second, np.array(won), question, ordered, len(systems)), questions


def _decision(systems: tuple[str, ...], fitted: Strengths, margin: MarginLike | None, costs: Mapping[str, float]) -> Decision:
    """The decision of every measure, on the values of questions."""

    def interval(apart: Any) -> Interval | None:
        return mean_interval(apart) if enough_differ(apart, None) else None

    given = {name: float(cost) for name, cost in costs.items() if name in systems}
    data = DecisionData(PREFERRED, systems, fitted.values, costs=Costs("given", given) if given else Costs())
    amount = None if margin is None else parse_margin(margin, is_fraction=True)
    return decide(data, margin=amount, interval=interval)


def _system_table(systems: Sequence[str], fitted: Strengths, preferences: Sequence[Preference]) -> Table:
    """A row for each system, the one that is preferred most first."""
    rows: list[tuple[CellValue, ...]] = []
    for at, name in enumerate(systems):
        own = [made for made in preferences if name in (made.a, made.b)]
        counts = Counter("tie" if made.preferred == TIE else "won" if made.preferred == name else "lost" for made in own)
        values = fitted.values[:, at]
        interval = mean_interval(values, within=(0.0, 1.0))
        strength = float(fitted.strengths[at])
        rows.append((name, float(values.mean()), interval, strength, counts["won"], counts["tie"], counts["lost"]))
    columns = (
        *(Column("system"), Column("preferred", "value", "chance that its answer is preferred to that of another system")),
        Column("95% CI", "interval", "questions are the sample"),
        Column("strength", "number", "of the Bradley-Terry model: log odds, 0 on average"),
        *(Column("won", "count"), Column("ties", "count"), Column("lost", "count")),
    )
    rows.sort(key=lambda row: -float(row[1]))  # type: ignore[arg-type]
    return Table("preferred", "Preferred answers", columns, tuple(rows))


def _place_table(preferences: Sequence[Preference]) -> Table:
    """How often each judge prefers the answer that is shown first, and how often both orders agree."""
    rows = []
    for who in sorted({made.who for made in preferences}):
        own = [made for made in preferences if made.who == who]
        shown = [made for made in own if made.first]
        clear = [made for made in shown if made.preferred != TIE]
        both = list(_both_orders(own))
        first = sum(made.preferred == made.first for made in clear) / len(clear) if clear else None
        same = sum(one == other for one, other in both) / len(both) if both else None
        rows.append((who or "(no name)", len(own), first, len(both), same))
    columns = (
        *(Column("judge"), Column("preferences", "count")),
        Column("first preferred", "share", "of the preferences that are no tie and whose order is known"),
        *(Column("both orders", "count", "pairs of answers shown both ways"), Column("same", "share", "of these")),
    )
    return Table("places", "Places and orders", columns, tuple(rows))


def _both_orders(preferences: Sequence[Preference]) -> Iterator[tuple[str, str]]:
    """What a judge prefers of the same two answers in each order."""
    by_order: dict[tuple[tuple[str, str, str], str], str] = {(made.answers, made.first): made.preferred for made in preferences}
    for (answers, first), preferred in by_order.items():
        _, a, b = answers
        if first == a and (answers, b) in by_order:
            yield preferred, by_order[answers, b]


def _agreement_tables(preferences: Sequence[Preference], people: Sequence[Preference]) -> Iterator[Table]:
    """How far each machine agrees with people, by the answers that both compared."""
    by_people = _verdicts(people)
    rows: list[tuple[CellValue, ...]] = []
    deciding = frozenset(people)
    for who in sorted({made.who for made in preferences if made not in deciding}):
        own = _verdicts([made for made in preferences if made.who == who])
        shared = [answers for answers in own if answers in by_people]
        if not shared:
            continue
        items = [RatedItem(answers[0], _category(by_people[answers]), _category(own[answers])) for answers in shared]
        same = sum(item.first == item.second for item in items) / len(items)
        measured = kappa(items)
        rows.append((who, len(shared), same, measured.value, measured.interval))
    columns = (Column("judge"), Column("pairs", "count", "of answers that people compared too"), Column("same", "share"))
    more = (Column("kappa", "value"), Column("95% CI", "interval", "questions are the sample"))
    if rows:
        yield Table("agreement", "Agreement with people", (*columns, *more), tuple(rows))


def _verdicts(preferences: Sequence[Preference]) -> dict[tuple[str, str, str], float]:
    """The mean verdict on each two answers: 1 for the first name, 0 for the second, 0.5 for a tie."""
    every: dict[tuple[str, str, str], list[float]] = {}
    for made in preferences:
        won = 0.5 if made.preferred == TIE else float(made.preferred == made.answers[1])
        every.setdefault(made.answers, []).append(won)
    return {answers: sum(values) / len(values) for answers, values in every.items()}


def _category(verdict: float) -> int:
    """0, 1 or 2: the second name, neither, the first name."""
    return 0 if verdict < 0.5 else 2 if verdict > 0.5 else 1


def _bias_note(fitted: Strengths, comparisons: Comparisons) -> Iterator[str]:
    if fitted.bias is None:
        if not comparisons.ordered.any():
            yield "which answer was shown first is not known: a bias of the place cannot be corrected"
        return
    share, low, high = fitted.bias
    wide = " It is large: show every pair in both orders." if abs(share - 0.5) > _SERIOUS_BIAS and not low <= 0.5 <= high else ""
    shown = f"{share:.1%} (95% CI {low:.1%} to {high:.1%})"
    yield f"the first of two equal answers is preferred in {shown}; values are corrected.{wide}"


def _repeated(preferences: Sequence[Preference], questions: Sequence[str]) -> Iterator[str]:
    """That questions which differ by a number before or after them count once."""
    asked = len({made.query for made in preferences})
    if asked > len(questions):
        different = pluralise(len(questions), "different question")
        yield f"the {asked:,} questions are {different}: copies with other numbers count once"


def _ignored(preferences: Sequence[Preference], people: Sequence[Preference]) -> Iterator[str]:
    machines = len(preferences) - len(people)
    if machines:
        yield f"{pluralise(machines, 'preference')} of machines are compared with people and do not decide"


@dataclass(frozen=True, eq=False, slots=True)
class Comparisons:
    """Preferences as arrays: the systems `first` and `second`, what the first one won (1, 0.5 or 0), and the question of each.

    `ordered` says whether the first system is known to have been shown first.
    """

    first: IntArray
    second: IntArray
    won: FloatArray
    question: IntArray
    ordered: BoolArray
    systems: int

    @property
    def is_connected(self) -> bool:
        """Whether every two systems are compared, if only by way of others."""
        reached, before = {0}, 0
        while len(reached) > before:
            before = len(reached)
            pairs = zip(self.first.tolist(), self.second.tolist(), strict=True)
            reached |= {system for pair in pairs if not reached.isdisjoint(pair) for system in pair}
        return len(reached) == self.systems

    @property
    def separates_places(self) -> bool:
        """Whether strengths and the bias of the place differ: not if one system of each pair was always shown first."""
        design = self._design()
        return bool(np.linalg.matrix_rank(design, tol=_RANK_TOLERANCE) == self.systems) if self.ordered.any() else True

    def _design(self) -> FloatArray:
        """A row for each comparison: 1 and -1 for its systems, then 1 if the order is known."""
        rows = np.zeros((len(self.won), self.systems + 1))
        at = np.arange(len(self.won))
        rows[at, self.first], rows[at, self.second], rows[:, -1] = 1.0, -1.0, self.ordered
        return rows


@dataclass(frozen=True, eq=False, slots=True)
class Strengths:
    """The fitted strengths, and values by question and system whose means are the chances of being preferred.

    `bias` is the chance that the first of two equal answers is preferred, with its 95% interval; None if no order is known.
    """

    strengths: FloatArray
    values: FloatArray
    bias: tuple[float, float, float] | None


def fit_strengths(comparisons: Comparisons) -> Strengths:
    """The strengths by penalised likelihood, with the bias of the place where the orders allow it."""
    design = comparisons._design()
    with_bias = bool(comparisons.ordered.any()) and comparisons.separates_places
    penalty = np.full(design.shape[1], _RIDGE)
    if not with_bias:
        design[:, -1] = 0.0
    coefficients = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = _logistic(design @ coefficients)
        score = design.T @ (comparisons.won - chance) - penalty * coefficients
        information = (design * (chance * (1 - chance))[:, None]).T @ design + np.diag(penalty)
        step = np.linalg.solve(information, score)
        coefficients = coefficients + np.clip(step, -2.0, 2.0)
        if np.abs(step).max() < _ACCURACY:
            break
    residual = comparisons.won - _logistic(design @ coefficients)
    questions = int(comparisons.question.max()) + 1
    scores = np.zeros((questions, design.shape[1]))
    np.add.at(scores, comparisons.question, design * residual[:, None])
    # The penalty is shared by all questions, so that the scores add up to 0 and the means are the estimates.
    pulls = questions * np.linalg.solve(information, (scores - penalty * coefficients / questions).T).T
    chances, gradient = _chances(coefficients[:-1])
    values = chances + pulls[:, :-1] @ gradient.T
    bias = _bias(float(coefficients[-1]), np.asarray(pulls[:, -1], dtype=np.float64)) if with_bias else None
    return Strengths(coefficients[:-1] - coefficients[:-1].mean(), values, bias)


def _logistic(odds: FloatArray) -> FloatArray:
    return np.asarray(0.5 + 0.5 * np.tanh(odds / 2))


def _chances(strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The chance of each system to be preferred to another one, and its derivatives by the strengths."""
    systems = len(strengths)
    pairs = _logistic(strengths[:, None] - strengths)
    slopes = pairs * (1 - pairs)
    np.fill_diagonal(pairs, 0.0)
    np.fill_diagonal(slopes, 0.0)
    gradient = -slopes / (systems - 1)
    np.fill_diagonal(gradient, slopes.sum(axis=1) / (systems - 1))
    return pairs.sum(axis=1) / (systems - 1), gradient


def _bias(coefficient: float, pulls: FloatArray) -> tuple[float, float, float]:
    n = len(pulls)
    error = float(np.sqrt((pulls * pulls).sum() / (n * max(n - 1, 1))))
    reach = student_quantile(0.975, max(n - 1, 1)) * error
    middle, low, high = (
        float(_logistic(np.array([value]))[0]) for value in (coefficient, coefficient - reach, coefficient + reach)
    )
    return middle, low, high
