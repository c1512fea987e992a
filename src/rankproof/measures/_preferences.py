"""Measures of preferences between documents: PrefsFul, NumPrefs and NumPrefsFul."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from rankproof._align.hits import Hits
from rankproof._align.preferences import PreferenceGroup
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, list_numbers
from rankproof._registry import Option
from rankproof.errors import UsageError
from rankproof.measures._base import Advice, Measure
from rankproof.measures._counts import CountMeasure
from rankproof.measures._relevant import cached_on, ratio, sum_by_query

Pairs = Literal["all", "both", "either"]


class Counts(NamedTuple):
    """Preferences that the ranking fulfils, and those that it could fulfil."""

    fulfilled: float
    possible: float

    @property
    def share(self) -> float:
        """The share of fulfilled preferences; 0 without preferences."""
        return self.fulfilled / self.possible if self.possible else 0.0


class GroupCounts(NamedTuple):
    """The preferences of a group: all, those with both documents retrieved, and those with at least one.

    The last two are all and both, with as many non-relevant documents as relevant ones.
    """

    all: Counts
    both: Counts
    either: Counts
    all_limited: Counts
    both_limited: Counts


class PairMeans(NamedTuple):
    """The mean over pairs of documents of the share of judges that prefer the one ranked first."""

    all: float
    both: float
    either: float


class PreferenceCounts(NamedTuple):
    """The counts of each group with the query of each, and the means over pairs of each query."""

    groups: tuple[GroupCounts, ...]
    owners: IntArray
    pairs: tuple[PairMeans, ...]

    def of(self, kind: str) -> FloatArray:
        """Fulfilled and possible preferences of each group, one row each."""
        return np.array([getattr(group, kind) for group in self.groups], dtype=np.float64).reshape(-1, 2)


class Placed(NamedTuple):
    """A group with the place of each document among the query's judged documents: first those retrieved, then the others."""

    places: IntArray
    levels: FloatArray
    partial: BoolArray | None

    @property
    def better(self) -> BoolArray:
        """Whether document i is preferred to document j."""
        return self.levels[:, None] > self.levels[None, :] if self.partial is None else self.partial


@cached_on
def preference_counts(hits: Hits) -> PreferenceCounts:
    """The preferences of every group; grades are levels where the judgements are grades, and below 0 they do not count."""
    groups: list[GroupCounts] = []
    owners: list[int] = []
    pairs: list[PairMeans] = []
    for query, (retrieved, placed) in enumerate(_placed_groups(hits)):
        counted = [_group_counts(group, retrieved) for group in placed]
        groups += counted
        owners += [query] * len(placed)
        pairs.append(_pair_means(placed, retrieved) if len(placed) > 1 else _pairs_of_one(counted))
    return PreferenceCounts(tuple(groups), np.array(owners, dtype=np.int64), tuple(pairs))


def _placed_groups(hits: Hits) -> Iterator[tuple[int, list[Placed]]]:
    """For each query, the number of judged documents that were retrieved, and its groups.

    Among documents with the same score the smaller id is first, as trec_eval orders them for preferences alone.
    """
    order = np.lexsort((-hits.ranks, hits.ties.starts, hits.query_index))
    for query in range(len(hits.queries)):
        span = order[hits.offsets[query] : hits.offsets[query + 1]]
        if hits.codes is None:
            yield _of_grades(hits, query, span)
            continue
        known = hits.judged.offsets[query + 1] - hits.judged.offsets[query]
        codes = hits.codes[span]
        places = np.zeros(known, dtype=np.int64)
        others = np.setdiff1d(np.arange(known), codes)[::-1]
        places[np.concatenate((codes, others))] = np.arange(known)
        yield len(codes), [_placed(group, places) for group in _groups(hits, query)]


def _of_grades(hits: Hits, query: int, span: IntArray) -> tuple[int, list[Placed]]:
    """The only group of a query without codes: its levels are the grades, those of the retrieved documents first."""
    retrieved = hits.grades[span]
    retrieved = retrieved[retrieved >= 0]
    judged = hits.judged.grades[hits.judged.offsets[query] : hits.judged.offsets[query + 1]]
    judged = judged[judged >= 0]
    size = int(judged.max(initial=0)) + 1
    missed = np.bincount(judged, minlength=size) - np.bincount(retrieved, minlength=size)
    levels = np.concatenate((retrieved, list_numbers(missed))).astype(np.float64)
    group = PreferenceGroup(np.arange(len(levels)), levels)
    return len(retrieved), [_placed(group, group.codes)] if len(levels) else []


