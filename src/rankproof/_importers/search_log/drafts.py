"""The record of an interleaving in a log: its check, and its documents by team."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rankproof.errors import InputError, for_message, type_phrase

RECORD = "rankproof"
"""The key of `query_attributes` that holds the record."""
VERSION = 1
TEAM_DRAFT, PLAIN, PROBABILISTIC, PAIRWISE, MULTILEAVING = METHODS = (
    "team-draft",
    "team-draft-plain",
    "probabilistic",
    "pairwise",
    "team-draft-multileaving",
)
"""The methods of `interleave`."""
NEED_RANKINGS = (PROBABILISTIC, PAIRWISE)
"""The methods whose credit needs the rankings that a list was made of."""
_FIX = "log Interleaving.to_dict() as it is"


class DraftRecord(NamedTuple):
    """A checked record: `teams` are places in `systems`, -1 for a shared document, and none of a method that gives no teams."""

    experiment: str
    method: str
    systems: tuple[str, ...]
    teams: tuple[int, ...]
    rankings: tuple[tuple[str, ...], ...]


def checked_draft(record: Mapping[str, Any], docs: Sequence[str], source: str, line: int) -> DraftRecord:
    """The record of a list that was shown; anything that does not fit the list is an error with its line."""

    def error(what: str, fix: str = _FIX) -> InputError:
        return InputError(what, fix=fix, source=source, line=line)

    if record.get("version") != VERSION:
        what = f"the interleaving has version {for_message(repr(record.get('version')))}, and version {VERSION} is known"
        raise error(what, "update rankproof, or log Interleaving.to_dict() of this version")
    systems = _texts(record.get("systems"))
    if systems is None or len(systems) < 2 or len(set(systems)) < len(systems):
        raise error("the systems of the interleaving are not two or more different names")
    method = record.get("method")
    if method not in METHODS:
        raise error(f"the method of the interleaving is {for_message(repr(method))}", f"known methods: {', '.join(METHODS)}")
    if len(set(docs)) < len(docs):
        twice = next(doc for at, doc in enumerate(docs) if doc in docs[:at])
        raise error(
            f"document {for_message(twice)} is shown twice in one list", "log the documents of the Interleaving as they are"
        )
    experiment = str(record.get("experiment") or "")
    rankings = _rankings(record, len(systems), error) if method in NEED_RANKINGS else ()
    teams = record.get("teams")
    if method == PAIRWISE and teams is None:
        return DraftRecord(experiment, method, systems, (), rankings)
    if not isinstance(teams, list) or not all(type(team) is int for team in teams):
        raise error(f"the teams of the interleaving are {type_phrase(teams)}, not a list of whole numbers")
    if len(teams) != len(docs):
        what = f"the interleaving has {len(teams)} teams for {len(docs)} documents"
        raise error(what, "log as many documents as teams: query_response_hit_ids are the docs of the Interleaving")
    if wrong := [team for team in teams if not -1 <= team < len(systems)]:
        raise error(f"team {wrong[0]} is not from -1 to {len(systems) - 1}")
    return DraftRecord(experiment, method, systems, tuple(teams), rankings)


def _texts(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        return None
    return tuple(value)


def _rankings(record: Mapping[str, Any], count: int, error: Any) -> tuple[tuple[str, ...], ...]:
    """The rankings that the list was made of, one per system."""
    listed = record.get("rankings")
    rankings = [_texts(ranking) if ranking != [] else () for ranking in listed] if isinstance(listed, list) else []
    if len(rankings) != count or None in rankings:
        raise error(f"the interleaving does not hold a ranking of each of its {count} systems")
    return tuple(ranking or () for ranking in rankings)
