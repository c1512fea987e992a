"""The order of a ranking: ties, duplicates, and whether ranks and scores agree."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np

from rankproof._data.arrays import FloatArray, IntArray
from rankproof._data.row_errors import row_error
from rankproof._data.run import NO_RANK, Run, RunRow
from rankproof._data.validation import ReadOptions
from rankproof.errors import InputError

QueryColumns = tuple[Sequence[str], FloatArray, FloatArray]
"""Documents in input order, their scores, and the keys that order them, highest first."""


def resolve_duplicates(run: Run, read_options: ReadOptions) -> tuple[dict[str, list[RunRow]], int]:
    """Each query's rows without duplicates, and the number of dropped rows; with on_duplicate `error` the first is an error."""
    groups: dict[str, list[RunRow]] = {query: [] for query in run.queries}
    for row in run.rows():
        groups[row.query].append(row)
    duplicates = [pair for rows in groups.values() for pair in _duplicates(rows)]
    if duplicates and read_options.on_duplicate == "error":
        first, second = min(duplicates, key=lambda pair: pair[1].line or 0)
        raise _duplicate_error(first, second, run.source)
    kept = {query: _without_duplicates(rows, read_options) for query, rows in groups.items()}
    return kept, len(duplicates)


def resolve_duplicate_columns(run: Run, read_options: ReadOptions) -> dict[str, QueryColumns]:
    """Each query's documents without duplicates, as `resolve_duplicates`, without an object for each row."""
    return dict(columns_by_query(run, read_options))


def columns_by_query(run: Run, read_options: ReadOptions) -> Iterator[tuple[str, QueryColumns]]:
    """As `resolve_duplicate_columns`, one query at a time: the ids of all queries take more memory than the run."""
    columns = column_slices(run, read_options)
    if columns is None:
        for query, own in resolve_duplicates(run, read_options)[0].items():
            yield query, _columns(own, read_options)
        return
    slices, keys = columns
    for query, rows in slices.items():
        yield query, (run.docs[rows], run.scores[rows], keys[rows])


def column_slices(run: Run, read_options: ReadOptions) -> tuple[dict[str, slice], FloatArray] | None:
    """The rows of each query, and the keys of all rows; None where a document or a query is there twice."""
    spans = zip(run.queries, pairwise(run.offsets.tolist()), strict=True)
    slices = {query: slice(start, end) for query, (start, end) in spans}
    is_plain = len(slices) == len(run.queries) and all(
        len(set(docs)) == len(docs) for docs in map(run.docs.__getitem__, slices.values())
    )
    return (slices, _keys(run, read_options)) if is_plain else None


def _keys(run: Run, read_options: ReadOptions) -> FloatArray:
    """`order_key` of every row."""
    if read_options.order == "rank":
        ranks = np.zeros(len(run.docs), np.int64) if run.ranks is None else run.ranks
        return -np.where(ranks == NO_RANK, 0, ranks).astype(np.float64)
    scores = -run.scores if read_options.lower_is_better else run.scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64) if read_options.float32 else scores


def _columns(rows: Sequence[RunRow], read_options: ReadOptions) -> QueryColumns:
    scores = np.array([row.score for row in rows], dtype=np.float64)
    return [row.doc for row in rows], scores, np.array([order_key(row, read_options) for row in rows], dtype=np.float64)


def _duplicates(rows: Iterable[RunRow]) -> Iterator[tuple[RunRow, RunRow]]:
    first: dict[str, RunRow] = {}
    for row in rows:
        earlier = first.setdefault(row.doc, row)
        if earlier is not row:
            yield earlier, row


def _duplicate_error(first: RunRow, second: RunRow, source: str) -> InputError:
    where = f"line {first.line}" if first.line else "an earlier row"
    scores = {"first_score": first.score, "score": second.score}
    return row_error("duplicate", source=source, line=second.line, doc=second.doc, query=second.query, first=where, **scores)


def _without_duplicates(rows: list[RunRow], read_options: ReadOptions) -> list[RunRow]:
    kept: dict[str, RunRow] = {}
    for row in rows:
        earlier = kept.get(row.doc)
        better = earlier is not None and order_key(row, read_options) > order_key(earlier, read_options)
        if earlier is None or read_options.on_duplicate == "keep-last" or (read_options.on_duplicate == "keep-best" and better):
            kept[row.doc] = row
    return list(kept.values())


