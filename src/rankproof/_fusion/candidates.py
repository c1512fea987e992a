"""The documents of several runs, query by query, with their score and rank in each run, as arrays over all queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_numbers, list_places, repeat_each
from rankproof._data.ordering import Ranking, resolve_duplicates
from rankproof._data.row_errors import row_error
from rankproof._data.run import NO_RANK, Run
from rankproof._data.validation import ReadOptions
from rankproof._fusion.kernels import RowsOfRun, best_first, candidates
from rankproof._fusion.normalisations import NORMALISATIONS, Normalisation, ScoreLists, is_sorted

_Item = TypeVar("_Item", bound=np.generic)


@dataclass(frozen=True, slots=True)
class NormalisedScores:
    """A normalised score for each run and candidate, 0 without one; `present` says who has one, `run_counts` how many runs."""

    values: FloatArray
    present: BoolArray
    run_counts: IntArray


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """The candidates of each query: those of query i are offsets[i] to offsets[i + 1].

    The rows of run r and query q, best first, are bounds[r * queries + q] to the next bound: `places` has the candidate of each
    row, `values` its score, higher is better. Methods read `ranks`, `scores` and `normalised`, which have a row for each run.
    """

    queries: tuple[str, ...]
    offsets: IntArray
    docs: list[str]
    runs: int
    places: IntArray
    values: FloatArray
    bounds: IntArray
    _normalised: dict[Any, NormalisedScores] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, runs: Sequence[Run], read_options: ReadOptions | None = None, *, queries: Iterable[str] = ()) -> CandidateTable:
        """The table of these runs; `queries` come first, also those that no run has."""
        chosen = read_options or ReadOptions()
        names = tuple(dict.fromkeys(chain(queries, *(run.queries for run in runs))))
        place = {query: index for index, query in enumerate(names)}
        try:
            return cls._built(names, [_rows(run, names, place) for run in runs], [_keys(run, chosen) for run in runs])
        except KeyError:
            # This raises the error that names the rows; a KeyError names none.
            for run in runs:
                resolve_duplicates(run, ReadOptions())
            raise

    @classmethod
    def of_rankings(cls, rankings: Sequence[Ranking]) -> CandidateTable:
        """The table of one query, from its rankings."""
        rows = [(docs, np.zeros(1, np.int64), np.full(1, len(docs), np.int64)) for docs, _ in rankings]
        return cls._built(("",), rows, [np.asarray(scores, dtype=np.float64) for _, scores in rankings])

    @classmethod
    def _built(cls, queries: tuple[str, ...], rows: Sequence[RowsOfRun], keys: Sequence[FloatArray]) -> CandidateTable:
        docs, offsets, places = candidates(rows, len(queries))
        lengths = np.concatenate([np.zeros(0, np.int64), *(ends - starts for _, starts, ends in rows)])
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
        parts = [_gathered(key, starts, ends) for key, (_, starts, ends) in zip(keys, rows, strict=True)]
        values = np.concatenate([np.zeros(0), *parts])
        if not is_sorted(values, bounds):
            order = best_first(values, bounds, docs, places)
            places, values = places[order], values[order]
        return cls(queries, offsets, docs, len(rows), places, values, bounds)

    @property
    def size(self) -> int:
        """The number of candidates of all queries."""
        return len(self.docs)

    @cached_property
    def lengths(self) -> IntArray:
        """How many documents each run has for each query."""
        return np.diff(self.bounds).reshape(self.runs, len(self.queries))

    @cached_property
    def depth(self) -> int:
        """The length of the longest ranking."""
        return int(self.lengths.max(initial=0))

    @cached_property
    def query_index(self) -> IntArray:
        """For each candidate, the index of its query."""
        return list_numbers(np.diff(self.offsets))

    def spread(self, rows: NDArray[_Item], missing: NDArray[_Item] | None = None) -> NDArray[_Item]:
        """A value for each run and candidate, from one for each row; without a row 0, or what `missing` has there."""
        whole = np.zeros((self.runs, self.size), dtype=rows.dtype) if missing is None else missing.copy()
        for run, span in enumerate(self.spans):
            whole[run, self.places[span]] = rows[span]
        return whole

    @cached_property
    def spans(self) -> tuple[slice, ...]:
        """The rows of each run."""
        bounds = self.bounds[:: len(self.queries)].tolist() if self.queries else [0] * (self.runs + 1)
        return tuple(slice(start, end) for start, end in pairwise(bounds))

    @cached_property
    def row_ranks(self) -> IntArray:
        """The rank of each row, from 1."""
        return 1 + list_places(np.diff(self.bounds))

    @cached_property
    def ranks(self) -> IntArray:
        """The rank of each candidate in each run, from 1; 0 if the run does not have it."""
        return self.spread(self.row_ranks)

    @cached_property
    def scores(self) -> FloatArray:
        """The score of each candidate in each run; 0 if the run does not have it."""
        return self.spread(self.values)

    def scores_of(self, run: int) -> FloatArray:
        """The score of each candidate in one run; 0 if the run does not have it."""
        scores = np.zeros(self.size)
        scores[self.places[self.spans[run]]] = self.values[self.spans[run]]
        return scores

    def shown(self, depth: int) -> BoolArray:
        """Whether each run has each candidate among its first ones."""
        whole = np.zeros((self.runs, self.size), np.bool_)
        for run, span in enumerate(self.spans):
            whole[run, self.places[span][list_places(self.lengths[run]) < depth]] = True
        return whole

    @cached_property
    def present(self) -> BoolArray:
        """Whether each run has each candidate."""
        return self.ranks > 0

    @cached_property
    def run_counts(self) -> IntArray:
        """How many runs have each candidate."""
        return np.bincount(self.places.astype(np.intp, copy=False), minlength=self.size).astype(np.int64, copy=False)

    @cached_property
    def by_id(self) -> IntArray:
        """The place of each candidate among the ids of its query, largest first."""
        place = np.empty(self.size, dtype=np.int64)
        place[best_first(np.zeros(self.size), self.offsets, self.docs)] = np.arange(self.size)
        return place

    def by_rank(self, points: FloatArray) -> FloatArray:
        """The points of each candidate in each run, from those of rank 1, 2, …, `depth`; 0 without a rank."""
        return self.spread(points[self.row_ranks - 1])

    def of_each_query(self, values: FloatArray) -> FloatArray:
        """A value for each run and candidate, from one for each run and query."""
        return values[:, self.query_index]

    def normalised(self, norm: str, **parameters: Any) -> NormalisedScores:
        """The scores on the scale of a normalisation; computed once."""
        key = (norm, *parameters.items())
        if key not in self._normalised:
            self._normalised[key] = self._normalise(NORMALISATIONS[norm], parameters)
        return self._normalised[key]

    def _normalise(self, chosen: Normalisation, parameters: Mapping[str, Any]) -> NormalisedScores:
        counts = np.tile(np.diff(self.offsets), self.runs)
        values = chosen.normalise(ScoreLists(self.values, np.diff(self.bounds), counts), **parameters)
        if chosen.missing is None:
            return NormalisedScores(self.spread(values), self.present, self.run_counts)
        missing = chosen.missing(self.lengths, np.broadcast_to(np.diff(self.offsets), self.lengths.shape))
        everywhere = np.ones((self.runs, self.size), dtype=np.bool_)
        return NormalisedScores(
            self.spread(values, self.of_each_query(missing)), everywhere, np.full(self.size, self.runs, dtype=np.int64)
        )


def _rows(run: Run, queries: tuple[str, ...], place: Mapping[str, int]) -> RowsOfRun:
    """The documents of a run and the span of each query, empty for a query that it lacks."""
    if run.queries == queries:
        return run.docs, run.offsets[:-1], run.offsets[1:]
    places = np.fromiter(map(place.__getitem__, run.queries), np.int64, len(run.queries))
    starts, ends = np.zeros((2, len(queries)), np.int64)
    starts[places], ends[places] = run.offsets[:-1], run.offsets[1:]
    return run.docs, starts, ends


def _gathered(keys: FloatArray, starts: IntArray, ends: IntArray) -> FloatArray:
    """The keys of all spans, one after the other."""
    # The spans follow each other: nothing is copied.
    if len(starts) and starts[0] == 0 and bool(np.all(starts[1:] == ends[:-1])) and ends[-1] == len(keys):
        return keys
    lengths = ends - starts
    gathered: FloatArray = keys[list_places(lengths) + repeat_each(starts, lengths)]
    return gathered


def _keys(run: Run, read_options: ReadOptions) -> FloatArray:
    if read_options.order == "score":
        return -run.scores if read_options.lower_is_better else run.scores
    if run.docs and (run.ranks is None or NO_RANK in run.ranks):
        raise row_error("rank-missing", source=run.source)
    # Higher keys are better, so rank 1 has the key -1.
    return np.zeros(0) if run.ranks is None else -run.ranks.astype(np.float64)