def _groups(hits: Hits, query: int) -> Iterator[PreferenceGroup]:
    """The groups of a query whose documents have codes: its preferences, or the grades of each judgement group."""
    if hits.judged.preferences is not None:
        yield from hits.judged.preferences[query]
        return
    documents = hits.judged.documents
    assert documents is not None, "judged by code"
    first, last = documents.offsets[query], documents.offsets[query + 1]
    if documents.subtopics is None:
        yield _judged_group(np.arange(last - first), documents.grades[first:last])
        return
    subtopics = documents.subtopics
    rows = slice(*np.searchsorted(subtopics.documents, (first, last)))
    topics = range(subtopics.offsets[query], subtopics.offsets[query + 1])
    for topic in sorted(topics, key=subtopics.names.__getitem__):
        at = np.flatnonzero(subtopics.subtopics[rows] == topic) + rows.start
        yield _judged_group(subtopics.documents[at] - first, subtopics.grades[at])


def _judged_group(codes: IntArray, grades: IntArray) -> PreferenceGroup:
    kept = grades >= 0
    return PreferenceGroup(codes[kept], grades[kept].astype(np.float64))


def _placed(group: PreferenceGroup, places: IntArray) -> Placed:
    """The group in the order of its places."""
    at = places[group.codes]
    order = np.argsort(at)
    partial = None if group.better is None else group.better[np.ix_(order, order)]
    return Placed(at[order], group.levels[order], partial)


def _group_counts(group: Placed, retrieved: int) -> GroupCounts:
    """The preferences of the group; documents at places below `retrieved` were retrieved."""
    first = int(np.searchsorted(group.places, retrieved))
    relevant = group.levels > 0
    if group.partial is not None:
        both, either, every = _areas(group.partial, first)
        # The first R non-relevant documents, where R is the number of relevant ones.
        kept = relevant | (np.cumsum(~relevant) <= int(relevant.sum()))
        both_kept, _, every_kept = _areas(group.partial & kept[:, None] & kept[None, :], first)
    else:
        both, either, every = _areas_of_levels(group.levels, first)
        both_kept, every_kept = _kept_counts(group.levels[:first], first), _kept_counts(group.levels, first)
    total = int(relevant.sum())
    return GroupCounts(
        all=every,
        both=both,
        either=either,
        all_limited=_filled(every, relevant, total, first) or every_kept,
        both_limited=_filled(both, relevant[:first], total, first) or both_kept,
    )


def _areas(better: BoolArray, first: int) -> tuple[Counts, Counts, Counts]:
    """The preferences with both documents retrieved, with at least one, and all; the first documents were retrieved."""
    upper = float(np.triu(better[:first, :first], 1).sum())
    both = Counts(upper, float(better[:first, :first].sum()))
    implied = float(better[:first, first:].sum())
    either = Counts(upper + implied, both.possible + implied + float(better[first:, :first].sum()))
    return both, either, Counts(either.fulfilled, either.possible + float(better[first:, first:].sum()))


def _areas_of_levels(levels: FloatArray, first: int) -> tuple[Counts, Counts, Counts]:
    """The same, where every document of a higher level is preferred to every one of a lower level."""
    retrieved, others = levels[:first], levels[first:]
    both = Counts(_in_order(retrieved), _different(retrieved))
    implied = _above(retrieved, others)
    either = Counts(both.fulfilled + implied, both.possible + implied + _above(others, retrieved))
    return both, either, Counts(either.fulfilled, either.possible + _different(others))


def _in_order(levels: FloatArray) -> float:
    """The number of pairs of which the first has the higher level."""
    return float(sum(((levels > level).cumsum() * (levels == level)).sum() for level in np.unique(levels)[:-1]))


def _different(levels: FloatArray) -> float:
    """The number of pairs with different levels."""
    counts = np.unique(levels, return_counts=True)[1]
    return float(len(levels) ** 2 - (counts**2).sum()) / 2


