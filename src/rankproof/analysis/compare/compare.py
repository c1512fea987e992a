"""Which differences between systems are real: paired tests, intervals, effect sizes and a verdict in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...evaluation import Result
from ..statistics.bootstrap import Method
from ..statistics.correction import Correction
from ..statistics.limits import least_p, shortage
from ..table import Table
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
    notes = (*joined.notes, *_limits(found, n, settings))
    shown = [
        verdicts(measure, baseline, [one for one in found if one.seen.measure == measure], settings, facts)
        for measure in joined.measures
    ]
    return [*shown, letters(joined, found, settings.words(n, len(found)), notes, facts), details(found, notes, facts)]


def _limits(found: Sequence[Comparison], n: int, settings: ComparisonSettings) -> Iterator[str]:
    """What the settings cannot show, whatever the systems are."""
    if settings.test == "randomisation":
        lacking = shortage(least_p(n, settings.samples), settings.level(len(found)), n)
        if lacking is not None:
            yield lacking
    if any(one.verdict == "cannot tell" and not one.seen.interval[0] <= 0 <= one.seen.interval[1] for one in found):
        yield "an interval is that of its pair alone, p is for all tests: an interval without 0 may come with 'cannot tell'"