def best_first_order(docs: Sequence[str], keys: FloatArray) -> IntArray:
    """The indexes of a query's documents, best first: key descending, then id descending by UTF-8 bytes."""
    # Run files are usually sorted and without ties; ids are compared only if keys are equal.
    if bool(np.all(keys[1:] < keys[:-1])):
        return np.arange(len(docs))
    if len(np.unique(keys)) == len(keys):
        return np.argsort(-keys)
    # Python compares text by code point, which is the order of the UTF-8 bytes.
    by_id = np.array(sorted(range(len(docs)), key=docs.__getitem__, reverse=True))
    return by_id[np.argsort(-keys[by_id], kind="stable")]


def ranked_documents(run: Run) -> dict[str, list[str]]:
    """The documents of each query, best first."""
    rankings = {}
    starts, ends = run.offsets[:-1].tolist(), run.offsets[1:].tolist()
    # Where the next score is lower everywhere, a slice is in order.
    falls = np.append(run.scores[1:] < run.scores[:-1], True)
    unordered = np.concatenate(([0], np.cumsum(~falls))).tolist()
    for query, start, end in zip(run.queries, starts, ends, strict=True):
        docs = run.docs[start:end]
        is_ordered = end - start < 2 or unordered[end - 1] == unordered[start]
        rankings[query] = (
            list(docs) if is_ordered else [docs[at] for at in best_first_order(docs, run.scores[start:end]).tolist()]
        )
    return rankings


def have_same_rankings(run: Run, other: Run, read_options: ReadOptions) -> bool:
    """Whether two runs have the same documents in the same order for every query; a query without documents is an absent one."""
    if read_options.on_duplicate != "error" or any(len(set(side.queries)) < len(side) for side in (run, other)):
        whole = replace(read_options, depth=None)
        run, other, read_options = ranked_run(run, whole), ranked_run(other, whole), ReadOptions()
    keys, other_keys = _keys(run, read_options), _keys(other, read_options)
    same_rows = run.queries == other.queries and np.array_equal(run.offsets, other.offsets) and run.docs == other.docs
    if same_rows and (np.array_equal(keys, other_keys) or _have_same_order(run, keys, other_keys)):
        return True
    spans, other_spans = _filled_spans(run), _filled_spans(other)
    return spans.keys() == other_spans.keys() and all(
        _best_first(run, keys, span) == _best_first(other, other_keys, other_spans[query]) for query, span in spans.items()
    )


def _have_same_order(run: Run, keys: FloatArray, other_keys: FloatArray) -> bool:
    """Whether two keys give the rows of each query the same order, without a tie."""
    queries = np.repeat(np.arange(len(run)), np.diff(run.offsets))
    order, other_order = (np.lexsort((-side_keys, queries)) for side_keys in (keys, other_keys))
    if not np.array_equal(order, other_order):
        return False
    within = np.diff(queries[order]) == 0
    return all(bool((np.diff(side_keys[order])[within] < 0).all()) for side_keys in (keys, other_keys))


def _filled_spans(run: Run) -> dict[str, slice]:
    """The rows of each query that has any."""
    spans = zip(run.queries, pairwise(run.offsets.tolist()), strict=True)
    return {query: slice(start, end) for query, (start, end) in spans if start < end}


def _best_first(run: Run, keys: FloatArray, rows: slice) -> list[str]:
    docs = run.docs[rows]
    return [docs[at] for at in best_first_order(docs, keys[rows]).tolist()]


def order_key(row: RunRow, read_options: ReadOptions) -> float:
    """The key of a row; the highest comes first."""
    if read_options.order == "rank":
        # Alignment rejects a missing rank; until then, 0 keeps the key a number.
        return -float(row.rank or 0)
    return oriented_score(row, read_options)


def oriented_score(row: RunRow, read_options: ReadOptions) -> float:
    """The score, negated where lower is better and rounded to float32 where set; higher is better."""
    score = -row.score if read_options.lower_is_better else row.score
    return _as_float32(score) if read_options.float32 else score


