"""What a vector store returns is checked against the vectors: invented scores, missing documents, low recall."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from rankproof import Experiment, run
from rankproof._cli.commands.run import show_results
from rankproof._cli.terminal import Terminal
from rankproof._data.arrays import Matrix
from rankproof._data.dataset import Query
from rankproof._data.identity import NOT_IN_IDENTITY
from rankproof._data.ordering import Ranking
from rankproof._render.systems import low_recall_notes
from rankproof.errors import ExternalError
from rankproof.stages import RRF, Dense
from rankproof.stages._base import QueryTimer
from support.server_stores import KINDS, changed_reply
from support.small_models import HashedWords, OneByOne, OpenOneByOne
from support.stage_building import context_of, corpus_of
from support.vector_stores import require

MODEL = HashedWords(64)
TEXTS = {f"d{at}": f"w{at} w{at + 1} common" for at in range(20)}
QUERIES = [Query(f"q{at}", f"w{at} w{at + 3}") for at in range(4)]
Change = Callable[[Ranking], Ranking]


@dataclass(frozen=True)
class Changed(OneByOne):
    """A store that changes its rankings."""

    change: Change = field(default=lambda ranking: ranking, metadata=NOT_IN_IDENTITY)
    claims_exact: bool = True

    @property
    def exact(self) -> bool:
        return self.claims_exact

    def open(self, name: str, dimensions: int, folder: str) -> OpenOneByOne:
        return OpenChanged(self)


class OpenChanged(OpenOneByOne):
    def __init__(self, value: Changed) -> None:
        super().__init__(value)
        self._change = value.change

    def search(self, vectors: Matrix, k: int) -> list[Ranking]:
        return [(docs[:k], scores[:k]) for docs, scores in map(self._change, super().search(vectors, 1_000))]


def _facts(store: OneByOne, depth: int = 5) -> Mapping[str, Any]:
    searcher = Dense(MODEL, store=store, depth=depth).build(context_of(corpus_of(TEXTS)))
    searcher.search_all(QUERIES)
    return searcher.facts()


def _worst(ranking: Ranking) -> Ranking:
    return ranking[0][::-1], ranking[1][::-1]


def _raised(ranking: Ranking) -> Ranking:
    return ranking[0], ranking[1] + 0.01


def _swapped(ranking: Ranking) -> Ranking:
    return [*ranking[0][-1:], *ranking[0][1:-1], *ranking[0][:1]], ranking[1]


@pytest.mark.parametrize("change", [_raised, _swapped])
@pytest.mark.parametrize("exact", [True, False])
def test_a_score_that_is_not_the_inner_product_is_an_error(change: Change, exact: bool) -> None:
    with pytest.raises(ExternalError, match=r"the reply of Changed to query q0 is wrong: document d\d+ has the score"):
        _facts(Changed(change=change, claims_exact=exact))


def test_rounding_in_single_precision_is_no_error() -> None:
    def rounded(ranking: Ranking) -> Ranking:
        return ranking[0], (ranking[1].astype(np.float32) + np.float32(1)).astype(np.float64) - 1

    facts, exact = _facts(Changed(change=rounded)), _facts(Changed())
    assert {**facts, "encoding_seconds": 0} == {**exact, "encoding_seconds": 0}


def test_an_exact_store_that_returns_the_worst_documents_with_their_scores_is_an_error() -> None:
    with pytest.raises(ExternalError, match=r"its exact search found \d of the 5 nearest documents, without d"):
        _facts(Changed(change=_worst))


def test_an_exact_store_that_lacks_one_document_is_an_error_but_not_at_a_tie() -> None:
    def without(doc: str) -> Change:
        def change(ranking: Ranking) -> Ranking:
            kept = [at for at, name in enumerate(ranking[0]) if name != doc]
            return [ranking[0][at] for at in kept], ranking[1][kept]

        return change

    with pytest.raises(ExternalError, match="without d1"):
        _facts(Changed(change=without("d1")))
    tied = {f"d{at}": "same words" for at in range(20)}
    searcher = Dense(MODEL, store=Changed(change=without("d9")), depth=5).build(context_of(corpus_of(tied)))
    searcher.search_all([Query("q", "same")])
    searcher.facts()


def test_a_search_that_a_later_one_of_the_query_replaces_is_checked_too() -> None:
    replies: Iterator[Change] = iter([_worst, lambda ranking: ranking])
    store = Changed(change=lambda ranking: next(replies)(ranking))
    searcher = Dense(MODEL, store=store, depth=5).build(context_of(corpus_of(TEXTS)))
    for _ in range(2):
        searcher.search(QUERIES[0], (), QueryTimer())
    with pytest.raises(ExternalError, match="its exact search found"):
        searcher.facts()


def test_the_check_is_made_when_the_facts_are_read_and_not_while_a_search_is_timed() -> None:
    searcher = Dense(MODEL, store=Changed(change=_raised), depth=5).build(context_of(corpus_of(TEXTS)))
    assert len(searcher.search(QUERIES[0], (), QueryTimer())[0]) == 5
    with pytest.raises(ExternalError, match="has the score"):
        searcher.facts()


def _nothing(ranking: Ranking) -> Ranking:
    return [], np.zeros(0)


def test_an_approximate_store_that_finds_nothing_is_noted_first_also_below_a_fusion(capsys: pytest.CaptureFixture[str]) -> None:
    dense = Dense(MODEL, store=Changed(change=_nothing, claims_exact=False))
    results = run(Experiment({"dense": dense, "hybrid": RRF((dense, Dense(MODEL)))}))
    notes = low_recall_notes(results)
    assert [note.split(":")[0] for note in notes] == ["dense", "hybrid"]
    assert "returns only 0.0% of the exact nearest neighbours" in notes[0]
    show_results(results, None, "results", Namespace(format="table", no_report=True), Terminal())
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("note:")]
    assert "dense: its vector store returns only 0.0%" in lines[0]


def test_a_store_that_finds_everything_has_no_note() -> None:
    results = run(Experiment({"dense": Dense(MODEL, store=OneByOne())}))
    assert low_recall_notes(results) == []


def _first_scores_raised(document: Any) -> Any:
    hits: Sequence[dict[str, Any]] = document["result"]["points"] if "result" in document else document["hits"]["hits"]
    for name in ("score", "_score"):
        if hits and name in hits[0]:
            hits[0][name] += 0.25
    return document


@pytest.mark.parametrize("name", list(KINDS))
def test_invented_scores_of_a_server_end_the_run(name: str) -> None:
    require(name)
    kind = KINDS[name]
    with kind.server() as server:
        stage = Dense(MODEL, store=kind.store(url=server.url, timeout=5), depth=5)
        searcher = stage.build(context_of(corpus_of(TEXTS)))
        searcher.search_all(QUERIES)
        searcher.facts()
        server.fault = changed_reply(_first_scores_raised, kind.search)
        searcher.search_all(QUERIES)
        server.reset()
        with pytest.raises(ExternalError, match="but the inner product of its vectors is"):
            searcher.facts()
        searcher.close()
