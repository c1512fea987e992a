"""Whether a rival of the chosen system was judged as well: the documents that only one of the two shows."""

from __future__ import annotations

import os
import shlex
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from rankproof._analysis.compare.decision_data import has_non_relevant, least_relevant, run_of_queries, top_rows
from rankproof._analysis.compare.joined_values import JoinedValues, only_queries
from rankproof._analysis.decision.decide import DecisionData
from rankproof._analysis.decision.record import Decision, OwnDocuments, PairDifference, UnjudgedClaim, UnjudgedRival
from rankproof._analysis.inputs import AnalysisInput
from rankproof._data.arrays import BoolArray, FloatArray, IntArray, read_only
from rankproof._data.ordering import ranked_documents
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import USUAL_PRIMARY
from rankproof._evaluation.sources import RunSources
from rankproof._fusion.candidates import CandidateTable
from rankproof._results.label_tasks import labelled_folder
from rankproof._statistics.decision_rule import SIGNIFICANT, pair_estimates, risks
from rankproof._statistics.options import Looks
from rankproof.errors import escape_invisible
from rankproof.measures._base import Measure

_JUDGE_NEXT = 20
USUAL_DEPTH = 10
"""The ranks that count for a measure without a cutoff."""
_MIN_RELEVANT = 2.0
"""With fewer known relevant documents per query, a poor rival and an unjudged one look alike."""
_FEW_RESULTS = 2
_MIN_OWN, _MIN_UNKNOWN = 30, 10
"""A share of own documents needs 30 of them; that hardly one outside a pool is known is seen of 10."""
_MANY_QUERIES = 5_000
"""Of more queries, every n-th is looked at first, which is faster."""
_GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it spread a share of the documents evenly over queries and ranks."""
_LEAST_SHARE = {True: 3 / 5, False: 1 / 4}
"""A rival whose share is below this part of the chosen system's may not have been judged; by whether there are judged zeros.

Simulated with `python -m benchmarks.unjudged_rule`: 1/3 without zeros leaves too many comparisons of complete judgements open,
and 1/2 with zeros leaves too many wrong choices among systems of one result per query.
"""
_STEPS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Shares of the rival's unjudged documents that may be relevant."""
_FURTHER_STEPS = (0.7, 1.0)
"""Larger shares of documents about which nothing is known: hardly one was judged, or none is known to be relevant."""
_HARDLY_JUDGED = 1 / 10
"""Of hardly judged documents, less than this share has a judgement although the collection has judged zeros."""
_SHARE_OF_ZEROS = 3 / 4
"""If at least this share of a system's own documents that are not relevant was judged, its documents were judged with zeros."""
LARGEST_POOL = 100
"""Pools of judged documents are looked for down to this rank."""
_NEARLY_ALL = 0.98
"""With this share of the known documents in the top of a system, perhaps only this top was judged."""
_AT_EDGE, _FEWEST_AT_EDGE = 5, 50
"""A pool ends where 5 times fewer documents are known than just above, of which at least 50 are."""
_FIRST_EDGE = {False: 3, True: 5}
"""The least depth of an edge, by whether queries have few known relevant documents, of which a good system shows all at once."""
_SHALLOW_POOL = 50
"""A deeper pool ends at an edge: of a small collection, a good system shows nearly every relevant document in such a top."""
_POOL_SAMPLE = 200
"""So many queries show that the known documents are elsewhere too."""


def results_folder(inputs: AnalysisInput) -> str:
    """The results folder of the input; empty if there is none, or several."""
    return next((folder for file in inputs.labels if (folder := labelled_folder(file)) and os.path.isdir(folder)), "")


