"""`interleave`: the list that users see, made of the rankings of several systems, and its record for the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from rankproof._interleaving.methods import FOR_TWO, METHODS, NEED_RANKINGS, PAIRWISE, SHARED, TEAM_DRAFT, Coins, Ranking
from rankproof._registry import Option
from rankproof.errors import UsageError, closest_name, for_message, type_phrase

Method = Literal["team-draft", "team-draft-plain", "pairwise", "probabilistic", "team-draft-multileaving"]
RECORD = "rankproof"
"""The key of the record in the attributes of a logged query."""
VERSION = 1


@dataclass(frozen=True, slots=True)
class Interleaved:
    """A list to show. `teams` has the place of the system behind each document, -1 if it is shared; None for `pairwise`.

    `rankings` are what the list was made of, for methods whose credit needs them. `notes` say what is unusual.
    """

    docs: tuple[str, ...]
    teams: tuple[int, ...] | None
    systems: tuple[str, ...]
    method: str
    experiment: str = ""
    rankings: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record for the log, which goes into `query_attributes` of UBI; `docs` go into `query_response_hit_ids`."""
        record: dict[str, Any] = {
            "version": VERSION,
            "experiment": self.experiment,
            "method": self.method,
            "systems": list(self.systems),
        }
        if self.teams is not None:
            record["teams"] = list(self.teams)
        if self.rankings:
            record["rankings"] = [list(ranking) for ranking in self.rankings]
        return {RECORD: record}


def interleave(
    rankings: Annotated[Mapping[str, Ranking], Option("the ranking of each system by its name, the baseline first")],
    *,
    experiment: Annotated[str, Option("the name of the experiment; another name draws other lists")] = "",
    seed: Annotated[str | int, Option("the id of the query: the same seed draws the same list")],
    method: Annotated[Method | None, Option("how the list is drafted", unset="team-draft for two systems, else pairwise")] = None,
    k: Annotated[int, Option("the length of the list", least=1)] = 10,
) -> Interleaved:
    """One list for users from the rankings of several systems.

    A search service calls it for each query, shows `docs`, and logs `to_dict()`; `online` then says from the clicks which system
    users prefer. A list with a larger `k` continues the same list, so page 2 is `docs[10:20]` with `k=20`. A system without
    results leaves the list to the others, and `notes` say so. It imports no other library and does no I/O.

    >>> import rankproof as rp
    >>> shown = rp.interleave({"bm25": ["a", "b", "c"], "hybrid": ["a", "c", "d"]}, seed="query-1")
    >>> shown.docs, shown.teams
    (('a', 'c', 'b', 'd'), (-1, 1, 0, -1))
    """
    names, lists = _systems(rankings)
    chosen = _method(method, len(names))
    if type(k) is not int or k < 1:
        raise UsageError(f"k is {for_message(repr(k))}", fix="pass a whole number of at least 1, the length of the list")
    if not isinstance(experiment, str):
        raise UsageError(f"experiment cannot be {type_phrase(experiment)}", fix="pass the name of the experiment as a text")
    docs, teams = METHODS[chosen](lists, k, Coins(experiment, _seed(seed)))
    return Interleaved(
        tuple(docs),
        None if chosen == PAIRWISE else tuple(teams),
        names,
        chosen,
        experiment,
        _logged_rankings(lists, chosen, k) if chosen in NEED_RANKINGS else (),
        _notes(names, lists, teams, chosen),
    )


def _systems(rankings: Any) -> tuple[tuple[str, ...], tuple[Ranking, ...]]:
    """The names and rankings, which must be two or more, of different names, each without repeated documents."""
    try:
        pairs = list(rankings.items()) if isinstance(rankings, Mapping) else [(name, ranking) for name, ranking in rankings]
    except (TypeError, ValueError):
        raise UsageError(f"rankings cannot be {type_phrase(rankings)}", fix="pass {name: [doc, …]}, the baseline first") from None
    names = tuple(name for name, _ in pairs)
    if len(names) < 2:
        what = f"{len(names)} ranking{'s' if len(names) != 1 else ''} to interleave"
        raise UsageError(what, fix="pass the rankings of at least two systems, the baseline first")
    if not all(isinstance(name, str) and name for name in names):
        raise UsageError("the name of a system is empty or no text", fix="name each system, such as bm25")
    if len(set(names)) < len(names):
        repeated = next(name for at, name in enumerate(names) if name in names[:at])
        raise UsageError(f"two systems are called {for_message(repeated)}", fix="give each system its own name")
    return names, tuple(_ranking(name, ranking) for name, ranking in pairs)


def _ranking(name: str, ranking: Any) -> Ranking:
    """The ids of the documents, or an error if one of them occurs twice."""
    if isinstance(ranking, str) or not isinstance(ranking, Sequence):
        what = f"the ranking of {for_message(name)} cannot be {type_phrase(ranking)}"
        raise UsageError(what, fix="pass a list of ids of documents, best first")
    if any(type(doc) is not str for doc in ranking):
        wrong = next(doc for doc in ranking if type(doc) is not str)
        raise UsageError(
            f"the ranking of {for_message(name)} contains {type_phrase(wrong)}", fix="pass ids of documents as texts"
        )
    if len(set(ranking)) < len(ranking):
        repeated = next(doc for at, doc in enumerate(ranking) if doc in ranking[:at])
        what = f"document {for_message(repeated)} is twice in the ranking of {for_message(name)}"
        raise UsageError(what, fix="keep its first rank")
    return ranking


def _method(method: Any, systems: int) -> str:
    if method is None:
        return TEAM_DRAFT if systems == 2 else PAIRWISE
    if method not in METHODS:
        near = closest_name(str(method), METHODS)
        fix = f"did you mean {near}?" if near else f"known methods: {', '.join(METHODS)}"
        raise UsageError(f"method is {for_message(repr(method))}", fix=fix)
    if method in FOR_TWO and systems > 2:
        raise UsageError(f"{method} is for two systems, not {systems}", fix=f"use {PAIRWISE}, or compare two of them")
    return str(method)


def _seed(seed: Any) -> str:
    if type(seed) is int:
        return str(seed)
    if not isinstance(seed, str):
        raise UsageError(f"seed cannot be {type_phrase(seed)}", fix="pass the id of the query, a text or a whole number")
    if not seed:
        raise UsageError("the seed is empty, so all queries would get the same coins", fix="pass the id of the query")
    return seed


def _logged_rankings(rankings: Sequence[Ranking], method: str, k: int) -> tuple[tuple[str, ...], ...]:
    """What the credit needs: `pairwise` shows no document below rank k of all systems, `probabilistic` may show any."""
    return tuple(tuple(ranking[:k] if method == PAIRWISE else ranking) for ranking in rankings)


def _notes(names: Sequence[str], rankings: Sequence[Ranking], teams: Sequence[int], method: str) -> tuple[str, ...]:
    empty = [for_message(name) for name, ranking in zip(names, rankings, strict=True) if not ranking]
    if empty:
        rest = "nothing is shown" if len(empty) == len(names) else "the documents of the others are shown"
        return (f"{', '.join(empty)} returned nothing; {rest}, and the session is a tie",)
    if method != PAIRWISE and teams and max(teams) == SHARED:
        return ("the systems return the same list, so the session is a tie",)
    return ()
