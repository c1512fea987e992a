"""Which differences between systems are real: paired tests, intervals, effect sizes and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ..evaluation import Result
from .compare_join import MeasuresLike, join
from .compare_letters import letters
from .compare_pairs import Comparison, comparisons
from .compare_settings import Settings, Test
from .compare_tables import details, facts_of, verdicts
from .statistics.bootstrap import Method
from .statistics.correction import Correction
from .table import Table


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
    settings = Settings(test, correction, interval, alpha, margin, samples, resamples, seed)
    joined = join(result, measures)
    found = comparisons(joined, baseline, settings)
    facts, n = facts_of(joined, settings, len(found)), len(joined.queries)
    notes = (*joined.notes, *_limits(found, n, settings))
    shown = [
        verdicts(measure, baseline, [one for one in found if one.seen.measure == measure], settings, facts)
        for measure in joined.measures
    ]
    return [*shown, letters(joined, found, settings.words(n, len(found)), notes, facts), details(found, notes, facts)]


def _limits(found: Sequence[Comparison], n: int, settings: Settings) -> Iterator[str]:
    """What the settings cannot show, whatever the systems are."""
    level = settings.level(len(found))
    if settings.test == "randomisation":
        least = 2.0 ** (1 - n) if settings.is_exact(n) else max(1 / (1 + settings.samples), 2.0 ** (1 - n))
        if least > level:
            fix = f"queries: at least {math.ceil(1 - math.log2(level))}" if settings.is_exact(n) else "samples"
            yield f"the least p that this test can give is {least:.2g}, and one test may need {level:.2g}; take more {fix}"
    if any(one.verdict == "cannot tell" and not one.seen.interval[0] <= 0 <= one.seen.interval[1] for one in found):
        yield "an interval is that of its pair alone, p is for all tests: an interval without 0 may come with 'cannot tell'"