def _above(levels: FloatArray, others: FloatArray) -> float:
    """The number of pairs of one of the levels and one of the others that is lower."""
    return float(np.searchsorted(np.sort(others), levels, side="left").sum())


def _filled(counts: Counts, chosen: BoolArray, total: int, first: int) -> Counts | None:
    """The counts with non-relevant documents filled up to R, as if not retrieved; None if there are more than R already."""
    relevant, others = int(chosen.sum()), int((~chosen).sum())
    if relevant < others:
        return None
    retrieved = int(chosen[:first].sum())
    return Counts(counts.fulfilled + retrieved * (relevant - others), counts.possible + total * (relevant - others))


def _kept_counts(levels: FloatArray, first: int) -> Counts:
    """The counts with the first R non-relevant documents, as in trec_eval: all documents, also the others, are preferred to them.

    R is the number of relevant documents, and the first documents were retrieved.
    """
    relevant = levels > 0
    places = np.flatnonzero(~relevant)[: int(relevant.sum())]
    among = levels[relevant]
    retrieved = int(relevant[:first].sum())
    fulfilled = _in_order(among[:retrieved]) + _above(among[:retrieved], among[retrieved:])
    return Counts(fulfilled + float(np.minimum(places, first).sum()), _different(among) + float(len(levels) * len(places)))


def _pairs_of_one(groups: list[GroupCounts]) -> PairMeans:
    """The means over pairs where there is one judge: the shares of preferences."""
    return (
        PairMeans(*(counts.share for group in groups for counts in (group.all, group.both, group.either)))
        if groups
        else _NO_PAIRS
    )


_NO_PAIRS = PairMeans(0.0, 0.0, 0.0)


def _pair_means(groups: list[Placed], retrieved: int) -> PairMeans:
    """The means over pairs of documents between which a judge has a preference."""
    size = max((int(group.places[-1]) + 1 for group in groups if len(group.places)), default=0)
    counts = np.zeros((size, size), dtype=np.int64)
    for group in groups:
        counts[np.ix_(group.places, group.places)] += group.better
    known = np.triu(counts + counts.T > 0, 1)
    shares = ratio(counts[known], (counts + counts.T)[known])
    rows, columns = np.nonzero(known)
    both, implied = columns < retrieved, (rows < retrieved) & (columns >= retrieved)
    terms = np.concatenate((shares[both], shares[implied]))
    sums = np.concatenate(([0.0], np.add.accumulate(terms)))
    pairs = int(both.sum()), len(terms), len(shares)
    of_both, of_either, of_all = (
        float(total / count) if count else 0.0 for total, count in zip((sums[pairs[0]], sums[-1], sums[-1]), pairs, strict=True)
    )
    return PairMeans(of_all, of_both, of_either)


_OF = Option("preferences that count: all, those with both documents retrieved, or with at least one (either)")


