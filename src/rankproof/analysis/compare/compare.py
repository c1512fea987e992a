"""Which differences between systems are real: paired tests, intervals, effect sizes and a verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...evaluation import Result
from ..statistics.bootstrap import Interval, Method
from ..statistics.correction import Correction
from ..statistics.intervals import FEW, STUDENT
from ..statistics.limits import least_p, shortage
from ..table import Table
from ..wording import counted
from .join import MeasuresLike, join
from .letters import letters
from .pairs import Comparison, comparisons
from .settings import ComparisonSettings, Test
from .tables import details, facts_of, verdicts


def compare(
    result: Result,
    *,
    baseline: str | None = None,
    measures: MeasuresLike = None,
    test: Test = "randomisation",
    correction: Correction = "holm",
    interval: Method = "bca",
    alpha: float = 0.05,
    margin: float | None = None,
    samples: int = 100_000,
    resamples: int = 10_000,
    seed: int = 0,
) -> list[Table]:
    """Every pair of systems, or each against the baseline, under every measure: a table of verdicts for each measure, one of
    letters for papers, and one of all numbers.

    `margin` is a difference that does not matter (0.01 is one percentage point) and makes "equivalent" a possible verdict.
    """
    settings = ComparisonSettings(
        alpha=alpha,
        samples=samples,
        seed=seed,
        test=test,
        correction=correction,
        interval=interval,
        margin=margin,
        resamples=resamples,
    )
    joined = join(result, measures)
    found = comparisons(joined, baseline, settings)
    facts, n = facts_of(joined, settings, len(found)), len(joined.queries)
    notes = (*joined.notes, *limits(found, n, settings))
    shown = [
        verdicts(measure, baseline, [one for one in found if one.seen.measure == measure], settings, facts)
        for measure in joined.measures
    ]
    return [*shown, letters(joined, found, settings.words(n, len(found)), notes, facts), details(found, notes, facts)]


def limits(found: Sequence[Comparison], n: int, settings: ComparisonSettings) -> Iterator[str]:
    """What the settings cannot show, whatever the systems are."""
    flat = sum(one.seen.t_p is None for one in found)
    if settings.test == "randomisation" or flat:
        lacking = shortage(least_p(n, settings.samples), settings.level(len(found), len(found)), n)
        if lacking is not None:
            yield lacking
    if flat:
        yield (
            f"all queries differ by the same amount ({counted(flat, 'test')}): without a spread there is no interval, no t-test"
            " and no test of equivalence; p is by sign flips"
        )
    if n < FEW:
        yield f"n = {n} queries are few: intervals are {STUDENT}, which takes differences to be about normal, and are rough"
    if any(one.verdict == "cannot tell" and _is_off_0(one.seen.interval) for one in found):
        why = "p is for all tests" if len(found) > 1 and settings.correction != "none" else "the test is another way to ask"
        yield f"an interval is that of its pair alone, {why}: an interval without 0 may come with 'cannot tell'"


def _is_off_0(interval: Interval | None) -> bool:
    return interval is not None and not interval[0] <= 0 <= interval[1]
