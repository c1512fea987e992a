"""What rankings would have got that users did not see: `online --value` against the truth, on users of the built-in sample.

Lists are those of bm25, static and hybrid, each with one random swap of neighbours. Users of the position-based model look at
rank r with a chance of 1 / r; users of the cascade read down and stop at a click that satisfies them. The grade of a document
says how often it is clicked. Wrong: an answer "more" or "fewer" that is not true. The second table is the largest relative error
of the position bias at ranks 2 to 10.
"""

from __future__ import annotations

import argparse
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import rankproof as rp
from rankproof._analysis.online.value import ValueOptions, value_of_rankings
from rankproof._data.arrays import FloatArray
from rankproof._data.ordering import ranked_documents
from rankproof._importers.search_log.log import NO_TEAM, Events, SearchLog, Sessions
from rankproof._statistics.position_bias import RankedClicks, fitted_examination, position_bias
from rankproof.errors import InputError

DEPTH, SYSTEMS = 10, ("bm25", "static", "hybrid")
CELLS = (
    (("bm25",), "bm25"),
    (("bm25", "static"), "static"),
    (("bm25", "static"), "hybrid"),
    (("bm25",), "hybrid"),
    (("bm25",), "static"),
)
USERS = ("position", "cascade")
_CLICKED = {0: 0.05, 1: 0.3, 2: 0.6, 3: 0.9}
_SATISFIED = 0.6
_LOOKED = 1 / np.arange(1, DEPTH + 1)
Places = npt.NDArray[np.int64]


class Shop(NamedTuple):
    """The lists of each system as places of documents, how often each is clicked once it is seen, and their names."""

    lists: dict[str, Places]
    attraction: FloatArray
    texts: list[str]
    docs: list[str]


@cache
def shop() -> Shop:
    """The first ten documents of each system of the sample."""
    sample = rp.read_dataset("sample")
    rankings = {name: ranked_documents(rp.read_run(f"sample:{name}")) for name in SYSTEMS}
    queries = [query for query in sample.qrels if all(len(rankings[name].get(query, ())) >= DEPTH for name in SYSTEMS)]
    docs = sorted({doc for name in SYSTEMS for query in queries for doc in rankings[name][query][:DEPTH]})
    place = {doc: at for at, doc in enumerate(docs)}
    lists = {name: np.array([[place[doc] for doc in rankings[name][query][:DEPTH]] for query in queries]) for name in SYSTEMS}
    grades = [[sample.qrels[query].get(doc, 0) for doc in docs] for query in queries]
    attraction = np.array([[_CLICKED[min(grade, 3)] for grade in row] for row in grades])
    return Shop(lists, attraction, [sample.queries[query].text for query in queries], docs)


def clicks(lists: Places, query: Places, users: str, random: np.random.Generator) -> npt.NDArray[np.bool_]:
    """What users click on each list."""
    attracted = random.random(lists.shape) < shop().attraction[query[:, None], lists]
    if users == "position":
        return np.asarray(attracted & (random.random(lists.shape) < _LOOKED))
    stops = attracted & (random.random(lists.shape) < _SATISFIED)
    reads: npt.NDArray[np.bool_] = np.cumsum(stops, axis=1) - stops == 0
    return np.asarray(attracted & reads)


def true_clicks(system: str, users: str) -> float:
    """The clicks per query of a system."""
    lists, random = shop().lists[system], np.random.default_rng(1)
    query = np.tile(np.arange(len(lists)), 2_000)
    return float(clicks(lists[query], query, users, random).sum(axis=1).mean())


def shown_lists(shown: tuple[str, ...], sessions: int, random: np.random.Generator) -> tuple[Places, Places]:
    """The query of each session, and the list that it is shown: that of one system, with two neighbours swapped."""
    own = shop()
    query, rows = random.integers(0, len(own.texts), sessions), np.arange(sessions)
    lists = np.stack([own.lists[name] for name in shown])[random.integers(0, len(shown), sessions), query]
    at = random.integers(0, DEPTH - 1, sessions)
    lists[rows, at], lists[rows, at + 1] = lists[rows, at + 1], lists[rows, at].copy()
    return query, lists


def clicks_on_shown(shown: tuple[str, ...], users: str) -> float:
    """The clicks per query of the lists that are shown."""
    random = np.random.default_rng(2)
    query, lists = shown_lists(shown, 300_000, random)
    return float(clicks(lists, query, users, random).sum(axis=1).mean())


