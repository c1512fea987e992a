"""Checks of rankings and scores, system by system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rankproof._align.hits import Hits
from rankproof._analysis.doctor.check import CheckResult, DoctorInput, SystemFault, check, result_of_systems
from rankproof._data.arrays import BoolArray, IntArray
from rankproof._data.run import Run

DEPTH = 10
"""The top of a ranking, which people see."""
POOL = 0.5
"""The least share of the top that should have been judged."""
_CAN_TELL = 3


def _first_twelve(scores: dict[str, float]) -> dict[str, float]:
    """For an example: a ranking cut off after the judged documents."""
    return {doc: score for doc, score in scores.items() if score > 18}


@check(
    "scores-like-distances",
    "severe",
    "systems whose better ranks have the lower scores",
    advice="if lower is better, say --lower-is-better; if not, write the ranks by falling score",
    needs=("judgements", "rankings"),
    broken=lambda example: replace(example, worst_first=True),
)
def distances(subject: DoctorInput) -> CheckResult:
    """Systems whose better ranks have the lower scores."""
    return _noted(subject, "scores-look-like-distances", "the better rank has the worse score")


@check(
    "constant-scores",
    "severe",
    "systems that give all documents of a query the same score",
    advice="write the scores into the run; equal scores are put in order by document id",
    needs=("rankings",),
    broken=lambda example: example.with_scores(lambda scores: dict.fromkeys(scores, 1.0)),
    also=("shallow-pool", "worse-than-random"),
)
def constant(subject: DoctorInput) -> CheckResult:
    """Systems that give all documents of a query the same score, in half of their queries or more."""
    counts = {name: _constant_queries(run) for name, run in subject.runs.items()}
    return result_of_systems(
        "all documents of a query have the same score, so that their ids decide",
        (
            SystemFault(name, same, of, f"in {same} of {of} queries")
            for name, (same, of) in counts.items()
            if same and 2 * same >= of
        ),
    )


@check(
    "missing-queries",
    "warning",
    "judged queries that a run does not have",
    advice="run the system on all queries; a query that is missing counts 0",
    needs=("rankings",),
    broken=lambda example: example.with_renamed_query("q01", None),
)
def unanswered(subject: DoctorInput) -> CheckResult:
    """Judged queries that a run does not have."""
    return _noted(subject, "missing-queries", "judged queries are not in the run")


@check(
    "shallow-rankings",
    "warning",
    "systems whose rankings all end before the deepest cutoff",
    advice="retrieve deeper, or read the measures up to that depth only",
    needs=("rankings",),
    broken=lambda example: example.with_scores(_first_twelve),
)
def shallow(subject: DoctorInput) -> CheckResult:
    """Systems none of whose rankings is as deep as the deepest cutoff."""
    deepest = {name: (int(lengths.max(initial=0)), len(lengths)) for name, lengths in _lengths(subject).items()}
    return result_of_systems(
        f"a measure looks at {subject.cutoff} documents, and no ranking has as many",
        (
            SystemFault(name, count, count, f"at most {most} in {count} queries")
            for name, (most, count) in deepest.items()
            if 0 < most < _reachable(subject)
        ),
    )


@check(
    "short-rankings",
    "hint",
    "rankings that end before the deepest cutoff, where others do not",
    advice="none, if the system finds no more; else check its limits",
    needs=("rankings",),
    broken=lambda example: example.with_scores(_first_twelve, "q01"),
)
def short(subject: DoctorInput) -> CheckResult:
    """Rankings of a system that are shorter than the deepest cutoff, where others of it are not."""
    goal = _reachable(subject)
    long = {name: lengths for name, lengths in _lengths(subject).items() if lengths.max(initial=0) >= goal}
    few = {name: int(np.sum(lengths < goal)) for name, lengths in long.items()}
    return result_of_systems(
        f"rankings have fewer than {goal} documents",
        (
            SystemFault(name, few[name], len(lengths), f"{few[name]} of {len(lengths)}, the least {lengths.min()}")
            for name, lengths in long.items()
            if few[name]
        ),
    )


@check(
    "nothing-judged",
    "severe",
    "systems without a judged document in any top 10",
    advice="check that run and judgements speak of the same documents",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_order(lambda docs: [*docs[12:], *docs[:12]]),
    also=("worse-than-random", "shallow-pool"),
)
def nothing_judged(subject: DoctorInput) -> CheckResult:
    """Systems that show nobody a judged document in the top of any ranking."""
    asked = {name: int(np.sum(hits.retrieved > 0)) for name, hits in subject.hits.items() if not np.any(hits.ranks <= DEPTH)}
    return result_of_systems(
        f"no document in any top {DEPTH} was judged",
        (SystemFault(name, count, count, f"in {count} queries") for name, count in asked.items()),
    )


@check(
    "shallow-pool",
    "warning",
    "systems of whose top 10 less than half was judged",
    advice="judge more (audit lists the pairs that matter most), and read Judged@10 beside every value",
    needs=("judgements", "rankings"),
    broken=lambda example: example.with_grades(lambda grades: dict(list(grades.items())[:4])),
)
def pool(subject: DoctorInput) -> CheckResult:
    """Systems of whose top little was judged."""
    shares = {name: _judged_share(hits) for name, hits in subject.hits.items()}
    return result_of_systems(
        f"of the top {DEPTH} little is judged on average, and the rest counts as not relevant",
        (
            SystemFault(name, unjudged, shown, f"{share:.0%} judged, {unjudged} documents not")
            for name, (share, unjudged, shown) in shares.items()
            if share < POOL
        ),
    )


def _judged_share(hits: Hits) -> tuple[float, int, int]:
    """The mean share of the top that was judged, how many documents there were not, and how many stand there."""
    top = np.minimum(hits.retrieved, DEPTH)
    asked = top > 0
    seen = np.bincount(hits.query_index[(hits.ranks <= DEPTH) & (hits.grades >= 0)], minlength=len(hits.queries))
    share = float(np.mean(seen[asked] / top[asked])) if asked.any() else 1.0
    return share, int((top - seen).sum()), int(top.sum())


def _noted(subject: DoctorInput, code: str, lead: str) -> CheckResult:
    """What the evaluation has noted already."""
    counts = {name: sum(note.count for note in notes if note.code == code) for name, notes in subject.notes.items()}
    total = len(subject.evaluated_queries)
    return result_of_systems(
        lead, (SystemFault(name, count, total, f"in {count} of {total} queries") for name, count in counts.items() if count)
    )


def _constant_queries(run: Run) -> tuple[int, int]:
    """How many queries have one score for all, and how many have enough documents to tell."""
    long = np.flatnonzero(np.diff(run.offsets) >= _CAN_TELL)
    if not len(long):
        return 0, 0
    changes = np.concatenate(([0], np.cumsum(np.diff(run.scores) != 0)))
    same: BoolArray = changes[run.offsets[long + 1] - 1] == changes[run.offsets[long]]
    return int(same.sum()), len(long)


def _lengths(subject: DoctorInput) -> dict[str, IntArray]:
    """How many documents each system gives for each judged query that it has."""
    if subject.cutoff is None:
        return {}
    return {name: hits.retrieved[hits.present] for name, hits in subject.hits.items()}


def _reachable(subject: DoctorInput) -> int:
    """The deepest cutoff, or all documents where there are fewer."""
    cutoff = subject.cutoff or 0
    return min(cutoff, len(subject.corpus)) if "documents" in subject.parts else cutoff
