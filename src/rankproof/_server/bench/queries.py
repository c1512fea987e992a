"""The queries of results in groups, two stored rankings of a query side by side, and whole documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rankproof._analysis.compare.overview import Overview
from rankproof._analysis.diagnose.failed_queries import failures
from rankproof._analysis.inputs import AnalysisInput, input_from_results
from rankproof._analysis.values import EMPTY_LIST, TIE_TOLERANCE, ranked_lists
from rankproof._data.corpus import TextRecord
from rankproof._data.dataset import Dataset
from rankproof._report.sections.segments import shown_groupings
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.judgements import experiment_dataset
from rankproof._results.snippets import short_fields
from rankproof._server.bench.port import BenchCard, BenchGroup, BenchQuery, BenchSide, BenchSystem, BenchView, DocumentPart
from rankproof._server.library import LibraryEntry, LruCache, results_stamp
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


CARD_LENGTH = 2_000
"""Characters of a text on a card; the page asks for the rest."""
PART_LENGTH = 50_000
"""The most characters of a part of a document."""
_ELLIPSIS = "…"


FindDocument = Callable[[str], TextRecord | None]
"""The document of an id, None if it is not known."""


@dataclass(frozen=True, slots=True)
class SideRanking:
    """The ranking of one side, its value and notes; `scores` has None where the system gave no score."""

    system: str
    docs: Sequence[str]
    scores: Sequence[float | None]
    value: float | None = None
    notes: tuple[str, ...] = ()


def stored_ranking(inputs: AnalysisInput, run: SystemRun, query: str, measure: str) -> SideRanking:
    """The ranking of a query as it is stored and measured."""
    if run.stored_run is None:
        return SideRanking(run.name, (), (), notes=("the rankings of this system are not stored",))
    ranking = ranked_lists(inputs, run.name, [query]).get(query, EMPTY_LIST)
    measures = next((system.measures for system in inputs.result.systems if system.name == run.name), {})
    value = measures[measure].per_query.get(query) if measure in measures else None
    scores = ranking.scores.tolist() if run.replies is None else [run.own_score(query, doc) for doc in ranking.docs]
    return SideRanking(run.name, ranking.docs, scores, value, tuple(_notes(run, query)))


def _notes(run: SystemRun, query: str) -> Sequence[str]:
    reply = (run.replies or {}).get(query)
    return () if reply is None or reply.state == "ok" else (f"the engine did not answer: {reply.reason}",)


def sides_of(
    results: ExperimentResult, find: FindDocument, query: str, rankings: Sequence[SideRanking], depth: int
) -> list[BenchSide]:
    """The sides of two rankings, each card with the rank of its document in the other ranking."""
    grades = results.qrels.get(query, {})
    ranks = [{doc: rank for rank, doc in enumerate(ranking.docs, 1)} for ranking in rankings]
    sides = []
    for ranking, elsewhere in zip(rankings, reversed(ranks), strict=True):
        top = list(zip(ranking.docs, ranking.scores, strict=True))[:depth]
        cards = tuple(
            _card(results, find, doc, rank=rank, score=score, grades=grades, elsewhere=elsewhere.get(doc))
            for rank, (doc, score) in enumerate(top, 1)
        )
        sides.append(BenchSide(ranking.system, ranking.value, len(ranking.docs), cards, ranking.notes))
    return sides


def _card(
    results: ExperimentResult,
    find: FindDocument,
    doc: str,
    *,
    rank: int,
    score: float | None,
    grades: Mapping[str, int],
    elsewhere: int | None,
) -> BenchCard:
    """The card of a document: from the dataset, else with the beginning that the results keep."""
    record = find(doc)
    shown = _known_only_by_snippet(results, doc) if record is None else _beginning(record)
    return BenchCard(rank, doc, score, grades.get(doc), elsewhere, *shown)


CardText = tuple[str, str, bool, str, dict[str, str]]
"""Title, text, whether it is whole, address and other fields."""


def _known_only_by_snippet(results: ExperimentResult, doc: str) -> CardText:
    snippet, title = results.snippets.get(doc, ""), results.titles.get(doc, 0)
    text, fields = snippet[title:].lstrip(" ·"), dict(results.document_fields.get(doc, {}))
    return snippet[:title], text, not snippet.endswith(_ELLIPSIS), results.urls.get(doc, ""), fields


def _beginning(record: TextRecord) -> CardText:
    fields = short_fields(record)
    text = record.text[:CARD_LENGTH]
    return record.title, text, len(text) == len(record.text), fields.pop("url", ""), fields


def document_part(record: TextRecord, start: int) -> DocumentPart:
    """A part of a document from a character on."""
    text = record.text[start : start + PART_LENGTH]
    return DocumentPart(record.id, record.title, text, start, len(record.text), short_fields(record))


_MOST_DATASETS = 2


class LibraryDocuments:
    """The documents of datasets, each read at most once; `given` is the dataset of `--dataset`."""

    def __init__(self, dataset: Dataset | None = None) -> None:
        self._given = dataset
        self._datasets: LruCache[Dataset | None] = LruCache(_MOST_DATASETS)

    def __call__(self, entry: LibraryEntry, results: ExperimentResult, doc: str) -> TextRecord | None:
        """The document, None if its dataset is not known here or is another one by now."""
        dataset = self._given or self._datasets.get_or_create(
            (entry.id, results_stamp(entry)), lambda: experiment_dataset(results) if entry.is_folder else None
        )
        return dataset.corpus[doc] if dataset is not None and doc in dataset.corpus else None