def simulated_log(shown: tuple[str, ...], users: str, sessions: int, random: np.random.Generator) -> SearchLog:
    """Sessions with one of the shown lists each, of users who come twice on average."""
    own = shop()
    query, lists = shown_lists(shown, sessions, random)
    session, slot = np.nonzero(clicks(lists, query, users, random))
    nothing, clicked = np.full(sessions, -1, np.int32), len(session)
    held = Sessions(
        user=random.integers(0, sessions // 2, sessions).astype(np.int32),
        time=np.arange(sessions, dtype=np.float64),
        query=query.astype(np.int32),
        variant=nothing,
        draft=nothing,
        place=np.arange(sessions),
        offsets=np.arange(sessions + 1) * DEPTH,
        docs=lists.ravel().astype(np.int32),
        ranks=np.tile(np.arange(1, DEPTH + 1), sessions).astype(np.int32),
        teams=np.full(sessions * DEPTH, NO_TEAM, np.int32),
        rankings=np.empty(0, np.int32),
        ranking_offsets=np.zeros(sessions + 1, np.int64),
    )
    events = Events(
        session=session.astype(np.int32),
        slot=(slot + 1).astype(np.int32),
        rank=(slot + 1).astype(np.int32),
        named_rank=np.full(clicked, -1, np.int32),
        doc=lists[session, slot].astype(np.int32),
        action=np.zeros(clicked, np.int32),
        team=np.full(clicked, NO_TEAM, np.int32),
        time=np.zeros(clicked),
        value=np.full(clicked, np.nan),
        place=np.zeros(clicked, np.int64),
    )
    return SearchLog(("simulated",), held, events, [], own.texts, own.docs, ["click"], [], [], [], ())


def print_values(rounds: int, sessions: int) -> None:
    """The table of values against the truth."""
    own = shop()
    print(f"{rounds} logs of {sessions:,} lists in each cell\n")
    print("| users | log | ranking | support | ESS | true | IPS | DR | bounds | bounds hold | wrong |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for users in USERS:
        truth = {name: true_clicks(name, users) for name in SYSTEMS}
        for shown, target in CELLS:
            rankings = {
                target: {
                    text: [own.docs[doc] for doc in row] for text, row in zip(own.texts, own.lists[target].tolist(), strict=True)
                }
            }
            found, doubly, held, wrong = list[dict[str, Any]](), list[float](), 0, 0
            base = clicks_on_shown(shown, users)
            for seed in range(rounds):
                log = simulated_log(shown, users, sessions, np.random.default_rng(seed))
                row: dict[str, Any] = dict(value_of_rankings(log, rankings, ValueOptions()).tables[0].records()[0])
                again: dict[str, Any] = dict(
                    value_of_rankings(log, rankings, ValueOptions(estimator="dr")).tables[0].records()[0]
                )
                low, high = row["difference"]
                held += low <= truth[target] - base <= high
                wrong += row["answer"] != "cannot tell" and (row["answer"] == "more") != (truth[target] > base)
                found.append(row)
                doubly.append(float(again["clicks"]))
            mean = {name: float(np.mean([row[name] for row in found])) for name in ("support", "ESS", "clicks")}
            bounds = np.mean([row["bounds"] for row in found], axis=0)
            print(
                f"| {users} | {' + '.join(shown)} | {target} | {mean['support']:.2f} | {mean['ESS']:,.0f} | {truth[target]:.3f} |"
                f" {mean['clicks']:.3f} | {np.mean(doubly):.3f} | {bounds[0]:.2f}-{bounds[1]:.2f} |"
                f" {held} of {rounds} | {wrong} |"
            )


def print_position_bias(rounds: int) -> None:
    """The table of errors of the position bias."""
    print("\n| lists | number | expectation maximisation | harvesting |")
    print("|---|---|---|---|")
    for kind in ("never varied", "one swap", "10% random"):
        for count in (5_000, 50_000):
            errors = list[tuple[float, float]]()
            for seed in range(rounds):
                cells = _cells(kind, count, np.random.default_rng(seed))
                try:
                    harvested = position_bias(cells, np.zeros(0, np.intp)).examination
                except InputError:
                    harvested = np.full(DEPTH, np.nan)
                errors.append((_error(fitted_examination(cells)), _error(harvested)))
            fitted, harvested_error = np.median(errors, axis=0)
            print(f"| {kind} | {count:,} | {fitted:.2f} | {harvested_error:.2f} |")


def _error(examination: FloatArray) -> float:
    return float(np.abs(examination / examination[0] / _LOOKED - 1)[1:].max())


def _cells(kind: str, count: int, random: np.random.Generator) -> RankedClicks:
    own = shop()
    query, rows = random.integers(0, len(own.texts), count), np.arange(count)
    lists = own.lists["bm25"][query]
    if kind == "one swap":
        at = random.integers(0, DEPTH - 1, count)
        lists[rows, at], lists[rows, at + 1] = lists[rows, at + 1], lists[rows, at].copy()
    if kind == "10% random":
        mixed = random.random(count) < 0.1
        lists[mixed] = random.permuted(lists[mixed], axis=1)
    clicked = clicks(lists, query, "position", random)
    pair = query[:, None] * len(own.docs) + lists
    return RankedClicks.of(pair.ravel(), np.tile(np.arange(DEPTH), count), clicked.ravel())


def main() -> None:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--sessions", type=int, default=5_000)
    args = parser.parse_args()
    print_values(args.rounds, args.sessions)
    print_position_bias(max(args.rounds // 4, 1))


if __name__ == "__main__":
    main()