def _as_float32(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


Ranking = tuple[list[str], FloatArray]


def rank_documents(docs: list[str], scores: FloatArray) -> Ranking:
    """The documents best first, and their scores."""
    order = best_first_order(docs, scores)
    return [docs[at] for at in order.tolist()], scores[order]


def ranked_run(run: Run, read_options: ReadOptions) -> Run:
    """The run as the options read it: best first by its scores, without duplicates, with at most `depth` documents a query."""
    columns = resolve_duplicate_columns(run, read_options)
    sorted_columns = (rank_documents(list(docs), keys) for docs, _, keys in columns.values())
    rankings = [(docs[: read_options.depth], scores[: read_options.depth]) for docs, scores in sorted_columns]
    return Run.from_rankings(run.name, tuple(columns), rankings).changed(source=run.source)


MIN_QUERIES_WITHOUT_RANKS = 5


class RankScoreAgreement(NamedTuple):
    """How ranks and scores agree.

    `contradictions` are rows that score higher than a row of better rank, `backwards` queries in which better ranks have lower
    scores, `forwards` the other queries.
    """

    contradictions: int = 0
    backwards: int = 0
    forwards: int = 0

    @property
    def looks_like_distances(self) -> bool:
        """Whether better ranks have lower scores in every query with different scores.

        Without ranks the order of rows says little: then several queries must agree.
        """
        return (
            self.backwards > 0 and self.forwards == 0 and (self.contradictions > 0 or self.backwards >= MIN_QUERIES_WITHOUT_RANKS)
        )

    def note(self, *, lower_is_better: bool = False) -> str | None:
        """The note on ranks that contradict scores, None if none do."""
        if self.looks_like_distances:
            direction = "higher" if lower_is_better else "lower"
            queries = "the only query" if self.backwards == 1 else f"all {self.backwards} queries"
            return f"in {queries} with different scores the better rank has the {direction} score: are the scores distances?"
        if not self.contradictions:
            return None
        many = f"{self.contradictions} rows have ranks that contradict their scores"
        return f"{'1 row has a rank that contradicts its score' if self.contradictions == 1 else many}; the scores are used"


def rank_score_agreement(rows: Iterable[RunRow], read_options: ReadOptions) -> RankScoreAgreement:
    """The agreement over all queries; the rows of a query are adjacent."""
    agreements = [query_agreement(list(group), read_options) for _, group in groupby(rows, key=lambda row: row.query)]
    return RankScoreAgreement(
        contradictions=sum(agreement.contradictions for agreement in agreements),
        backwards=sum(agreement.backwards for agreement in agreements),
        forwards=sum(agreement.forwards for agreement in agreements),
    )


def query_agreement(rows: Sequence[RunRow], read_options: ReadOptions) -> RankScoreAgreement:
    """The agreement in one query; zeros for a ranking by rank."""
    if read_options.order == "rank":
        return RankScoreAgreement()
    backwards, forwards = _query_votes(rows, read_options)
    return RankScoreAgreement(_contradictions(rows, read_options), backwards, forwards)


def _contradictions(rows: Sequence[RunRow], read_options: ReadOptions) -> int:
    if any(row.rank is None for row in rows):
        return 0
    count, lowest_above, lowest, rank_before = 0, float("inf"), float("inf"), None
    for row in sorted(rows, key=lambda row: row.rank or 0):
        if row.rank != rank_before:
            lowest_above, rank_before = lowest, row.rank
        score = oriented_score(row, read_options)
        count += score > lowest_above
        lowest = min(lowest, score)
    return count


def _query_votes(rows: Sequence[RunRow], read_options: ReadOptions) -> tuple[int, int]:
    """(1, 0) if better ranks have lower scores, (0, 1) if not, (0, 0) if the query has too few or equal scores."""
    ranks = [row.rank for row in rows if row.rank is not None]
    # Two rows are too few to tell a direction from chance.
    if len(rows) < 3 or (ranks and len(set(ranks)) < len(rows)):
        return 0, 0
    by_rank = sorted(rows, key=lambda row: row.rank or 0) if ranks else rows
    strengths = [oriented_score(row, read_options) for row in by_rank]
    if min(strengths) == max(strengths):
        return 0, 0
    rising = all(left <= right for left, right in pairwise(strengths))
    return (1, 0) if rising else (0, 1)
