"""Judges pairs of query and document; reports grades, cost, agreement with human judgements, and bias-corrected means."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from rankproof._data.qrels import GRADES, HIGHEST_GRADE, LOWEST_GRADE
from rankproof._data.table import CellValue, Column, Table
from rankproof._data.text import first_ids, pluralise
from rankproof._executors.base import Progress
from rankproof._judge.agreement import Thresholds, agreement_table, confusion_table, rated_pairs
from rankproof._judge.judges import Judge, JudgeContext
from rankproof._judge.report import JudgeReport, check_writable, load_report, report_path, write_report
from rankproof._judge.rubric import PairGrade, QueryDocPair, sum_counts
from rankproof._llm.budget import Usage
from rankproof._llm.call_counts import reply_notes
from rankproof._llm.session import map_concurrent
from rankproof._statistics.intervals import Interval
from rankproof._statistics.prediction_powered import (
    FEW_LABELS,
    FEW_QUERIES,
    INTERVAL_METHOD,
    JudgedItem,
    PredictionPoweredMean,
    corrected_mean,
)
from rankproof.errors import ExternalError, escape_invisible, for_message

_ASSUMPTION = (
    "The corrected means are valid if the pairs with human judgements are a random sample of all pairs.",
    "The weight is the judge's share in them: 0 for a judge without information, near 1 for one that grades like humans.",
)


def corrected_table(
    judge: Mapping[QueryDocPair, int],
    human: Mapping[QueryDocPair, int],
    pools: Mapping[str, Sequence[QueryDocPair]],
    thresholds: Thresholds,
) -> Table:
    """The share of relevant pairs and the mean grade of each pool: of the judge, of humans, and bias-corrected."""
    rows: list[tuple[CellValue, ...]] = []
    every: list[PredictionPoweredMean] = []
    for name, pool in pools.items():
        grades = {pair: judge[pair] for pair in pool if pair in judge}
        share = {pair: float(grade >= thresholds.judge_rel) for pair, grade in grades.items()}
        relevant = {pair: float(grade >= thresholds.rel) for pair, grade in human.items()}
        for what, found in (
            ("share relevant", corrected_mean(_items(share, relevant), (0.0, 1.0))),
            ("mean grade", corrected_mean(_items(grades, human), _grade_range(thresholds))),
        ):
            if found is not None:
                rows.append((name, what, *_row_cells(found)))
                every.append(found)
    return Table(
        "judge-corrected",
        "Means of the judge, bias-corrected by human judgements",
        (
            Column("pairs of"),
            Column("mean of"),
            Column("judge", "value", "over all pairs, uncorrected"),
            Column("human", "value", "over the pairs with a human judgement"),
            Column("human 95%", "interval", INTERVAL_METHOD),
            Column("corrected", "value", "prediction-powered mean"),
            Column("corrected 95%", "interval", INTERVAL_METHOD),
            Column("weight", "value", "the judge's share in the corrected mean"),
            Column("by both", "count", "pairs that also have a human judgement"),
            Column("by judge only", "count"),
        ),
        tuple(rows),
        sentences=_ASSUMPTION if rows else (),
        notes=(*_unused_judgements(judge, human, pools), *_small_sample_note(every)),
    )


def _items(judge: Mapping[QueryDocPair, float], human: Mapping[QueryDocPair, float]) -> list[JudgedItem]:
    return [JudgedItem(pair.query, value, human.get(pair)) for pair, value in judge.items()]


def _grade_range(thresholds: Thresholds) -> Interval:
    """The range of a mean grade, human or of the judge."""
    return (float(LOWEST_GRADE), float(max(HIGHEST_GRADE, thresholds.highest or 0)))


def _unused_judgements(
    judge: Mapping[QueryDocPair, int], human: Mapping[QueryDocPair, int], pools: Mapping[str, Sequence[QueryDocPair]]
) -> list[str]:
    """A note on human judgements of pairs that the judge failed on: no mean uses them."""
    lost = len({pair for pool in pools.values() for pair in pool if pair in human and pair not in judge})
    if not lost:
        return []
    return [f"{pluralise(lost, 'pair')} with a human judgement left out of all means here: the judge failed on them"]


def _small_sample_note(found: Sequence[PredictionPoweredMean]) -> list[str]:
    """A note where there are too few human judgements."""
    if not found:
        return ["fewer than two of the pairs have a human judgement: no mean can be corrected"]
    fewest = min(found, key=lambda one: (not one.has_few_labels, one.queries, one.seen))
    if not fewest.has_few_labels:
        return []
    judged = f"{pluralise(fewest.seen, 'pair')} of {pluralise(fewest.queries, 'query', 'queries')}"
    return [
        f"only {judged} have human judgements: with fewer than {FEW_LABELS} pairs or {FEW_QUERIES} queries "
        "the intervals of the means may be too narrow"
    ]


def _row_cells(found: PredictionPoweredMean) -> tuple[CellValue, ...]:
    means = (found.judge.value, found.human.value, found.human.interval, found.corrected.value, found.corrected.interval)
    return (*means, found.weight, found.seen, found.unseen)


PROGRESS_LABEL = "judging"
_SHOWN_REASONS = 5
_SHOWN_PAIRS = 3
_COLUMNS = (
    Column("pairs", "count"),
    *(Column(f"grade {grade}", "count", meaning) for grade, meaning in GRADES.items()),
    Column("failed", "count", "pairs without a grade, which count as unjudged"),
)
_COST = (
    Column("calls", "count", "requests sent, including failed ones"),
    Column("tokens in", "count", "read by the model"),
    Column("tokens out", "count", "written by the model"),
    Column("money", "number", "at the model's prices; empty if no price is set"),
)


def grade_pairs(judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, progress: Progress) -> list[PairGrade]:
    """A grade for each pair, in their order; a pair without text fails without a call."""
    loaded = judge.load(context)
    lock, done = threading.Lock(), 0

    def one(pair: QueryDocPair) -> PairGrade:
        nonlocal done
        missing = context.missing_text(pair)
        grade = PairGrade(pair, None, missing) if missing else loaded.grade_pair(pair)
        with lock:
            done += 1
            progress(PROGRESS_LABEL, done, len(pairs))
        return grade

    return map_concurrent(context.session, one, pairs, loaded.concurrency)


def pairs_with_text(pairs: Iterable[QueryDocPair], context: JudgeContext) -> list[QueryDocPair]:
    """The pairs that have a query text and a document."""
    return [pair for pair in pairs if not context.missing_text(pair)]


def judging_table(report: JudgeReport, spent: Usage) -> Table:
    """Grades, failures and cost of all pairs; `spent` is what this run spent."""
    usage, grades = sum_counts(report.grades.values()), Counter(one.grade for one in report.graded)
    money = report.judge.money(usage)
    counts = [int(usage.get(name, 0)) for name in ("calls", "tokens_in", "tokens_out")]
    row = (len(report.grades), *(grades[grade] for grade in GRADES), len(report.failed), *counts, money)
    described = report.judge.describe()
    return Table(
        "judge",
        f"{pluralise(len(report.grades), 'pair')} judged by {for_message(report.judge.judge_label)}",
        (*_COLUMNS, *_COST),
        (row,),
        sentences=tuple(_failure_notes(report)),
        notes=(*_truncation_notes(report), *_cost_notes(report, spent)),
        facts={
            "judge_label": report.judge.judge_label,
            "digest": described["digest"],
            "rubric": described["rubric"],
            "spent": spent.plain(),
        },
    )


def cost_estimate_table(
    judge: Judge, pairs: Sequence[QueryDocPair], with_text: Sequence[QueryDocPair], context: JudgeContext
) -> Table:
    """The estimated cost of judging the pairs; makes no call."""
    most = judge.estimate(with_text, context)
    money = judge.money({"tokens_in": most.tokens_in, "tokens_out": most.tokens_out})
    without_text = len(pairs) - len(with_text)
    sentences = ["No call was made. 4 characters count as a token; an invalid reply is requested again, which costs more."]
    if without_text:
        sentences.append(f"{pluralise(without_text, 'pair')} cannot be judged: the query or the document has no text.")
    return Table(
        "judge-plan",
        f"{pluralise(len(pairs), 'pair')} for {for_message(judge.judge_label)}",
        (Column("pairs", "count"), *_COST),
        ((len(pairs), most.calls, most.tokens_in, most.tokens_out, money),),
        sentences=tuple(sentences),
        facts={"judge_label": judge.judge_label, "pairs": len(pairs), "with_text": len(with_text)},
    )


def _failure_notes(report: JudgeReport) -> list[str]:
    """Each reason with its number of pairs."""
    if not report.failed:
        return []
    reasons = Counter(one.reason for one in report.failed)
    share = len(report.failed) / len(report.grades)
    listed = "; ".join(f"{escape_invisible(reason)} ({count})" for reason, count in reasons.most_common(_SHOWN_REASONS))
    pairs = first_ids([f"{one.pair.query} {one.pair.doc}" for one in report.failed], _SHOWN_PAIRS)
    return [
        f"{pluralise(len(report.failed), 'pair')} ({share:.1%}) failed and count as unjudged, never as grade 0: {listed}.",
        f"For example: {pairs}.",
    ]


def _truncation_notes(report: JudgeReport) -> list[str]:
    cut = sum(one.cut for one in report.grades.values())
    return [pluralise(cut, "passage was truncated", "passages were truncated")] if cut else []


def _cost_notes(report: JudgeReport, spent: Usage) -> list[str]:
    if not sum_counts(report.grades.values()).get("calls"):
        return []
    cached = pluralise(spent.journaled, "cached reply", "cached replies")
    return [
        *reply_notes(sum_counts(report.grades.values())),
        f"this run sent {pluralise(spent.calls, 'request')} and used {cached}; no system's cost includes the judge",
    ]


def judge_pairs(
    judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, output: str | None, progress: Progress
) -> JudgeReport:
    """Judges the pairs that the output has no grade for; the report also has what the output held before.

    It is an error if every pair fails.
    """
    if output is not None:
        check_writable(judge, pairs, output)
    earlier = load_report(judge, output)
    left = _ungraded_pairs(pairs, earlier)
    if not left:
        return earlier
    started = _now()
    grades = grade_pairs(judge, left, context, progress)
    report = earlier.with_run(grades, started, _now(), context.session.meter.spent)
    if output is not None:
        write_report(report, output)
    if len(_ungraded_pairs(pairs, report)) == len(pairs):
        where = "" if output is None else f"; {for_message(report_path(output))} lists every reason"
        notes = "".join(f"; {note}" for note in reply_notes(sum_counts(grades)))
        raise ExternalError(f"no pair was graded: {grades[0].reason}{where}{notes}")
    return report


def estimate_judging(judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, output: str | None) -> Table:
    """The estimated cost of judging the pairs that the output has no grade for."""
    left = _ungraded_pairs(pairs, load_report(judge, output))
    return cost_estimate_table(judge, left, pairs_with_text(left, context), context)


def judging_tables(
    report: JudgeReport,
    context: JudgeContext,
    human: Mapping[QueryDocPair, int],
    pools: Mapping[str, Sequence[QueryDocPair]],
    thresholds: Thresholds,
) -> list[Table]:
    """What was judged and, where some pairs have human judgements, how far the two agree."""
    tables = [judging_table(report, context.session.meter.spent)]
    rated = rated_pairs(human, {pair: one.grade for pair, one in report.grades.items()})
    if not rated:
        return tables
    tables += [agreement_table(rated, report.judge.judge_label, thresholds), confusion_table(rated)]
    if any(pair not in human for pool in pools.values() for pair in pool):
        grades = {one.pair: one.grade for one in report.graded if one.grade is not None}
        tables.append(corrected_table(grades, human, pools, thresholds))
    return tables


def _ungraded_pairs(pairs: Sequence[QueryDocPair], report: JudgeReport) -> list[QueryDocPair]:
    graded = {one.pair for one in report.graded}
    return [pair for pair in pairs if pair not in graded]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
