"""`compare`: verdicts on every pair of systems, significance letters, and every number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from string import ascii_lowercase

from rankproof._analysis.compare.pairs import (
    CompareOptions,
    JoinedValues,
    MeasuresLike,
    PairComparison,
    Test,
    compare_pairs,
    join_systems,
)
from rankproof._analysis.compare.tables import Facts, comparison_facts, details_table, verdict_table
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import pluralise
from rankproof._evaluation.result import Result
from rankproof._results.experiment_result import ExperimentResult
from rankproof._statistics.correction import Correction
from rankproof._statistics.intervals import SMALL_SAMPLE, Interval, IntervalMethod
from rankproof._statistics.permutation import smallest_p, why_not_significant
from rankproof.errors import UsageError, type_phrase


def letters_table(joined: JoinedValues, found: Sequence[PairComparison], how: str, notes: Sequence[str], facts: Facts) -> Table:
    """The means of each system, each with the letters of the systems that it significantly beats."""
    letters = dict(zip(joined.systems, _letters(len(joined.systems)), strict=True))
    beaten = _significantly_worse(found)
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


def _significantly_worse(found: Sequence[PairComparison]) -> dict[tuple[str, str], set[str]]:
    """Measure and system to the systems that it significantly beats."""
    beaten: dict[tuple[str, str], set[str]] = {}
    for one in found:
        if one.verdict in ("better", "worse"):
            winner, loser = (
                (one.observed.one, one.observed.other) if one.verdict == "better" else (one.observed.other, one.observed.one)
            )
            beaten.setdefault((str(one.observed.measure), winner), set()).add(loser)
    return beaten


def _letters(count: int) -> list[str]:
    """a to z, then aa, ab and so on."""
    found, size = list(ascii_lowercase), 2
    while len(found) < count:
        found += ["".join(parts) for parts in product(ascii_lowercase, repeat=size)]
        size += 1
    return found[:count]


def compare(
    result: Result | ExperimentResult,
    *,
    baseline: str | None = None,
    measures: MeasuresLike = None,
    test: Test = "randomisation",
    correction: Correction = "holm",
    interval: IntervalMethod = "t",
    alpha: float = 0.05,
    equivalence: float | None = None,
    samples: int = 100_000,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Table]:
    """Compares every pair of systems, or each system with the baseline, under every measure.

    Returns a table of verdicts per measure, a table of letters for papers, and a table of all numbers. Each measure is a family
    of tests of its own. `equivalence` is the largest difference that does not matter (0.01 is one percentage point); it makes
    "equivalent" a possible verdict.
    """
    options = CompareOptions(
        alpha=alpha,
        samples=samples,
        seed=seed,
        test=test,
        correction=correction,
        interval=interval,
        equivalence=equivalence,
        resamples=resamples,
    )
    joined = join_systems(_checked_result(result), measures)
    found = compare_pairs(joined, baseline, options)
    tests, n = len(found) // len(joined.measures), len(joined.queries)
    facts = comparison_facts(joined, options, tests)
    notes = (*joined.notes, *power_notes(found, n, options))
    shown = [
        verdict_table(measure, baseline, [one for one in found if one.observed.measure == measure], options, facts)
        for measure in joined.measures
    ]
    return [
        *shown,
        letters_table(joined, found, options.describe(n, tests), notes, facts),
        details_table(found, joined.measures[0], notes, facts),
    ]


def _checked_result(result: Result | ExperimentResult) -> Result:
    found = result.result if isinstance(result, ExperimentResult) else result
    if not isinstance(found, Result):
        fix = "pass what rankproof.evaluate, rankproof.run or rankproof.load_results(path) returns"
        raise UsageError(f"the result cannot be {type_phrase(found)}", fix=fix)
    return found


def power_notes(found: Sequence[PairComparison], n: int, options: CompareOptions) -> Iterator[str]:
    """What these options and this number of queries cannot show."""
    tests = max(Counter(one.observed.measure for one in found).values())
    flat = sum(one.observed.t_p is None for one in found)
    if options.test == "randomisation" or flat:
        reason = why_not_significant(smallest_p(n, options.samples), options.level(tests, tests), n)
        if reason is not None:
            yield reason
    if flat:
        yield (
            f"every query differs by the same amount ({pluralise(flat, 'test')}): no interval, no t-test and no equivalence test;"
            " p is from the sign-flip test"
        )
    if n < SMALL_SAMPLE:
        yield f"n = {n} queries is a small sample: intervals are approximate"
    if any(one.verdict == "not significant" and _excludes_zero(one.observed.interval) for one in found):
        is_corrected = tests > 1 and options.correction != "none"
        why = "p is corrected for all pairs of its measure" if is_corrected else "p is from a different method"
        yield f"an interval is for its pair alone and {why}, so an interval without 0 can come with 'not significant'"


def _excludes_zero(interval: Interval | None) -> bool:
    return interval is not None and not interval[0] <= 0 <= interval[1]
