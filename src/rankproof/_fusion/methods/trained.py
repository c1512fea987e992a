"""Methods that learn from judged queries how likely a document at a rank is relevant."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray, repeat_each
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.method import Fitted, FusionSettings, HitLists, Training, fusion_method

BAYES_BOUNDS = np.array([0, 5, 10, 15, 20, 30, 100, 200, 500, 1000])
SEGMENT_BOUNDS = np.array([0, *(10 * 2**at - 5 for at in range(10))])
LEAST_PROBABILITY = 0.001
MISSING_LOG_ODDS = math.log(LEAST_PROBABILITY / (1 - LEAST_PROBABILITY))


RowPoints = Callable[[FloatArray, slice], FloatArray]
"""From what was learned of a run, and the span of its rows in the table, to the points of these rows."""


def _counts(places: IntArray, length: int) -> IntArray:
    """How often each place from 0 to length - 1 occurs; numpy of a 32-bit processor takes no 64-bit places."""
    return np.bincount(places.astype(np.intp, copy=False), minlength=length)


def _each_run(training: Training, learned: Callable[[HitLists], FloatArray]) -> Fitted:
    return tuple(tuple(learned(training.hit_lists(run)).tolist()) for run in range(training.table.runs))


def _spread(table: CandidateTable, settings: FusionSettings, points: RowPoints, missing: float = 0.0) -> FloatArray:
    """The points of each run and candidate, from what was learned of each run; `missing` without a rank."""
    rows = [points(np.array(learned), span) for learned, span in zip(settings.fitted or (), table.spans, strict=True)]
    return table.spread(np.concatenate(rows), np.full((table.runs, table.size), missing) if missing else None)


def _by_rank(table: CandidateTable, points: Callable[[FloatArray], FloatArray]) -> RowPoints:
    """The points of rows by their rank; `points` gives those of rank 1, 2, …, `depth` from what was learned of a run."""
    return lambda learned, span: points(learned)[table.row_ranks[span] - 1]


def _by_segment(values: FloatArray, bounds: IntArray, depth: int, below: float) -> FloatArray:
    """The value of the segment of each rank from 1 to `depth`; ranks below the last segment get `below`."""
    segment = np.searchsorted(bounds, np.arange(depth), side="right") - 1
    return np.append(values, below)[np.minimum(segment, len(values))]


def _segment_precision(lists: HitLists, bounds: IntArray) -> FloatArray:
    """The mean over queries of the share of relevant documents in each segment, of its full size."""
    segment = np.searchsorted(bounds, lists.ranks - 1, side="right") - 1
    hits = _counts(segment[lists.hits], len(bounds))[: len(bounds) - 1]
    return hits / np.diff(bounds) / max(len(lists.lengths), 1)


def fit_bayes(training: Training, settings: FusionSettings) -> Fitted:
    """The log odds of relevance in each segment of ranks."""

    def log_odds(lists: HitLists) -> FloatArray:
        precision = _segment_precision(lists, BAYES_BOUNDS)
        likely = np.where(precision == 0, LEAST_PROBABILITY, precision)
        return np.log(likely / np.where(likely == 1, LEAST_PROBABILITY, 1 - likely))

    return _each_run(training, log_odds)


@fusion_method(
    "bayesfuse",
    "adds the log odds of relevance of the rank; a missing document has the odds 0.001 / 0.999",
    by_rank=True,
    formula="Σ ln(p / (1 - p)), p = precision of the ranks 1-5, 6-10, 11-15, 16-20, 21-30, 31-100, 101-200, 201-500, 501-1000",
    source="Aslam and Montague 2001",
    fit=fit_bayes,
    learned=len(BAYES_BOUNDS) - 1,
)
def bayes(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """BayesFuse."""
    points = _by_rank(table, lambda learned: _by_segment(learned, BAYES_BOUNDS, table.depth, MISSING_LOG_ODDS))
    return _spread(table, settings, points, MISSING_LOG_ODDS)


def fit_map(training: Training, settings: FusionSettings) -> Fitted:
    """The mean average precision of each run."""
    totals = training.totals[training.chosen]

    def mean_average_precision(lists: HitLists) -> FloatArray:
        hit_query, hit_rank = lists.query[lists.hits], lists.ranks[lists.hits]
        counts = _counts(hit_query, len(totals))
        seen = np.arange(1, len(hit_query) + 1) - (np.cumsum(counts) - counts)[hit_query]
        sums = np.bincount(hit_query.astype(np.intp, copy=False), weights=seen / hit_rank, minlength=len(totals))
        return np.array([math.fsum((sums / np.maximum(totals, 1)).tolist()) / max(len(totals), 1)])

    return _each_run(training, mean_average_precision)


@fusion_method(
    "mapfuse",
    "adds the mean average precision of the run, divided by the rank",
    by_rank=True,
    formula="Σ MAP / rank",
    source="Lillis et al. 2010",
    fit=fit_map,
    learned=1,
)
def map_fuse(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """MAPFuse."""
    return _spread(table, settings, _by_rank(table, lambda learned: learned[0] / np.arange(1, table.depth + 1)))


def fit_positions(training: Training, settings: FusionSettings) -> Fitted:
    """The share of relevant documents at each rank, among the rankings that are long enough."""

    def shares(lists: HitLists) -> FloatArray:
        depth = int(lists.lengths.max(initial=0))
        hits = _counts(lists.ranks[lists.hits] - 1, depth)
        return hits / np.maximum(_counts(lists.ranks - 1, depth), 1)

    return _each_run(training, shares)


@fusion_method(
    "posfuse",
    "adds the share of relevant documents at the rank",
    by_rank=True,
    formula="Σ p(rank); 0 below the ranks of the training queries",
    source="Lillis et al. 2010",
    fit=fit_positions,
)
def pos_fuse(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """PosFuse."""
    return _spread(table, settings, _by_rank(table, lambda learned: _padded(learned, table.depth)))


def _padded(values: FloatArray, count: int) -> FloatArray:
    return np.concatenate([values[:count], np.zeros(max(0, count - len(values)))])


@fusion_method(
    "slidefuse",
    "adds the mean share of relevant documents at the ranks from rank - window to rank + window",
    uses=("window",),
    by_rank=True,
    formula="Σ mean of p(rank - window), …, p(rank + window), cut at both ends of the ranking",
    source="Lillis et al. 2008",
    fit=fit_positions,
)
def slide_fuse(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """SlideFuse."""
    lengths, which = np.unique(table.lengths, return_inverse=True)
    starts = np.cumsum(lengths) - lengths
    first = repeat_each(starts[which.reshape(-1)], table.lengths.reshape(-1))

    def means(learned: FloatArray, span: slice) -> FloatArray:
        shares = _padded(learned, table.depth)
        of_lengths = [_windows(shares[:length], settings.window) for length in lengths.tolist()]
        points: FloatArray = np.concatenate(of_lengths)[first[span] + table.row_ranks[span] - 1]
        return points

    return _spread(table, settings, means)


def _windows(shares: FloatArray, window: int) -> FloatArray:
    """The mean of the shares from each position - window to position + window."""
    count = len(shares)
    sums, sizes = np.zeros(count), np.zeros(count)
    for shift in range(-min(window, count), min(window, count) + 1):
        here, there = slice(max(0, -shift), count - max(0, shift)), slice(max(0, shift), count - max(0, -shift))
        sums[here] += shares[there]
        sizes[here] += 1
    return sums / sizes


def _segment_sizes(lengths: IntArray, segments: int) -> IntArray:
    """How many ranks each segment of a ranking has, if it is cut into segments of equal size."""
    return np.maximum(-(-lengths // segments), 1)


def fit_segments(training: Training, settings: FusionSettings) -> Fitted:
    """The mean precision of each of the segments of a ranking."""
    segments = settings.segments

    def precisions(lists: HitLists) -> FloatArray:
        cell = lists.query * segments + (lists.ranks - 1) // _segment_sizes(lists.lengths, segments)[lists.query]
        cells = len(lists.lengths) * segments
        hits = _counts(cell[lists.hits], cells) / np.maximum(_counts(cell, cells), 1)
        sums = [math.fsum(column) for column in hits.reshape(-1, segments).T.tolist()]
        return np.array(sums) / max(len(lists.lengths), 1)

    return _each_run(training, precisions)


@fusion_method(
    "probfuse",
    "adds the precision of the document's segment, divided by the number of the segment",
    by_rank=True,
    formula="Σ p(j) / j, j = segment of the rank; a ranking has as many segments of equal size as segments says",
    source="Lillis et al. 2006",
    fit=fit_segments,
    fit_uses=("segments",),
)
def prob_fuse(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """ProbFuse."""
    lengths = table.lengths.reshape(-1)

    def precisions(learned: FloatArray, span: slice) -> FloatArray:
        sizes = repeat_each(_segment_sizes(lengths, len(learned)), lengths)[span]
        shares: FloatArray = learned / np.arange(1, len(learned) + 1)
        points: FloatArray = shares[(table.row_ranks[span] - 1) // sizes]
        return points

    return _spread(table, settings, precisions)


def fit_growing_segments(training: Training, settings: FusionSettings) -> Fitted:
    """The mean precision of the ranks 1-5, 6-15, 16-35 and so on."""
    return _each_run(training, lambda lists: _segment_precision(lists, SEGMENT_BOUNDS))


@fusion_method(
    "segfuse",
    "adds the precision of the document's segment x (1 + normalised score)",
    uses=("norm",),
    formula="Σ p(j) (1 + s), j = segment of the rank: 1-5, 6-15, 16-35, 36-75, …",
    source="Shokouhi 2007",
    fit=fit_growing_segments,
    learned=len(SEGMENT_BOUNDS) - 1,
)
def seg_fuse(table: CandidateTable, settings: FusionSettings) -> FloatArray:
    """SegFuse."""
    shares = _spread(table, settings, _by_rank(table, lambda learned: _by_segment(learned, SEGMENT_BOUNDS, table.depth, 0.0)))
    return shares * (settings.normalised(table).values + 1.0)
