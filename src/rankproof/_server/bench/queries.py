"""The queries of results in groups: failed by all, by the winner, lost since the results before, and segments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rankproof._analysis.compare.overview import Overview
from rankproof._analysis.diagnose.failed_queries import failures
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.values import TIE_TOLERANCE
from rankproof._report.sections.segments import shown_groupings
from rankproof._results.experiment_result import ExperimentResult
from rankproof._server.bench.port import BenchGroup, BenchQuery, BenchSystem, BenchView
from rankproof.measures._base import Measure

FAILED_CUTOFF = 10
"""A query fails without a relevant document in the top 10, unless the measure has another cutoff."""
NOT_JUDGED = "There are no judgements: rankings can be compared, and nothing is measured."


def bench_view(id: str, results: ExperimentResult, overview: Overview, before: ExperimentResult | None) -> BenchView:
    """The view of results; `before` are earlier results on the same queries, None if there are none."""
    measure = bench_measure(results, overview)
    values = _values_by_system(results, measure)
    queries = tuple(_query(results, query, values) for query in results.queries)
    groups = () if measure is None else tuple(_groups(results, overview, measure, before))
    first, second = shown_pair(overview, measure)
    return BenchView(
        id=id,
        name=results.name,
        dataset=overview.dataset,
        measure="" if measure is None else str(measure),
        is_fraction=measure is not None and measure.is_fraction,
        higher_is_better=measure is None or measure.higher_is_better is not False,
        systems=tuple(_systems(results, overview)),
        first=first,
        second=second,
        queries=queries,
        groups=groups,
        notes=() if measure else (NOT_JUDGED,),
    )


def bench_measure(results: ExperimentResult, overview: Overview) -> Measure | None:
    """The measure of rankings that decides; None if no ranking is judged."""
    measures = results.result.systems[0].measures if results.is_judged else {}
    if overview.measure in measures:
        return measures[overview.measure].measure
    return next((measure.measure for measure in measures.values()), None)


def _systems(results: ExperimentResult, overview: Overview) -> Iterator[BenchSystem]:
    for run in results.system_runs:
        mean = overview.mean(run.name)
        yield BenchSystem(run.name, run.kind, None if mean is None else mean.value)


def shown_pair(overview: Overview, measure: Measure | None) -> tuple[str, str]:
    """A is the chosen system, else the leader; B is the best of the others, or A itself if it is alone."""
    names = overview.systems
    first = overview.first or names[0]
    sign = -1.0 if measure is not None and measure.higher_is_better is False else 1.0
    others = [mean for mean in overview.means if mean.name != first]
    known = [mean for mean in others if mean.value is not None]
    best = max(known, key=lambda mean: sign * (mean.value or 0.0), default=None) or next(iter(others), None)
    return first, first if best is None else best.name


Values = Mapping[str, Mapping[str, float]]
"""System to the value of each query."""


def _values_by_system(results: ExperimentResult, measure: Measure | None) -> Values:
    if measure is None:
        return {}
    return {system.name: system.measures[str(measure)].per_query for system in results.result.systems}


def _query(results: ExperimentResult, query: str, values: Values) -> BenchQuery:
    text = results.texts[query].text if query in results.texts else ""
    return BenchQuery(query, text, tuple(values.get(run.name, {}).get(query) for run in results.system_runs))


def _groups(
    results: ExperimentResult, overview: Overview, measure: Measure, before: ExperimentResult | None
) -> Iterator[BenchGroup]:
    places = {query: place for place, query in enumerate(results.queries)}

    def group(key: str, label: str, queries: Iterable[str], *, is_segment: bool = False) -> BenchGroup:
        chosen = tuple(sorted(places[query] for query in queries if query in places))
        return BenchGroup(key, "segment" if is_segment else "outcome", label, chosen)

    inputs = input_from_results(results)
    failed = _failed_queries(inputs, measure)
    first = shown_pair(overview, measure)[0]
    if failed:
        yield group("failed-all", "failed by all", set.intersection(*failed.values()))
        yield group("failed-first", f"failed by {first}", failed.get(first, set()))
    if before is not None and (lost := lost_queries(results, before, overview, measure)):
        yield group("lost", f"lost since {before.name}", lost)
    for grouping in shown_groupings(inputs):
        for name, queries in grouping.segments.items():
            yield group(f"{grouping.by}={name}", f"{grouping.by}: {name}", queries, is_segment=True)


def _failed_queries(inputs: AnalysisInput, measure: Measure) -> dict[str, set[str]]:
    """The failed queries of each system."""
    cutoff = min(getattr(measure, "cutoff", None) or FAILED_CUTOFF, FAILED_CUTOFF)
    return {name: {failure.query for failure in failures(inputs, name, cutoff).failed} for name in inputs.systems}


def lost_queries(results: ExperimentResult, before: ExperimentResult, overview: Overview, measure: Measure) -> Sequence[str]:
    """The queries on which the first system is worse than in the results before it; none if that system is new."""
    name = shown_pair(overview, measure)[0]
    old = next((system.measures for system in before.result.systems if system.name == name), {}).get(str(measure))
    if old is None:
        return ()
    earlier, new = old.per_query, _values_by_system(results, measure)[name]
    sign = -1.0 if measure.higher_is_better is False else 1.0
    return [query for query, value in new.items() if query in earlier and sign * (value - earlier[query]) < -TIE_TOLERANCE]
