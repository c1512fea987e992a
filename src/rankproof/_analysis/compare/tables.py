"""Records, tables, sentences and notes of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from string import ascii_lowercase
from typing import Any

from rankproof._analysis.compare.joined_values import JoinedValues
from rankproof._analysis.compare.pairs import ObservedDifference, PairComparison, Verdict, swapped
from rankproof._analysis.compare.significance import TESTS
from rankproof._analysis.decision.record import Decision
from rankproof._analysis.options import CompareOptions
from rankproof._analysis.values import format_points
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import MinorNote, format_p, pluralise
from rankproof._statistics.intervals import MIN_DIFFERENT, SMALL_SAMPLE, Interval
from rankproof._statistics.paired import POWER
from rankproof._statistics.permutation import smallest_p, why_not_significant
from rankproof.errors import for_message
from rankproof.measures._base import Measure

CORRECTED = "corrected"
"""The column of means by labels of people and a judge."""
_TOO_MANY = 1_000_000_000


def verdict_sentence(pair: PairComparison, options: CompareOptions) -> str:
    """The verdict on the pair, with its numbers."""
    observed = pair.observed
    system, other, n = for_message(observed.one), for_message(observed.other), observed.differences.n
    if pair.verdict == "same":
        return f"{system} and {other} have the same {observed.measure} on every query (n = {n:,})."
    numbers = f"{_interval(observed, options)}, {_p(pair.p, options)}, n = {n:,}"
    result = f"{observed.measure}: {_signed(observed)}"
    if pair.verdict == "equivalent":
        margin = format_points(options.equivalence or 0.0, observed.measure)
        both = f"two one-sided tests {_p(pair.equivalence_p or 0.0, options)}"
        small = "; the difference is significant, but within the margin" if pair.p <= options.alpha else ""
        return f"{system} and {other} are equivalent within {margin} in {result} ({numbers}; {both}){small}."
    if pair.verdict == "not significant":
        return f"No significant difference between {system} and {other} in {result} ({numbers}){_power_clauses(pair)}."
    return f"{system} is {pair.verdict} than {other} in {result} ({numbers})."


def _signed(observed: ObservedDifference) -> str:
    sign = "+" if observed.differences.mean > 0 else ""
    return sign + format_points(observed.differences.mean, observed.measure)


def _interval(observed: ObservedDifference, options: CompareOptions) -> str:
    if observed.interval is None:
        wins, losses = observed.differences.wins, observed.differences.losses
        few = f"only {pluralise(wins + losses, 'query differs', 'queries differ')}"
        return f"no interval because {few if wins + losses < MIN_DIFFERENT else 'every query differs by the same amount'}"
    low, high = (format_points(end, observed.measure).removesuffix(" pp") for end in observed.interval)
    return f"{options.percent} CI [{low}, {high}]"


def _p(p: float, options: CompareOptions) -> str:
    return format_p(p) if options.correction_name is None else f"{format_p(p)} after {options.correction_name}"


def _power_clauses(pair: PairComparison) -> str:
    """The difference with 80% power, and the queries needed for 80% power at the observed difference."""
    n, parts = pair.observed.differences.n, []
    if pair.detectable is None:
        parts.append("too few queries for any difference to be significant")
    elif pair.detectable:
        parts.append(f"{POWER:.0%} power for {format_points(pair.detectable, pair.observed.measure)}")
    if pair.needed is None:
        parts.append("the observed difference is 0")
    elif pair.needed > n:
        queries = f"{pair.needed:,}" if pair.needed < _TOO_MANY else f"more than {_TOO_MANY:,}"
        parts.append(f"{queries} queries needed for {POWER:.0%} power at the observed difference")
    return "".join(f"; {part}" for part in parts)


Facts = Mapping[str, Any]
SAME_AS = "same as"
_VERDICT_ORDER: tuple[Verdict, ...] = ("better", "worse", "equivalent", "same", "not significant")


def verdict_table(
    measure: Measure, baseline: str | None, pairs: Sequence[PairComparison], options: CompareOptions, facts: Facts
) -> Table:
    """The verdicts under one measure, significant and large differences first, with a sentence for each row."""
    rows = sorted(pairs, key=lambda pair: (_VERDICT_ORDER.index(pair.verdict), -abs(pair.observed.differences.mean)))
    columns = (
        Column("pair" if baseline is None else "system", about="first and second system, or the system against the baseline"),
        Column("difference", "difference", "mean of the first system minus mean of the second"),
        Column("p", "p", f"two-sided, {options.about_p}"),
        Column("p adjusted", "p", "corrected for all pairs of the measure"),
        Column("verdict", about="on the first system"),
        Column(
            f"{options.percent} CI",
            "interval",
            f"of the difference, {options.about_interval}; empty if few queries differ, or all by the same amount",
        ),
    )
    cells = tuple(
        (_name(row, baseline), row.observed.differences.mean, row.observed.p, row.p, row.verdict, row.observed.interval)
        for row in rows
    )
    against = "" if baseline is None else f" to {for_message(baseline)}"
    title = f"{measure}: which differences{against} are significant (n = {pluralise(facts['n'], 'query', 'queries')})"
    return Table("verdicts", title, columns, cells, tuple(verdict_sentence(row, options) for row in rows), facts=dict(facts))


def _name(pair: PairComparison, baseline: str | None) -> str:
    return pair.observed.one if baseline is not None else f"{pair.observed.one} vs {pair.observed.other}"


def details_table(
    pairs: Sequence[PairComparison], primary: Measure, options: CompareOptions, notes: Sequence[str], facts: Facts
) -> Table:
    """All numbers of every pair under every measure."""
    rows = tuple((*_details_row(pair), pair.observed.measure != primary) for pair in pairs)
    title = f"All numbers of every pair (n = {pluralise(facts['n'], 'query', 'queries')})"
    return Table("details", title, _details(options.percent), rows, (), tuple(notes), dict(facts))


def _details(percent: str) -> tuple[Column, ...]:
    return (
        Column("measure"),
        Column("system"),
        Column("other"),
        Column("value", "value", "mean of the system"),
        Column("other value", "value", "mean of the other system"),
        Column("difference", "difference", "mean of the system minus mean of the other"),
        Column(f"{percent} CI", "interval", "of the difference, for this pair alone; of Tukey's test, for all pairs together"),
        Column("p randomisation", "p", "sign-flip randomisation test, two-sided, not corrected"),
        Column("p t-test", "p", "paired t-test, two-sided, not corrected; empty if the difference is the same for every query"),
        Column("p", "p", "of the chosen test, not corrected; of Tukey's and Nemenyi's test, for all pairs"),
        Column("p adjusted", "p", "corrected for all pairs of the measure"),
        Column("p equivalence", "p", "two one-sided t-tests with the margin, corrected"),
        Column("d", "number", "Cohen's d_z: mean difference divided by its standard deviation"),
        Column("g", "number", "Hedges' g: d_z without its bias for few queries"),
        Column("wins", "count", "queries on which the system's value is higher"),
        Column("ties", "count"),
        Column("losses", "count"),
        Column("detectable", "value", "smallest detectable difference: 80% power at this n, spread and number of tests"),
        Column("needed", "count", "queries needed for 80% power at the observed difference"),
        Column("n", "count", "queries"),
        Column("verdict"),
        Column("exploratory", "flag", "whether the measure is exploratory, not primary"),
    )


def _details_row(pair: PairComparison) -> tuple[CellValue, ...]:
    observed, paired = pair.observed, pair.observed.differences
    return (
        *(str(observed.measure), observed.one, observed.other, observed.value, observed.other_value),
        *(paired.mean, observed.interval, observed.randomisation_p, observed.t_p, observed.p, pair.p, pair.equivalence_p),
        *(paired.effect, paired.unbiased_effect, paired.wins, paired.ties, paired.losses),
        *(pair.detectable, pair.needed, paired.n, pair.verdict),
    )


def comparison_facts(joined: JoinedValues, options: CompareOptions, tests: int) -> dict[str, Any]:
    """The facts of every table: n, test, correction, interval and seed."""
    n = len(joined.queries)
    return {
        "n": n,
        "tests": tests,
        "test": options.test,
        "exact": options.test == "randomisation" and options.is_exact(n),
        "samples": options.samples,
        "correction": options.correction,
        "alpha": options.alpha,
        "interval": options.interval,
        "resamples": options.resamples,
        "equivalence": options.equivalence,
        "power": POWER,
        "seed": options.seed,
    }


@dataclass(frozen=True, slots=True)
class PairRecord:
    """Two systems under one measure: `difference` is the mean of `system` minus the mean of `other`.

    `ci` is None where there is no interval. `p` is not corrected, `p_adjusted` is corrected for all pairs of the measure.
    `detectable` is the difference with 80% power, `needed` the queries for 80% power at the observed difference. `exploratory`
    marks a measure other than the primary one. `effect` is Cohen's d_z and `unbiased_effect` Hedges' g.
    """

    measure: str
    system: str
    other: str
    value: float
    other_value: float
    difference: float
    ci: Interval | None
    p: float
    p_adjusted: float
    p_equivalence: float | None
    verdict: Verdict
    effect: float | None
    unbiased_effect: float | None
    wins: int
    ties: int
    losses: int
    detectable: float | None
    needed: int | None
    n: int
    exploratory: bool

    def swapped(self) -> PairRecord:
        """The same pair from the side of the other system."""
        return replace(
            self,
            system=self.other,
            other=self.system,
            value=self.other_value,
            other_value=self.value,
            difference=0.0 - self.difference,
            ci=None if self.ci is None else (0.0 - self.ci[1], 0.0 - self.ci[0]),
            verdict=swapped(self.verdict),
            effect=None if self.effect is None else 0.0 - self.effect,
            unbiased_effect=None if self.unbiased_effect is None else 0.0 - self.unbiased_effect,
            wins=self.losses,
            losses=self.wins,
        )

    def to_dict(self) -> dict[str, Any]:
        """The pair as JSON."""
        return asdict(self)


def pair_record(pair: PairComparison, primary: str) -> PairRecord:
    """The pair as a record; `primary` is the measure that decides."""
    observed, paired = pair.observed, pair.observed.differences
    return PairRecord(
        measure=str(observed.measure),
        system=observed.one,
        other=observed.other,
        value=observed.value,
        other_value=observed.other_value,
        difference=paired.mean,
        ci=observed.interval,
        p=observed.p,
        p_adjusted=pair.p,
        p_equivalence=pair.equivalence_p,
        verdict=pair.verdict,
        effect=paired.effect,
        unbiased_effect=paired.unbiased_effect,
        wins=paired.wins,
        ties=paired.ties,
        losses=paired.losses,
        detectable=pair.detectable,
        needed=pair.needed,
        n=paired.n,
        exploratory=str(observed.measure) != primary,
    )


def against_baseline(pairs: Sequence[PairRecord], baseline: str | None, measure: str) -> dict[str, PairRecord]:
    """Each system but the baseline, compared with it by one measure."""
    sided = (pair if pair.other == baseline else pair.swapped() for pair in pairs if baseline in (pair.system, pair.other))
    return {pair.system: pair for pair in sided if pair.measure == measure}


def systems_table(
    decision: Decision,
    baseline: str | None,
    pairs: Sequence[PairRecord],
    values: Mapping[str, Mapping[str, float]],
    options: CompareOptions,
) -> Table:
    """A row for each system: its value, the difference from the baseline with interval and p, its cost, and its risk."""
    primary = str(decision.measure)
    against = against_baseline(pairs, baseline, primary)
    others = [name for name in next(iter(values.values()), {}) if name != primary]
    corrected = decision.is_corrected
    costs = {"ms": "ms p50", "money": "money per query", "tokens": "tokens per query", "given": "cost"}
    columns = (
        Column("system"),
        Column(primary, "value", "mean of the primary measure"),
        *((Column(CORRECTED, "value", "mean by people's labels and the judge"),) if corrected else ()),
        Column("difference", "difference", f"mean minus the mean of the baseline ({baseline})"),
        Column(f"{options.percent} CI", "interval", f"of the difference, {options.about_interval}"),
        Column("p", "p", f"p-value of the difference ({TESTS[options.test].short}), {options.about_p}"),
        Column("p adjusted", "p", f"{options.correction_name or 'no correction'}, for all tests of the primary measure"),
        Column("verdict", about="result of the comparison with the baseline"),
        Column(costs[decision.cost_unit] if decision.cost_unit else "cost", "number", _about_cost(decision)),
        Column("risk", "risk", "probability that the true mean is more than the margin below the best"),
        Column(SAME_AS, about="system with the same rankings or answers, which stands for this one in the decision"),
        *(Column(name, "value", "mean of an exploratory measure") for name in others),
    )
    rows: list[tuple[CellValue, ...]] = []
    for system in decision.by_system:
        pair = against.get(system.name)
        means = (values[system.name][primary], system.value) if corrected else (system.value,)
        row = (system.name, *means, *_tested_cells(pair, decision), system.cost, system.risk, system.same_as)
        rows.append((*row, *(values[system.name][name] for name in others)))
    title = f"{primary} of each system (n = {pluralise(decision.n, 'query', 'queries')})"
    marked = frozenset(at for at, system in enumerate(decision.by_system) if system.name in decision.marked)
    table = Table("systems", title, columns, tuple(rows), decision.sentences, highlighted=marked, verdict_first=True)
    table = table if len(decision.distinct) < len(decision.by_system) else table.without(SAME_AS)
    return table.without("risk") if decision.is_judge_unchecked else table


def _tested_cells(pair: PairRecord | None, decision: Decision) -> tuple[CellValue, ...]:
    """The difference from the baseline with its test; systems with the same rankings have no p."""
    if pair is None:
        return (None,) * 5
    tests = (None, None) if decision.are_same(pair.system, pair.other) else (pair.p, pair.p_adjusted)
    return pair.difference, pair.ci, *tests, pair.verdict


def _about_cost(decision: Decision) -> str:
    timed = decision.timed_queries
    return f"median milliseconds per query, of {timed}" if timed else ""


def letters_table(
    joined: JoinedValues, pairs_compared: Sequence[PairComparison], how: str, notes: Sequence[str], facts: Facts
) -> Table:
    """The means of each system, each with the letters of the systems that it significantly beats."""
    letters = dict(zip(joined.systems, _letters(len(joined.systems)), strict=True))
    beaten = _significantly_worse(pairs_compared)
    between = "" if len(letters) <= len(ascii_lowercase) else ","
    means = {
        (str(measure), name): measure.summarise(joined.values[place, :, at], joined.weights)
        for place, measure in enumerate(joined.measures)
        for at, name in enumerate(joined.systems)
    }
    columns = [Column("system"), Column("letter")]
    for measure in joined.measures:
        columns += [
            Column(str(measure), "value"),
            Column(f"{measure} beats", "marks", "letters of the systems that this one significantly beats"),
        ]
    rows: list[tuple[CellValue, ...]] = []
    for name in joined.systems:
        cells = [
            (means[measure, name], between.join(letters[other] for other in letters if other in beaten.get((measure, name), ())))
            for measure in map(str, joined.measures)
        ]
        rows.append((name, letters[name], *(item for pair in cells for item in pair)))
    title = f"Means, each followed by the letters of the systems that it significantly beats (n = {facts['n']:,} queries)"
    return Table("letters", title, tuple(columns), tuple(rows), (how,), tuple(notes), dict(facts))


def _significantly_worse(pairs: Sequence[PairComparison]) -> dict[tuple[str, str], set[str]]:
    """Measure and system to the systems that it significantly beats."""
    beaten: dict[tuple[str, str], set[str]] = {}
    for pair in pairs:
        if pair.verdict in ("better", "worse"):
            winner, loser = (
                (pair.observed.one, pair.observed.other) if pair.verdict == "better" else (pair.observed.other, pair.observed.one)
            )
            beaten.setdefault((str(pair.observed.measure), winner), set()).add(loser)
    return beaten


def _letters(count: int) -> list[str]:
    """a to z, then aa, ab and so on."""
    letters, size = list(ascii_lowercase), 2
    while len(letters) < count:
        letters += ["".join(parts) for parts in product(ascii_lowercase, repeat=size)]
        size += 1
    return letters[:count]


def power_notes(pairs: Sequence[PairComparison], n: int, options: CompareOptions) -> Iterator[str]:
    """What these options and this number of queries cannot show."""
    tests = max(Counter(pair.observed.measure for pair in pairs).values())
    flat = sum(pair.observed.t_p is None for pair in pairs)
    if options.test in ("randomisation", "wilcoxon", "sign") or flat:
        least = smallest_p(n, options.samples) if options.test in ("randomisation", "t") else 2.0 ** (1 - n)
        reason = why_not_significant(least, options.level(tests, tests), n)
        if reason is not None:
            yield reason
    if flat:
        flips = "; p is from the sign-flip test" if options.test in ("randomisation", "t") else ""
        yield (
            f"every query differs by the same amount ({pluralise(flat, 'test')}): no interval, no t-test and no equivalence test"
            f"{flips}"
        )
    against = sum(pair.observed.contradicts and pair.p <= options.alpha for pair in pairs)
    if against:
        yield (
            f"the {TESTS[options.test].short} and the mean disagree on which system is better"
            f" ({pluralise(against, 'significant test')}): no verdict"
        )
    if n < SMALL_SAMPLE:
        yield f"n = {n} queries is a small sample: intervals are approximate"
    if any(pair.verdict == "not significant" and _excludes_zero(pair.observed.interval) for pair in pairs):
        is_corrected = tests > 1 and options.correction_name is not None
        why = "p is corrected for all pairs of its measure" if is_corrected else "p is from a different method"
        yield MinorNote(f"an interval is for its pair alone and {why}, so an interval without 0 can come with 'not significant'")


def _excludes_zero(interval: Interval | None) -> bool:
    return interval is not None and not interval[0] <= 0 <= interval[1]
