"""The results folders that are served: each has a short id, and is found by that alone."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Lock

from ..errors import RankproofError, UsageError, WorldError, shown, visible
from ..experiment.results.files import QRELS, RESULT
from ..experiment.results.folder import load
from ..experiment.rung import Climb
from .kept import Kept
from .summary import Summary, summary_in

Stamp = tuple[int, int, int]
"""What tells a folder's results from those that lay there before."""
_CLIMBS = 3
_SUMMARIES = 10_000


@dataclass(frozen=True, slots=True)
class Spot:
    """A results folder and the id that it is asked for by."""

    id: str
    path: str

    @property
    def label(self) -> str:
        """The folder's own name."""
        return os.path.basename(self.path)


class Shelf:
    """The folders, in the order in which they were named; what comes into a folder of folders later is seen as well."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = [os.path.abspath(path) for path in paths]
        for path, given in zip(self._paths, paths, strict=True):
            if not any(_folders(path)):
                what = f"{shown(given)} is no results folder, and there is none in it"
                raise UsageError(what, fix="name a folder that `rankproof run` wrote, or one with such folders in it")
        self._ids: dict[str, str] = {}
        self._lock = Lock()
        self._climbs: Kept[Climb] = Kept(_CLIMBS)
        self._summaries: Kept[Summary | RankproofError] = Kept(_SUMMARIES)

    def spots(self) -> list[Spot]:
        """Every folder that there is now; an id once given is never another folder's."""
        found = dict.fromkeys(folder for path in self._paths for folder in _folders(path))
        with self._lock:
            return [Spot(self._ids.setdefault(folder, str(len(self._ids) + 1)), folder) for folder in found]

    def spot(self, asked: str) -> Spot | None:
        """The folder of that id."""
        return {spot.id: spot for spot in self.spots()}.get(asked)

    def climb(self, spot: Spot) -> Climb:
        """What the folder holds, checked."""
        return self._climbs.of((spot.id, stamp_of(spot)), lambda: _loaded(spot))

    def summary(self, spot: Spot) -> Summary | RankproofError:
        """The folder in a few words, or why it cannot be read."""
        key = (spot.id, stamp_of(spot), _stamp(os.path.join(spot.path, QRELS)))
        return self._summaries.of(key, lambda: _summary(spot))

    def summaries(self) -> list[Summary]:
        """Of every folder that can be read."""
        return [found for spot in self.spots() if isinstance(found := self.summary(spot), Summary)]


def stamp_of(spot: Spot) -> Stamp | None:
    """When and how large the results were written; None where they are gone."""
    return _stamp(os.path.join(spot.path, RESULT))


def _stamp(path: str) -> Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _summary(spot: Spot) -> Summary | RankproofError:
    """What the list shows; why there is none is kept as well, until the files are others."""
    try:
        return summary_in(spot.path)
    except RankproofError as error:
        return error
    except Exception as error:  # One folder that nobody foresaw must not hide the others.
        return WorldError(visible(f"{spot.path}: cannot be read ({type(error).__name__}: {error}); run the experiment again"))


def _loaded(spot: Spot) -> Climb:
    try:
        return load(spot.path)
    except OSError as error:
        raise WorldError(visible(f"{spot.path}: cannot be read ({error.strerror or error})")) from None


def _folders(path: str) -> Iterator[str]:
    """The folder itself where it has results, else those in it that have."""
    if os.path.lexists(os.path.join(path, RESULT)):
        yield path
        return
    try:
        names = sorted(os.listdir(path))
    except OSError:
        return
    for name in names:
        inside = os.path.join(path, name)
        if not name.startswith(".") and os.path.lexists(os.path.join(inside, RESULT)):
            yield inside
