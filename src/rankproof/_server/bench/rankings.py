"""Documents of results: two stored rankings of a query side by side, and whole documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rankproof._analysis.inputs import AnalysisInput
from rankproof._analysis.values import EMPTY_LIST, ranked_lists
from rankproof._data.corpus import TextRecord
from rankproof._data.dataset import Dataset
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._results.judgements import experiment_dataset
from rankproof._results.snippets import short_fields
from rankproof._server.bench.port import BenchCard, BenchSide, DocumentPart
from rankproof._server.library import LibraryEntry, LruCache, results_stamp

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
