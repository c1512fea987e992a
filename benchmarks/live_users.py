"""Simulated users of real rankings: systems without models on three collections, and three click models."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tools import shared_folder

from rankproof import Experiment, run
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.ordering import ranked_documents
from rankproof._interleaving.interleave import Method, interleave
from rankproof._interleaving.methods import pairwise_credit, probabilistic_credit
from rankproof.stages import BM25, RM3, RRF
from rankproof.types import Stage

from .real_values import dataset_of_part

STORED = Path(__file__).parent / "work" / "live_users"
COLLECTIONS: Mapping[str, str] = {"Cranfield": "cranfield:test", "SciFact": "scifact:test", "CoSQA": "cosqa:test"}
DEPTH, DRAFTS = 10, 48
"""The length of lists, and how many lists are drafted for each query: fewer lists would favour a system by chance."""
CLICK_MODELS = ("position-based", "cascade", "dependent")
RANDOM_CLICKS = 0.3
"""The chance of a click on a document that is looked at, where clicks do not depend on documents."""
_STAY = 0.95


def systems() -> dict[str, Stage]:
    """Seven systems that need no model."""
    bm25, characters = BM25(), BM25(tokens="characters-4")
    return {
        "bm25": bm25,
        "bm25-unstemmed": BM25(stemming=False),
        "bm25-all-words": BM25(stop_words=False),
        "bm25-short": BM25(k1=0.9, b=0.4),
        "characters": characters,
        "rm3": RM3(bm25),
        "hybrid": RRF((bm25, characters)),
    }


@dataclass(frozen=True, eq=False)
class Collection:
    """The top documents of each system and query, and the grade of each document as a share of the highest grade."""

    name: str
    rankings: Mapping[str, Sequence[Sequence[str]]]
    grades: Sequence[Mapping[str, float]]

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.grades)


def collection(name: str) -> Collection:
    """A collection with the rankings of all systems, computed once and stored."""
    path = STORED / f"{name}.pickle"
    if not path.exists():
        if not shared_folder.DATA.is_dir():
            raise SystemExit(f"{shared_folder.missing_data()}: nothing to simulate")
        print(f"{name}: running {len(systems())} systems", file=sys.stderr)
        STORED.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(_computed(name)))
    rankings, grades = pickle.loads(path.read_bytes())
    return Collection(name, rankings, grades)


def _computed(name: str) -> tuple[dict[str, list[list[str]]], list[dict[str, float]]]:
    dataset = dataset_of_part(COLLECTIONS[name])
    results = run(Experiment(name="live-users", dataset=dataset, systems=systems(), measures=["nDCG@10"]))
    queries = results.result.queries
    highest = max(grade for query in queries for grade in results.qrels[query].values())
    grades = [{doc: max(grade, 0) / highest for doc, grade in results.qrels[query].items()} for query in queries]
    ranked = {system.name: ranked_documents(system.run) for system in results.system_runs}
    return {name: [docs.get(query, [])[:DEPTH] for query in queries] for name, docs in ranked.items()}, grades


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists that users see: the grade at each rank (-1 where the list has ended), by list.

    `credits` gives the credit of each system for a list and clicked places; sessions draw from `of_query[query]`.
    """

    grades: FloatArray
    of_query: IntArray
    credits: Callable[[int, tuple[int, ...]], Sequence[float]] | None = None
    teams: IntArray | None = None


def single_lists(data: Collection, system: str) -> Lists:
    """The list of one system for each query."""
    grades = np.full((data.queries, DEPTH), -1.0)
    for query, ranking in enumerate(data.rankings[system]):
        grades[query, : len(ranking)] = [data.grades[query].get(doc, 0.0) for doc in ranking]
    return Lists(grades, np.arange(data.queries)[:, None])


def interleaved_lists(data: Collection, names: Sequence[str], method: Method) -> Lists:
    """Drafted lists of several systems for each query."""
    count = data.queries * DRAFTS
    grades, teams, drafts = np.full((count, DEPTH), -1.0), np.full((count, DEPTH), -1), []
    for query in range(data.queries):
        rankings = {name: data.rankings[name][query] for name in names}
        for draft in range(DRAFTS):
            shown = interleave(rankings, seed=f"{query}-{draft}", method=method, k=DEPTH)
            at = query * DRAFTS + draft
            grades[at, : len(shown.docs)] = [data.grades[query].get(doc, 0.0) for doc in shown.docs]
            if shown.teams is not None:
                teams[at, : len(shown.docs)] = shown.teams
            drafts.append((list(rankings.values()), shown.docs))
    of_query = np.arange(count).reshape(data.queries, DRAFTS)
    if method not in ("pairwise", "probabilistic"):
        return Lists(grades, of_query, teams=teams)
    credit_of = pairwise_credit if method == "pairwise" else probabilistic_credit
    known: dict[tuple[int, tuple[int, ...]], Sequence[float]] = {}

    def credits(at: int, places: tuple[int, ...]) -> Sequence[float]:
        key = at, places
        if key not in known:
            known[key] = credit_of(*drafts[at], places)
        return known[key]

    return Lists(grades, of_query, credits)


def attraction(grades: FloatArray, relevance: bool) -> FloatArray:
    """The chance of a click on each document that is looked at; documents beyond the end of a list get none."""
    chance = 0.1 + 0.8 * np.maximum(grades, 0.0) if relevance else np.full(grades.shape, RANDOM_CLICKS)
    return np.where(grades < 0, 0.0, chance)


def clicks(model: str, chance: FloatArray, grades: FloatArray, rng: np.random.Generator) -> BoolArray:
    """Which documents each session clicks: an array of sessions by ranks.

    position-based: rank r is looked at with the chance 1 / r. cascade: from the top to the first click. dependent: from the top,
    after each click further with a chance that falls with the grade, so that satisfied users stop.
    """
    attracted = rng.random(chance.shape) < chance
    if model == "position-based":
        return np.asarray(attracted & (rng.random(chance.shape) < 1.0 / np.arange(1, chance.shape[1] + 1)))
    stays = np.where(attracted, 0.0 if model == "cascade" else 0.9 - 0.7 * np.maximum(grades, 0.0), _STAY)
    goes_on = rng.random(chance.shape) < stays
    looked = np.cumprod(np.column_stack([np.ones(len(chance), dtype=bool), goes_on[:, :-1]]), axis=1).astype(bool)
    return np.asarray(attracted & looked)


def preferences(lists: Lists, at: IntArray, clicked: BoolArray, pair: tuple[int, int], size: int) -> FloatArray:
    """How far each session prefers the second of two systems, below 0 for the first one; the sign where documents have teams."""
    first, second = pair
    if lists.teams is not None:
        teams = lists.teams[at]
        won = ((teams == second) & clicked).sum(axis=1) - ((teams == first) & clicked).sum(axis=1)
        return np.asarray(np.sign(won), dtype=np.float64)
    assert lists.credits is not None
    signs = np.zeros(len(at))
    for session in np.flatnonzero(clicked.any(axis=1)).tolist():
        credit = lists.credits(int(at[session]), tuple(np.flatnonzero(clicked[session]).tolist()))
        apart = credit[second] - credit[first]
        signs[session] = 0.0 if abs(apart) < 1e-9 else apart
    return signs / max(float(np.abs(signs[signs != 0]).mean()), 1e-9) if signs.any() else signs
