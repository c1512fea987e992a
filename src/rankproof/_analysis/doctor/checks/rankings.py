"""Checks of the rankings and scores of each system, and for systems that are not better than a random ranking."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.doctor.check import CheckResult, DoctorInput, SystemFault, doctor_check, result_of_systems
from rankproof._analysis.grade_order import Z_99
from rankproof._data.arrays import BoolArray, FloatArray, IntArray
from rankproof._data.run import Run

_MIN_RANGE = 2 * Z_99
"""The standard errors between a random and a perfect ranking that make a system half as good significantly better."""


@dataclass(frozen=True, slots=True)
class BelowRandomTest:
    """Relevant documents in the top, the expected number of a random ranking, their z-score and the number of queries."""

    observed: int
    expected: float
    z: float
    queries: int


@doctor_check(
    "worse-than-random",
    "severe",
    "systems with fewer relevant documents at the top than a random ranking",
    advice="check for scores that are distances, ids that do not match, or another corpus",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [*docs[3:], *docs[:3]]),
)
def worse_than_random(inputs: DoctorInput) -> CheckResult:
    """Systems with significantly fewer relevant documents at the top than a random ranking."""
    faults = [_fault(name, *test) for name, hits in inputs.hits.items() if (test := _worse(hits, inputs))]
    return result_of_systems(f"the top {DEPTH} has fewer relevant documents than a random ranking", faults)


def is_worse_than_random(hits: Hits, inputs: DoctorInput) -> bool:
    """Whether one system has significantly fewer relevant documents at the top than a random ranking."""
    return _worse(hits, inputs) is not None


def _worse(hits: Hits, inputs: DoctorInput) -> tuple[BelowRandomTest, str] | None:
    """The first random ranking that is significantly better, and its description."""
    own = "the same documents in random order", hits.retrieved, _relevant(hits, inputs.rel)
    size = np.full(len(hits.queries), inputs.size, dtype=np.int64)
    any_document = "random documents of the corpus", size, hits.judged.relevant(inputs.rel)
    tests = ((_below_random_test(hits, inputs.rel, sizes, good), what) for what, sizes, good in (own, any_document))
    return next(((test, what) for test, what in tests if test is not None), None)


def _fault(name: str, test: BelowRandomTest, what: str) -> SystemFault:
    text = f"{test.observed} in {test.queries} queries; expected from {what}: {test.expected:.1f} (z = {test.z:.1f})"
    return SystemFault(name, test.queries, test.queries, text)


def _relevant(hits: Hits, rel: int) -> IntArray:
    return np.bincount(hits.query_index[hits.grades >= rel], minlength=len(hits.queries))


def _below_random_test(hits: Hits, rel: int, sizes: IntArray, good: IntArray) -> BelowRandomTest | None:
    """The test against random draws without replacement; None if the system is not significantly worse.

    Mean and variance are those of the hypergeometric distribution, added up over independent queries.
    """
    tested = hits.present & (sizes > DEPTH)
    if not tested.any():
        return None
    top = np.bincount(hits.query_index[(hits.grades >= rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))
    observed, size = int(top[tested].sum()), sizes[tested].astype(np.float64)
    share: FloatArray = good[tested] / size
    expected = float(np.sum(DEPTH * share))
    variance = float(np.sum(DEPTH * share * (1 - share) * (size - DEPTH) / (size - 1)))
    z = (observed - expected) / math.sqrt(variance) if variance > 0 else 0.0
    return BelowRandomTest(observed, expected, z, int(tested.sum())) if z <= -Z_99 else None


@dataclass(frozen=True, slots=True)
class RandomLevelTest:
    """Mean recall, that of a random ranking with its standard error, and that of a perfect ranking."""

    observed: float
    expected: float
    error: float
    best: float
    queries: int

    @property
    def z(self) -> float:
        """Standard errors above a random ranking."""
        return (self.observed - self.expected) / self.error

    @property
    def has_power(self) -> bool:
        """Whether a good system could be significantly above a random ranking."""
        return self.best - self.expected > _MIN_RANGE * self.error


@doctor_check(
    "random-level",
    "severe",
    "systems whose Recall@10 is not significantly above a random ranking of the corpus",
    advice="check ids and weights; for an encoder the cause is its training, not its tokenization",
    needs=("corpus size", "judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [docs[0], *docs[3:13], *docs[1:3], *docs[13:]]),
)
def at_random_level(inputs: DoctorInput) -> CheckResult:
    """Systems whose recall is not significantly above a random ranking; those significantly below have their own check."""
    levels = {name: _level(hits, inputs) for name, hits in inputs.hits.items() if not is_worse_than_random(hits, inputs)}
    return result_of_systems(
        f"Recall@{DEPTH} is not significantly above a random ranking",
        (
            SystemFault(name, level.queries, level.queries, _level_text(level))
            for name, level in levels.items()
            if level is not None and level.has_power and level.z <= Z_99
        ),
    )


def _level_text(level: RandomLevelTest) -> str:
    return f"{level.observed:.3f}, random {level.expected:.3f} (z = {level.z:+.1f}, {level.queries} queries)"


def _level(hits: Hits, inputs: DoctorInput) -> RandomLevelTest | None:
    """Recall against k / N, the expected recall of k of N random documents, with the hypergeometric variance over R²."""
    relevant = hits.judged.relevant(inputs.rel)
    tested = hits.present & (relevant > 0)
    if inputs.size <= DEPTH or not tested.any():
        return None
    retrieved = np.bincount(hits.query_index[(hits.grades >= inputs.rel) & (hits.ranks <= DEPTH)], minlength=len(hits.queries))[
        tested
    ]
    good: FloatArray = np.minimum(relevant[tested], inputs.size).astype(np.float64)
    top, size = np.minimum(hits.retrieved[tested], DEPTH), inputs.size
    variance = top * good / size * (1 - good / size) * (size - top) / (size - 1) / good**2
    error = math.sqrt(float(variance.sum())) / len(good)
    if not error:
        return None
    best = float(np.mean(np.minimum(good, DEPTH) / good))
    return RandomLevelTest(float(np.mean(retrieved / good)), float(np.mean(top / size)), error, best, len(good))


DEPTH = 10
"""The depth of the top of a ranking."""
MIN_JUDGED_SHARE = 0.5
"""The smallest judged share of the top without a finding."""
_MIN_DOCUMENTS = 3


def _first_twelve(scores: dict[str, float]) -> dict[str, float]:
    """A ranking that ends after the judged documents."""
    return {doc: score for doc, score in scores.items() if score > 18}


@doctor_check(
    "scores-like-distances",
    "severe",
    "systems with lower scores at better ranks",
    advice="if lower is better, pass --lower-is-better; if not, rank by descending score",
    needs=("judgements", "rankings"),
    broken=lambda example: replace(example, worst_first=True),
)
def distances(inputs: DoctorInput) -> CheckResult:
    """Systems with lower scores at better ranks."""
    return _noted(inputs, "scores-look-like-distances", "better ranks have lower scores")


@doctor_check(
    "constant-scores",
    "severe",
    "systems that give all documents of a query the same score",
    advice="write real scores into the run; equal scores are ordered by document id",
    needs=("rankings",),
    broken=lambda example: example.with_scores(lambda scores: dict.fromkeys(scores, 1.0)),
    also=("shallow-pool", "worse-than-random"),
)
def constant(inputs: DoctorInput) -> CheckResult:
    """Systems that give all documents of a query the same score in at least half of their queries."""
    counts = {name: _constant_queries(run) for name, run in inputs.runs.items()}
    return result_of_systems(
        "all documents of a query have the same score, so their ids decide the order",
        (
            SystemFault(name, same, of, f"in {same} of {of} queries")
            for name, (same, of) in counts.items()
            if same and 2 * same >= of
        ),
    )


@doctor_check(
    "missing-queries",
    "warning",
    "judged queries that are not in a run",
    advice="run the system on all queries; a missing query scores 0",
    needs=("rankings",),
    broken=lambda example: example.with_renamed_query("q01", None),
)
def unanswered(inputs: DoctorInput) -> CheckResult:
    """Judged queries that are not in a run."""
    return _noted(inputs, "missing-queries", "judged queries are not in the run")


@doctor_check(
    "shallow-rankings",
    "warning",
    "systems whose rankings all end before the deepest cutoff",
    advice="retrieve more documents, or use smaller cutoffs",
    needs=("rankings",),
    broken=lambda example: example.with_scores(_first_twelve),
)
def shallow(inputs: DoctorInput) -> CheckResult:
    """Systems whose rankings are all shorter than the deepest cutoff."""
    deepest = {name: (int(lengths.max(initial=0)), len(lengths)) for name, lengths in _lengths(inputs).items()}
    return result_of_systems(
        f"no ranking reaches the deepest cutoff, {inputs.cutoff} documents",
        (
            SystemFault(name, count, count, f"at most {most} in {count} queries")
            for name, (most, count) in deepest.items()
            if 0 < most < _reachable(inputs)
        ),
    )


@doctor_check(
    "short-rankings",
    "hint",
    "a system has some rankings that are shorter than the deepest cutoff, and some that are not",
    advice="check the depth limit of the system; if it simply finds fewer documents, nothing needs to change",
    needs=("rankings",),
    broken=lambda example: example.with_scores(_first_twelve, "q01"),
)
def short(inputs: DoctorInput) -> CheckResult:
    """Rankings that are shorter than the deepest cutoff, while others of the system are not."""
    goal = _reachable(inputs)
    long = {name: lengths for name, lengths in _lengths(inputs).items() if lengths.max(initial=0) >= goal}
    few = {name: int(np.sum(lengths < goal)) for name, lengths in long.items()}
    return result_of_systems(
        f"rankings have fewer than {goal} documents",
        (
            SystemFault(name, few[name], len(lengths), f"{few[name]} of {len(lengths)}, the shortest {lengths.min()}")
            for name, lengths in long.items()
            if few[name]
        ),
    )


@doctor_check(
    "nothing-judged",
    "severe",
    "systems without any judged document in the top 10",
    advice="check that run and judgements use the same documents and ids",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [*docs[12:], *docs[:12]]),
    also=("worse-than-random", "shallow-pool"),
)
def nothing_judged(inputs: DoctorInput) -> CheckResult:
    """Systems without a judged document in the top of any ranking."""
    counts = {name: int(np.sum(hits.retrieved > 0)) for name, hits in inputs.hits.items() if not np.any(hits.ranks <= DEPTH)}
    return result_of_systems(
        f"no document in any top {DEPTH} is judged",
        (SystemFault(name, count, count, f"in {count} queries") for name, count in counts.items()),
    )


@doctor_check(
    "shallow-pool",
    "warning",
    "systems with less than half of their top 10 judged",
    advice="judge more documents (audit --judge-next lists the most useful pairs), and report Judged@10",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_grades(lambda grades: dict(list(grades.items())[:4])),
)
def pool(inputs: DoctorInput) -> CheckResult:
    """Systems with a small judged share of the top."""
    shares = {name: _judged_share(hits) for name, hits in inputs.hits.items()}
    return result_of_systems(
        f"less than half of the top {DEPTH} is judged on average, and the rest counts as not relevant",
        (
            SystemFault(name, unjudged, shown, f"{share:.0%} judged, {unjudged} documents unjudged")
            for name, (share, unjudged, shown) in shares.items()
            if share < MIN_JUDGED_SHARE
        ),
    )


def _judged_share(hits: Hits) -> tuple[float, int, int]:
    """The mean judged share of the top, and the numbers of unjudged and of all documents there."""
    top = np.minimum(hits.retrieved, DEPTH)
    has_documents = top > 0
    judged = np.bincount(hits.query_index[(hits.ranks <= DEPTH) & (hits.grades >= 0)], minlength=len(hits.queries))
    share = float(np.mean(judged[has_documents] / top[has_documents])) if has_documents.any() else 1.0
    return share, int((top - judged).sum()), int(top.sum())


def _noted(inputs: DoctorInput, code: str, lead: str) -> CheckResult:
    """The faults that the evaluation noted under this code."""
    counts = {name: sum(note.count for note in notes if note.code == code) for name, notes in inputs.notes.items()}
    total = len(inputs.evaluated_queries)
    return result_of_systems(
        lead, (SystemFault(name, count, total, f"in {count} of {total} queries") for name, count in counts.items() if count)
    )


def _constant_queries(run: Run) -> tuple[int, int]:
    """The number of queries with a constant score, and of queries with at least 3 documents."""
    # Two documents often tie by chance, for example by a model with few distinct scores.
    long = np.flatnonzero(np.diff(run.offsets) >= _MIN_DOCUMENTS)
    if not len(long):
        return 0, 0
    changes = np.concatenate(([0], np.cumsum(np.diff(run.scores) != 0)))
    same: BoolArray = changes[run.offsets[long + 1] - 1] == changes[run.offsets[long]]
    return int(same.sum()), len(long)


def _lengths(inputs: DoctorInput) -> dict[str, IntArray]:
    """The number of documents of each system for each of its judged queries."""
    if inputs.cutoff is None:
        return {}
    return {name: hits.retrieved[hits.present] for name, hits in inputs.hits.items()}


def _reachable(inputs: DoctorInput) -> int:
    """The deepest cutoff, or the corpus size if it is smaller."""
    cutoff = inputs.cutoff or 0
    return min(cutoff, len(inputs.corpus)) if "documents" in inputs.parts else cutoff