def audit_command(inputs: AnalysisInput, measure: Measure) -> str:
    """The command that lists pairs to judge for a measure: of the results folder, or of the files of judgements and runs.

    Judgements or runs that are not files are named by what they are.
    """
    folder, rel = results_folder(inputs), ["--rel", str(inputs.rel)] if inputs.rel != 1 else []
    if folder or inputs.system_runs:
        words = [folder or "RESULTS"]
    else:
        runs = inputs.runs.sources if isinstance(inputs.runs, RunSources) else inputs.runs
        files = [
            os.fspath(source) if isinstance(source, str | os.PathLike) else getattr(source, "source", "")
            for source in runs.values()
        ]
        is_file = bool(files) and all(map(os.path.isfile, (inputs.qrels.source, *files)))
        words = [inputs.qrels.source, *dict.fromkeys(files), *rel] if is_file else ["QRELS", "RUN…", *rel]
    named = [] if str(measure) == USUAL_PRIMARY else ["-m", str(measure)]
    shown = " ".join(word if word == "RUN…" else escape_invisible(shlex.quote(word)) for word in (*words, *named))
    return f"rankproof audit {shown} --judge-next {_JUDGE_NEXT}"


@dataclass(frozen=True, eq=False)
class TopDocuments:
    """The documents in the top of any system or with a judgement, query by query; `tops` says which system shows which.

    `runs` are the rankings that decide the measure: their tops where it has a cutoff.
    """

    systems: tuple[str, ...]
    table: CandidateTable
    tops: BoolArray
    judged: BoolArray
    relevant: BoolArray
    runs: Mapping[str, Run]
    has_zeros: bool
    depth: int
    deep_lists: Callable[[str, Collection[str]], Mapping[str, Sequence[str]]]
    _pools: dict[int, tuple[int, BoolArray] | None] = field(default_factory=dict)

    @cached_property
    def queries_of_relevant(self) -> IntArray:
        """The query of each known relevant document, by its index in the table."""
        return np.asarray(self.table.query_index[self.relevant])

    @cached_property
    def usual_grade(self) -> int:
        """The median grade of the known relevant documents, the lower one of two; 0 without any."""
        grades = np.sort(self.table.scores_of(-1)[self.relevant])
        return int(grades[(len(grades) - 1) // 2]) if len(grades) else 0

    @cached_property
    def highest_grade(self) -> int:
        """The highest grade of a known relevant document; 0 without any."""
        return int(self.table.scores_of(-1)[self.relevant].max(initial=0))

    @property
    def few_are_known(self) -> bool:
        """Whether queries have on average fewer than two known relevant documents, so that a poor rival looks unjudged."""
        return len(self.queries_of_relevant) < _MIN_RELEVANT * len(np.unique(self.queries_of_relevant))

    @cached_property
    def are_short(self) -> bool:
        """Whether no system shows more than two documents per query, so that a few unjudged ones decide."""
        return bool(self.tops.sum(axis=1).max(initial=0) <= _FEW_RESULTS * len(self.table.queries))

    @property
    def known(self) -> BoolArray:
        """The judged documents, or without judged zeros the relevant ones."""
        return self.judged if self.has_zeros else self.relevant

    def pool(self, system: int) -> tuple[int, BoolArray] | None:
        """The depth of the top that was perhaps judged alone, and the documents in it; None if others were judged too."""
        if system not in self._pools:
            step = len(self.table.queries) // _POOL_SAMPLE + 1
            sampled = self.table.query_index % step == 0
            is_possible = step == 1 or self._pool(system, sampled, _FEWEST_AT_EDGE // 3) is not None
            self._pools[system] = self._pool(system, np.ones(self.table.size, np.bool_)) if is_possible else None
        return self._pools[system]

    def _pool(self, system: int, counted: BoolArray, fewest: int = _FEWEST_AT_EDGE) -> tuple[int, BoolArray] | None:
        """The pool of the system by the documents that count: it holds nearly every known one, or ends at an edge."""
        ranks, shown = self._ranks(system, counted)
        known = ranks[self.known & counted]
        by_rank = np.bincount(known, minlength=len(shown))
        depths = np.flatnonzero(np.cumsum(by_rank[1:]) >= _NEARLY_ALL * max(len(known), 1)) + 1
        depth = int(depths[0]) if len(depths) else None
        if depth is None:
            depth = _edge(by_rank, shown, _FIRST_EDGE[self.few_are_known], fewest)
        elif depth > _SHALLOW_POOL and _is_seen(shown, depth):
            depth = _edge(by_rank, shown, depth, fewest // 2)
        return None if depth is None else (depth, (ranks > 0) & (ranks <= depth))

    def _ranks(self, system: int, counted: BoolArray) -> tuple[IntArray, IntArray]:
        """The rank of each document that counts in the whole ranking of a system, 0 for others; and the documents by rank."""
        queries, docs, owners = self.table.queries, self.table.docs, self.table.query_index
        names = [queries[at] for at in np.unique(owners[counted]).tolist()]
        lists = self.deep_lists(self.systems[system], names)
        places = {query: {doc: rank for rank, doc in enumerate(lists.get(query, ()), start=1)} for query in names}
        ranks = np.zeros(self.table.size, np.int64)
        for at in np.flatnonzero(counted).tolist():
            ranks[at] = places[queries[owners[at]]].get(docs[at], 0)
        lengths = np.bincount([len(own) for own in places.values()], minlength=LARGEST_POOL + 2)
        return ranks, len(names) - np.cumsum(lengths) + lengths

    def own(self, system: int, rival: int, *, outside_pool: bool = False) -> BoolArray:
        """The documents that the system shows and the rival does not, or those outside the rival's pool."""
        pool = self.pool(rival) if outside_pool else None
        return np.asarray(self.tops[system] & ~(self.tops[rival] if pool is None else pool[1]))

    def pair_has_zeros(self, chosen: int, rival: int) -> bool:
        """Whether unjudged documents are unusual: most queries have judged zeros, or the chosen system's own documents have."""
        own = self.own(chosen, rival) & ~self.relevant
        return self.has_zeros or bool((own & self.judged).sum() >= max(_SHARE_OF_ZEROS * own.sum(), 1))

    def own_documents(self, system: int, rival: int, *, has_zeros: bool, outside_pool: bool = False) -> OwnDocuments:
        """How many own documents the system has, and how many are judged, or known to be relevant without judged zeros."""
        own = self.own(system, rival, outside_pool=outside_pool)
        known, relevant = own & (self.judged if has_zeros else self.relevant), own & self.relevant
        return OwnDocuments(self.systems[system], int(known.sum()), int(relevant.sum()), int(own.sum()))

    def relevant_share(self, system: int, rival: int) -> float:
        """The relevant share of the system's own documents, down to the last rank at which any document is known."""
        own, ranks = self.own(system, rival), self.table.ranks[system]
        own &= ranks <= ranks[self.relevant & self.tops[system]].max(initial=0)
        return float((own & self.relevant).sum() / max(int(own.sum()), 1))


def _edge(known: IntArray, shown: IntArray, first: int, fewest: int) -> int | None:
    """The depth below which hardly a document is known, though many just above it are; both arrays are by rank, from 0."""
    for depth in range(first, LARGEST_POOL * 2 // 3):
        above, below = _around(depth)
        if _is_seen(shown, depth) and known[above].sum() >= max(fewest, _AT_EDGE * known[below].sum()):
            return depth
    return None


def _is_seen(shown: IntArray, depth: int) -> bool:
    """Whether rankings go on below a depth, so that an edge there would be seen."""
    above, below = _around(depth)
    return bool(shown[below].sum() >= shown[above].sum() / 2)


def _around(depth: int) -> tuple[slice, slice]:
    """The ranks just above and just below a depth."""
    return slice(depth - depth // 2 + 1, depth + 1), slice(depth + 1, depth + depth // 2 + 1)


def top_documents(inputs: AnalysisInput, joined: JoinedValues, *, has_zeros: bool) -> TopDocuments | None:
    """The documents that systems show in the top of the decision's measure; None where rankings are not known or unusual."""
    options = inputs.read_options
    if joined.measures[0].kind == "answer" or joined.measures[0].needs_subtopics:
        return None
    if any(name not in inputs.runs for name in joined.systems):
        return None
    depth = min(int(getattr(joined.measures[0], "cutoff", None) or USUAL_DEPTH), options.depth or USUAL_DEPTH * 1000)
    counted = frozenset(joined.queries)
    runs = {name: top_rows(run_of_queries(inputs.runs, name, counted), options, depth) for name in joined.systems}
    ordered = [_by_score(run, options) for run in runs.values()]
    by_score = replace(options, depth=None, order="score", lower_is_better=False, judged_only=False)
    grades = {query: _highest_first(inputs.qrels[query]) for query in joined.queries}
    table = CandidateTable.of([*ordered, _as_run(grades)], by_score, queries=joined.queries)
    shown = table.shown(depth)[:-1]
    judged = np.isin(np.arange(table.size), table.places[table.spans[-1]])
    relevant = judged & (table.scores_of(-1) >= least_relevant(inputs, joined.measures[0]))
    whole = runs if getattr(joined.measures[0], "cutoff", None) else inputs.runs

    def deep_lists(system: str, queries: Collection[str]) -> Mapping[str, Sequence[str]]:
        return top_lists(inputs.runs[system], replace(options, depth=None), queries, LARGEST_POOL)

    return TopDocuments(joined.systems, table, shown, judged, relevant, whole, has_zeros, depth, deep_lists)


def top_lists(run: Run, options: ReadOptions, queries: Collection[str], depth: int) -> dict[str, list[str]]:
    """The first documents of each of these queries."""
    top = top_rows(run.restricted_to(frozenset(queries)), replace(options, judged_only=False), depth)
    return {query: docs[:depth] for query, docs in ranked_documents(_by_score(top, options)).items()}


def _by_score(run: Run, options: ReadOptions) -> Run:
    """The run with scores that fall in the order of its rankings."""
    if options.order == "rank" and run.ranks is not None:
        return run.changed(scores=read_only(-run.ranks.astype(np.float64)))
    return run.changed(scores=read_only(-run.scores)) if options.lower_is_better else run


def _highest_first(judged: Mapping[str, int]) -> dict[str, int]:
    """The grades from 0 on in the order of a ranking, so that the rows of all runs need no sorting."""
    kept = [(grade, doc) for doc, grade in judged.items() if grade >= 0]
    return {doc: grade for grade, doc in sorted(kept, reverse=True)}


def _as_run(grades: dict[str, dict[str, int]]) -> Run:
    sizes = np.fromiter(map(len, grades.values()), np.int64, len(grades))
    scores = np.fromiter((grade for docs in grades.values() for grade in docs.values()), np.float64)
    return Run.from_columns(
        name="judgements",
        queries=tuple(grades),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        docs=tuple(doc for docs in grades.values() for doc in docs),
        scores=scores,
    )


@dataclass(frozen=True, slots=True)
class ChosenSystems:
    """The chosen systems, the other ones, the margin and looks of the choice, and what is claimed of the chosen systems."""

    systems: tuple[str, ...]
    others: tuple[str, ...]
    margin: float
    looks: Looks = "one"
    claim: UnjudgedClaim = "safe"


def with_unjudged_documents(inputs: AnalysisInput, whole: JoinedValues, data: DecisionData, decision: Decision) -> Decision:
    """The decision, without what it could not say if a rival of its systems was hardly judged and is better than it looks.

    `whole` are the values of all queries: one without a relevant document may have one that only the rival shows.
    """
    is_known = whole.measures[0].kind != "answer" and all(name in inputs.runs for name in whole.systems)
    if decision.labelled or not is_known:
        return decision
    # Queries of which no relevant document is known have zeros too.
    findings = _PossibleFindings(inputs, whole, data, has_zeros=has_non_relevant(inputs, whole.queries))
    if not decision.decided:
        return replace(decision, better=tuple(pair for pair in decision.better if not findings.may_refute(decision, pair)))
    others = tuple(pair.other for pair in decision.against if pair.other not in decision.systems)
    choice = ChosenSystems(decision.systems, others, decision.margin, decision.looks)
    finding, is_open = findings.finding(choice)
    if is_open:
        decision = replace(decision, outcome="not_decided", kind=None, systems=(), reason="unjudged", other_margin=None)
    elif decision.kind == "better":
        other, is_refuted = findings.finding(replace(choice, claim="better"))
        finding, decision = (other, replace(decision, kind="safe")) if is_refuted else (finding, decision)
    return decision if finding is None else replace(decision, unjudged_rival=finding)


def unjudged_rival(
    inputs: AnalysisInput, whole: JoinedValues, data: DecisionData, choice: ChosenSystems, *, has_zeros: bool
) -> tuple[UnjudgedRival | None, bool]:
    """A rival that may not have been judged, if there is one, and whether nothing can be chosen because of it."""
    return _PossibleFindings(inputs, whole, data, has_zeros=has_zeros).finding(choice)


@dataclass(frozen=True, eq=False)
class _PossibleFindings:
    """Looks for other systems that may not have been judged, with the values of all queries."""

    inputs: AnalysisInput
    whole: JoinedValues
    data: DecisionData
    has_zeros: bool

    @cached_property
    def sampled(self) -> TopDocuments | None:
        """The tops of some of the queries: a sample rules out most systems before all rankings are cut and joined."""
        return top_documents(self.inputs, _every_nth(self.whole), has_zeros=self.has_zeros)

    @cached_property
    def tops(self) -> TopDocuments | None:
        """The tops of all queries."""
        if len(self.whole.queries) <= _MANY_QUERIES:
            return self.sampled
        return top_documents(self.inputs, self.whole, has_zeros=self.has_zeros)

    def finding(self, choice: ChosenSystems) -> tuple[UnjudgedRival | None, bool]:
        """A rival that may not have been judged, and whether what is claimed of the chosen systems is open because of it.

        Where queries have few known relevant documents, a poor rival and an unjudged one look alike, unless judged zeros show
        that hardly a document of the rival was judged, or far fewer of short lists. So the claim is open only if no own document
        of the rival is known to be relevant, and twice as many of them as of the chosen system's would refute it. Else it is
        said.
        """
        if self.sampled is None or not any(_suspects(choice, self.sampled)) or (tops := self.tops) is None:
            return None, False
        finding = None
        for pair in _suspects(choice, tops):
            case = _Suspicion(self.inputs, self.whole, self.data, choice, tops, pair)
            needed = case.needed_share()
            if needed is None and not case.is_one_pool:
                continue
            is_clear = not tops.few_are_known or case.is_hardly_judged or (pair.has_zeros and tops.are_short)
            is_near = is_clear or case.is_refuted(2 * case.relevant_share)
            shown = is_near or case.is_unknown or needed is None
            rival = case.finding(needed, is_near=shown)
            finding = rival if finding is None or rival.is_near else finding
            if case.is_perfect or (needed is not None and (is_clear or (case.is_unknown and is_near))):
                return finding, True
        return finding, False

    def may_refute(self, decision: Decision, pair: PairDifference) -> bool:
        """Whether the second system of a pair may be as good as the first, because it was hardly judged."""
        choice = ChosenSystems((pair.system,), (pair.other,), decision.margin, decision.looks, "better")
        return self.finding(choice)[1]


def _every_nth(joined: JoinedValues) -> JoinedValues:
    """About as many queries as are enough to see that a system was not judged; all queries unless there are many."""
    if len(joined.queries) <= _MANY_QUERIES:
        return joined
    step = len(joined.queries) // _MANY_QUERIES + 1
    return only_queries(joined, [not at % step for at in range(len(joined.queries))])


@dataclass(frozen=True, slots=True)
class _Pair:
    """Own documents of a chosen system and of a rival of which far fewer are known; `pool_depth` as in `UnjudgedRival`."""

    chosen: OwnDocuments
    other: OwnDocuments
    has_zeros: bool
    pool_depth: int | None = None


def _suspects(choice: ChosenSystems, tops: TopDocuments) -> Iterator[_Pair]:
    """The pairs of a chosen system and a rival of whose own documents far fewer are known.

    If nearly every known document is in one top of the chosen system, or hardly one just below it, perhaps only this pool was
    judged, and the rival's documents in it say nothing of the others.
    """
    index = {name: at for at, name in enumerate(tops.systems)}
    for name in choice.systems:
        for rival in (*choice.others, *(system for system in choice.systems if system != name)):
            first, second = index[name], index[rival]
            has_zeros = tops.pair_has_zeros(first, second)
            chosen = tops.own_documents(first, second, has_zeros=has_zeros)
            other = tops.own_documents(second, first, has_zeros=has_zeros)
            if not chosen.known or not other.shown:
                continue
            if other.share < _LEAST_SHARE[has_zeros] * chosen.share:
                yield _Pair(chosen, other, has_zeros)
            if other.shown < _MIN_UNKNOWN or (pool := tops.pool(first)) is None:
                continue
            outside = tops.own_documents(second, first, has_zeros=has_zeros, outside_pool=True)
            if outside.shown >= _MIN_UNKNOWN and outside.share < _LEAST_SHARE[has_zeros] * chosen.share:
                yield _Pair(chosen, outside, has_zeros, pool[0])


@dataclass(frozen=True, eq=False, slots=True)
class _Suspicion:
    """A chosen system and a rival that may not have been judged."""

    inputs: AnalysisInput
    whole: JoinedValues
    data: DecisionData
    choice: ChosenSystems
    tops: TopDocuments
    pair: _Pair

    @property
    def is_hardly_judged(self) -> bool:
        """Whether hardly one of many own documents of the rival was judged, although zeros were."""
        return self.pair.has_zeros and self.pair.other.shown >= _MIN_OWN and self.pair.other.share < _HARDLY_JUDGED

    @property
    def is_unknown(self) -> bool:
        """Whether none of many own documents of the rival is known to be relevant, or hardly one outside the judged pool."""
        hardly = self.pair.pool_depth is not None and self.pair.other.share < _HARDLY_JUDGED * self.pair.chosen.share
        least = _MIN_OWN if self.pair.pool_depth is None else _MIN_UNKNOWN
        return self.pair.other.shown >= least and (hardly or not self.pair.other.relevant)

    @property
    def relevant_share(self) -> float:
        """The relevant share of the chosen system's own documents as far as they were judged."""
        return self.tops.relevant_share(*(self.whole.systems.index(own.system) for own in (self.pair.chosen, self.pair.other)))

    @property
    def is_any_possible(self) -> bool:
        """Whether nothing is known of the rival's own documents, so that each may be relevant, and of the highest grade."""
        return self.is_hardly_judged or (self.is_unknown and not self.pair.has_zeros)

    @property
    def grade(self) -> int:
        """The grade of the rival's unjudged documents if they are relevant."""
        least = max(least_relevant(self.inputs, self.whole.measures[0]), 1)
        return max(self.tops.highest_grade if self.is_any_possible else self.tops.usual_grade, least)

    @property
    def is_one_pool(self) -> bool:
        """Whether the chosen system shows every known relevant document, so that perhaps only its documents were judged.

        Queries whose relevant documents only others show are then missing in the judgements.
        """
        shown = self.tops.tops[self.whole.systems.index(self.pair.chosen.system)]
        return not self.pair.has_zeros and not (self.tops.relevant & ~shown).any()

    @property
    def is_perfect(self) -> bool:
        """Whether every known relevant document stands above all others in the chosen system, as if it had been judged alone."""
        if not self.is_one_pool:
            return False
        ranks = self.tops.table.ranks[self.whole.systems.index(self.pair.chosen.system)][self.tops.relevant]
        return bool((ranks <= np.bincount(self.tops.queries_of_relevant)[self.tops.queries_of_relevant]).all())

    def finding(self, needed: float | None, *, is_near: bool) -> UnjudgedRival:
        """The rival that may not have been judged."""
        pair, tops = self.pair, self.tops
        grade = self.grade if self.grade > tops.usual_grade and self.whole.measures[0].kind == "graded" else None
        claim = self.choice.claim
        return UnjudgedRival(pair.chosen, pair.other, needed, pair.has_zeros, tops.depth, is_near, claim, grade, pair.pool_depth)

    def needed_share(self) -> float | None:
        """The smallest share of the rival's unjudged own documents that, if relevant, refutes what is claimed."""
        steps = _STEPS + _FURTHER_STEPS if self.is_any_possible else _STEPS + self._steps_as_judged
        return steps[bisect_left(steps, True, key=self.is_refuted)] if self.is_refuted(steps[-1]) else None

    @property
    def _steps_as_judged(self) -> tuple[float, ...]:
        """The share of relevant ones among the rival's judged documents, if it is larger than the usual steps."""
        share = self.pair.other.relevant / self.pair.other.known if self.pair.has_zeros and self.pair.other.known else 0.0
        return (*(step for step in _FURTHER_STEPS if step < share), share) if share > _STEPS[-1] else ()

    def is_refuted(self, share: float) -> bool:
        """Whether the claim on the chosen system fails if so many unjudged documents of the rival are relevant.

        It is that its risk is within its limit, or that it is significantly better.
        """
        chosen, other = pair = [self.whole.systems.index(documents.system) for documents in (self.pair.chosen, self.pair.other)]
        own = self.tops.own(other, chosen, outside_pool=self.pair.pool_depth is not None)
        docs = np.flatnonzero(own & ~self.tops.judged)
        picked = docs[np.arange(len(docs)) * _GOLDEN % 1.0 < share]
        values = self.data.oriented(self.whole.values[0]).copy()
        values[:, pair] = self.data.oriented(_values_with(self.inputs, self.whole, self.tops, picked, self.grade, pair))
        rows = self._rows_that_count(picked)
        weights = None if self.whole.weights is None else self.whole.weights[rows]
        estimates = pair_estimates(values[rows], weights)
        if self.choice.claim == "better":
            return bool(estimates.scores()[chosen, other] < SIGNIFICANT)
        pair_risks = risks(estimates, self.choice.margin, self.choice.looks)
        return bool(pair_risks.risk[chosen] > pair_risks.limit[chosen])

    def _rows_that_count(self, picked: IntArray) -> IntArray | slice:
        """The queries with a relevant document if the picked ones are relevant."""
        if self.whole.measures[0].kind not in ("binary", "graded"):
            return slice(None)
        return np.union1d(self.tops.queries_of_relevant, self.tops.table.query_index[picked])


def _values_with(
    inputs: AnalysisInput, whole: JoinedValues, tops: TopDocuments, picked: IntArray, grade: int, systems: Sequence[int]
) -> FloatArray:
    """The values of these systems if the picked documents had this grade."""
    measure, grades = whole.measures[0], {query: dict(inputs.qrels[query]) for query in whole.queries}
    for at, query in zip(picked.tolist(), tops.table.query_index[picked].tolist(), strict=True):
        grades[tops.table.queries[query]][tops.table.docs[at]] = grade
    names = [whole.systems[at] for at in systems]
    options = replace(inputs.options, queries=whole.queries, skip_missing=False)
    qrels = Qrels.of_checked(grades, source=inputs.qrels.source)
    result = evaluate_runs(qrels, {name: tops.runs[name] for name in names}, [measure], options)
    per_query = [next(iter(system.measures.values())).per_query for system in result.systems]
    return np.array([[values[query] for values in per_query] for query in whole.queries])