@dataclass(frozen=True, kw_only=True, repr=False)
class PreferencesFulfilled(Measure):
    """The share of preferences that the ranking fulfils."""

    mean: Annotated[
        Literal["preference", "pair", "group"],
        Option("what counts the same: each preference, each pair of documents, or each group of preferences"),
    ] = "preference"
    of: Annotated[Pairs, _OF] = "all"
    nonrel: Annotated[Literal["all", "R"], Option("non-relevant documents that count: all, or as many as relevant ones (R)")] = (
        "all"
    )
    name = "PrefsFul"
    title = "Preferences fulfilled"
    family = "preferences"
    formula = "fulfilled preferences / preferences"
    definition = (
        "Preferences for a document over another that is ranked below it or not retrieved, divided by all preferences. With"
        " mean='pair', the mean over pairs of documents of the share of judges that prefer the first; with mean='group', the mean"
        " over groups, in which a group without preferences counts 0. of='both' counts preferences with both documents retrieved,"
        " of='either' with at least one. nonrel='R' counts as many non-relevant documents of a group as it has relevant ones."
    )
    source = "Carterette and others 2008; trec_eval prefs_simp, prefs_pair, prefs_avgjg"
    parity = "trec_eval"
    aliases = (
        *("prefs_simp", "prefs_simp_ret", "prefs_simp_imp", "prefs_pair", "prefs_pair_ret", "prefs_pair_imp", "prefs_avgjg"),
        *("prefs_avgjg_ret", "prefs_avgjg_imp", "prefs_avgjg_Rnonrel", "prefs_avgjg_Rnonrel_ret"),
    )
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "prefs_simp_ret": {"of": "both"},
        "prefs_simp_imp": {"of": "either"},
        "prefs_pair": {"mean": "pair"},
        "prefs_pair_ret": {"mean": "pair", "of": "both"},
        "prefs_pair_imp": {"mean": "pair", "of": "either"},
        "prefs_avgjg": {"mean": "group"},
        "prefs_avgjg_ret": {"mean": "group", "of": "both"},
        "prefs_avgjg_imp": {"mean": "group", "of": "either"},
        "prefs_avgjg_Rnonrel": {"mean": "group", "nonrel": "R"},
        "prefs_avgjg_Rnonrel_ret": {"mean": "group", "of": "both", "nonrel": "R"},
    }
    advice = Advice(
        "ordering",
        "people said which of two documents is better, rather than how good each is.",
        "documents have grades: nDCG weighs the top ranks, preferences do not.",
    )
    kind = "graded"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nonrel == "R" and (self.mean != "group" or self.of == "either"):
            raise UsageError("nonrel='R' needs mean='group', and not of='either'", fix="write PrefsFul(mean='group',nonrel='R')")

    def values(self, hits: Hits) -> FloatArray:
        counts = preference_counts(hits)
        if self.mean == "pair":
            return np.array([getattr(pair, self.of) for pair in counts.pairs], dtype=np.float64)
        fulfilled, possible = counts.of(self.of if self.nonrel == "all" else f"{self.of}_limited").T
        number = len(hits.queries)
        if self.mean == "preference":
            return ratio(sum_by_query(counts.owners, fulfilled, number), sum_by_query(counts.owners, possible, number))
        means = ratio(
            sum_by_query(counts.owners, ratio(fulfilled, possible), number), np.bincount(counts.owners, minlength=number)
        )
        undefined = counts.owners[possible == 0] if self.nonrel == "R" else counts.owners[:0]
        means[undefined] = 0.0
        return means


PrefsFul = PreferencesFulfilled()


class NumberOfPreferences(CountMeasure):
    """The number of preferences."""

    name = "NumPrefs"
    title = "Number of preferences"
    family = "preferences"
    definition = "The number of preferences of all groups, including queries missing from the run."
    source = "trec_eval prefs_num_prefs_poss"
    parity = "trec_eval"
    aliases = ("prefs_num_prefs_poss",)
    advice = Advice("checking", "you check that the preferences are the ones you expect.", "you want to measure quality.")

    def values(self, hits: Hits) -> FloatArray:
        counts = preference_counts(hits)
        return sum_by_query(counts.owners, counts.of("all")[:, 1], len(hits.queries))


NumPrefs = NumberOfPreferences()


@dataclass(frozen=True, kw_only=True, repr=False)
class NumberOfPreferencesFulfilled(CountMeasure):
    """The number of preferences that the ranking fulfils."""

    of: Annotated[Pairs, _OF] = "all"
    name = "NumPrefsFul"
    title = "Number of preferences fulfilled"
    family = "preferences"
    definition = (
        "The number of preferences for a document over another that is ranked below it or not retrieved; with of='both', of those"
        " with both documents retrieved."
    )
    source = "trec_eval prefs_num_prefs_ful, prefs_num_prefs_ful_ret"
    parity = "trec_eval"
    aliases = ("prefs_num_prefs_ful", "prefs_num_prefs_ful_ret")
    alias_parameters: ClassVar[Mapping[str, Mapping[str, Any]]] = {"prefs_num_prefs_ful_ret": {"of": "both"}}
    advice = Advice(
        "checking",
        "you want the share of preferences as a count.",
        "a few queries have most of the preferences: they then dominate the sum.",
    )
    higher_is_better = True

    def values(self, hits: Hits) -> FloatArray:
        counts = preference_counts(hits)
        return sum_by_query(counts.owners, counts.of(self.of)[:, 0], len(hits.queries))


NumPrefsFul = NumberOfPreferencesFulfilled()

MEASURES_OF_PREFERENCES = ("PrefsFul", "NumPrefs", "NumPrefsFul", "NumQ", "NumRet", "runid")
"""The measures that need no grades."""
