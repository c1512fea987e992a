"""Judge()."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from rankproof._data.qrels import GRADES
from rankproof._data.table import Column, Table
from rankproof._data.text import first_ids, pluralise
from rankproof._judge.agreement import Thresholds, agreement_table, confusion_table, rated_pairs
from rankproof._judge.corrected import corrected_table
from rankproof._judge.judges import Judge, JudgeContext
from rankproof._judge.report import JudgeReport, check_writable, load_report, write_report
from rankproof._judge.rubric import PairGrade, QueryDocPair, sum_counts
from rankproof._llm.budget import Usage
from rankproof._llm.call_counts import estimation_note
from rankproof._llm.session import map_concurrent
from rankproof.errors import for_message
from rankproof.stages._base import Progress

PROGRESS_LABEL = "judging"


def grade_pairs(judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, progress: Progress) -> list[PairGrade]:
    """A verdict for each pair, in their order; a pair without text failed before anybody was asked."""
    grader = judge.load(context)
    lock, done = threading.Lock(), 0

    def one(pair: QueryDocPair) -> PairGrade:
        nonlocal done
        lacks = context.lacks(pair)
        verdict = PairGrade(pair, None, lacks) if lacks else grader.grade_pair(pair)
        with lock:
            done += 1
            progress(PROGRESS_LABEL, done, len(pairs))
        return verdict

    return map_concurrent(context.session, one, pairs, grader.concurrency)


def pairs_with_text(pairs: Iterable[QueryDocPair], context: JudgeContext) -> list[QueryDocPair]:
    """The pairs whose texts are there."""
    return [pair for pair in pairs if not context.lacks(pair)]


_COLUMNS = (
    Column("pairs", "count"),
    *(Column(f"grade {grade}", "count", meaning) for grade, meaning in GRADES.items()),
    Column("failed", "count", "pairs without a grade, which count as unjudged"),
)
_COST = (
    Column("calls", "count", "requests that were sent, failed ones too"),
    Column("tokens in", "count", "that the model read"),
    Column("tokens out", "count", "that the model wrote"),
    Column("money", "number", "at the model's prices; empty where nobody said them"),
)


def judging_table(report: JudgeReport, spent: Usage) -> Table:
    """Grades, failures and costs of all verdicts; `spent` is what this start asked itself."""
    usage, grades = sum_counts(report.verdicts.values()), Counter(verdict.grade for verdict in report.graded)
    money = report.judge.money(usage)
    counts = [int(usage.get(name, 0)) for name in ("calls", "tokens_in", "tokens_out")]
    row = (len(report.verdicts), *(grades[grade] for grade in GRADES), len(report.failed), *counts, money)
    told = report.judge.describe()
    return Table(
        "judge",
        f"{pluralise(len(report.verdicts), 'pair')} judged by {for_message(report.judge.judge_label)}",
        (*_COLUMNS, *_COST),
        (row,),
        sentences=tuple(_failure_notes(report)),
        notes=(*_truncation_notes(report), *_cost_notes(report, spent)),
        facts={
            "judge_label": report.judge.judge_label,
            "digest": told["digest"],
            "rubric": told["rubric"],
            "spent": spent.plain(),
        },
    )


def cost_estimate_table(
    judge: Judge, pairs: Sequence[QueryDocPair], with_text: Sequence[QueryDocPair], context: JudgeContext
) -> Table:
    """What judging would cost; nobody is asked."""
    most = judge.estimate(with_text, context)
    money = judge.money({"tokens_in": most.tokens_in, "tokens_out": most.tokens_out})
    lacking = len(pairs) - len(with_text)
    sentences = ["Nothing was asked. Tokens are estimated by 4 characters each; replies of no use are asked for again."]
    if lacking:
        sentences.append(f"{pluralise(lacking, 'pair')} cannot be judged: the query or the document has no text.")
    return Table(
        "judge-plan",
        f"{pluralise(len(pairs), 'pair')} for {for_message(judge.judge_label)}",
        (Column("pairs", "count"), *_COST),
        ((len(pairs), most.calls, most.tokens_in, most.tokens_out, money),),
        sentences=tuple(sentences),
        facts={"judge_label": judge.judge_label, "pairs": len(pairs), "with_text": len(with_text)},
    )


def _failure_notes(report: JudgeReport) -> list[str]:
    """Each reason with how many pairs it met."""
    if not report.failed:
        return []
    reasons = Counter(verdict.reason for verdict in report.failed)
    share = len(report.failed) / len(report.verdicts)
    told = "; ".join(f"{for_message(reason)} ({count})" for reason, count in reasons.most_common(5))
    pairs = first_ids([f"{verdict.pair.query} {verdict.pair.doc}" for verdict in report.failed], 3)
    return [
        f"{pluralise(len(report.failed), 'pair')} ({share:.1%}) failed, to count as unjudged and never as grade 0: {told}.",
        f"For example: {pairs}.",
    ]


def _truncation_notes(report: JudgeReport) -> list[str]:
    cut = sum(verdict.cut for verdict in report.verdicts.values())
    one, more = (
        f"{noun} longer than the judge reads and {verb} cut" for noun, verb in (("passage is", "was"), ("passages are", "were"))
    )
    return [pluralise(cut, one, more)] if cut else []


def _cost_notes(report: JudgeReport, spent: Usage) -> list[str]:
    if not sum_counts(report.verdicts.values()).get("calls"):
        return []
    found = pluralise(spent.journaled, "reply", "replies")
    estimated = estimation_note(int(sum_counts(report.verdicts.values()).get("estimated", 0)))
    return [
        *filter(None, (estimated,)),
        f"this start sent {pluralise(spent.calls, 'request')} and found {found} in the journal; "
        "a judge's cost is its own and no system's",
    ]


def judge_pairs(
    judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, output: str | None, progress: Progress
) -> JudgeReport:
    """The verdicts of the pairs, and of those that the output had before; what it has a grade for is not judged again."""
    if output is not None:
        check_writable(judge, pairs, output)
    held = load_report(judge, output)
    left = _ungraded_pairs(pairs, held)
    if not left:
        return held
    started = _now()
    verdicts = grade_pairs(judge, left, context, progress)
    report = held.with_run(verdicts, started, _now(), context.session.meter.spent)
    if output is not None:
        write_report(report, output)
    return report


def estimate_judging(judge: Judge, pairs: Sequence[QueryDocPair], context: JudgeContext, output: str | None) -> Table:
    """What that would cost."""
    left = _ungraded_pairs(pairs, load_report(judge, output))
    return cost_estimate_table(judge, left, pairs_with_text(left, context), context)


def judging_tables(
    report: JudgeReport,
    context: JudgeContext,
    human: Mapping[QueryDocPair, int],
    pools: Mapping[str, Sequence[QueryDocPair]],
    thresholds: Thresholds,
) -> list[Table]:
    """What was judged and, where people judged some of the pairs, how far they agree."""
    tables = [judging_table(report, context.session.meter.spent)]
    rated = rated_pairs(human, {pair: verdict.grade for pair, verdict in report.verdicts.items()})
    if not rated:
        return tables
    tables += [agreement_table(rated, report.judge.judge_label, thresholds), confusion_table(rated)]
    if any(pair not in human for pool in pools.values() for pair in pool):
        grades = {verdict.pair: verdict.grade for verdict in report.graded if verdict.grade is not None}
        tables.append(corrected_table(grades, human, pools, thresholds))
    return tables


def _ungraded_pairs(pairs: Sequence[QueryDocPair], held: JudgeReport) -> list[QueryDocPair]:
    done = {verdict.pair for verdict in held.graded}
    return [pair for pair in pairs if pair not in done]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
