"""What a judge did, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ..analysis.table import Column, Table
from ..analysis.wording import counted, few
from ..asking.tally import estimation_note
from ..asking.usage import Usage
from ..errors import shown
from .judge import Judge, JudgingGround
from .pairs import Pair
from .report import Report
from .rubric import GRADES
from .verdict import summed

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


def judging_table(report: Report, spent: Usage) -> Table:
    """Grades, failures and costs of all verdicts; `spent` is what this start asked itself."""
    usage, grades = summed(report.verdicts.values()), Counter(verdict.grade for verdict in report.graded)
    money = report.judge.money(usage)
    counts = [int(usage.get(name, 0)) for name in ("calls", "tokens_in", "tokens_out")]
    row = (len(report.verdicts), *(grades[grade] for grade in GRADES), len(report.failed), *counts, money)
    told = report.judge.told()
    return Table(
        "judge",
        f"{counted(len(report.verdicts), 'pair')} judged by {shown(report.judge.mark)}",
        (*_COLUMNS, *_COST),
        (row,),
        sentences=tuple(_failures(report)),
        notes=(*_reading(report), *_cost(report, spent)),
        facts={"mark": report.judge.mark, "digest": told["digest"], "rubric": told["rubric"], "spent": spent.plain()},
    )


def plan_table(judge: Judge, pairs: Sequence[Pair], askable: Sequence[Pair], ground: JudgingGround) -> Table:
    """What judging would cost; nobody is asked."""
    most = judge.estimate(askable, ground)
    money = judge.money({"tokens_in": most.tokens_in, "tokens_out": most.tokens_out})
    lacking = len(pairs) - len(askable)
    sentences = ["Nothing was asked. Tokens are estimated by 4 characters each; replies of no use are asked for again."]
    if lacking:
        sentences.append(f"{counted(lacking, 'pair')} cannot be judged: the query or the document has no text.")
    return Table(
        "judge-plan",
        f"{counted(len(pairs), 'pair')} for {shown(judge.mark)}",
        (Column("pairs", "count"), *_COST),
        ((len(pairs), most.calls, most.tokens_in, most.tokens_out, money),),
        sentences=tuple(sentences),
        facts={"mark": judge.mark, "pairs": len(pairs), "askable": len(askable)},
    )


def _failures(report: Report) -> list[str]:
    """Each reason with how many pairs it met."""
    if not report.failed:
        return []
    reasons = Counter(verdict.why for verdict in report.failed)
    share = len(report.failed) / len(report.verdicts)
    told = "; ".join(f"{shown(why)} ({count})" for why, count in reasons.most_common(5))
    pairs = few([f"{verdict.pair.query} {verdict.pair.doc}" for verdict in report.failed], 3)
    return [
        f"{counted(len(report.failed), 'pair')} ({share:.1%}) failed, to count as unjudged and never as grade 0: {told}.",
        f"For example: {pairs}.",
    ]


def _reading(report: Report) -> list[str]:
    cut = sum(verdict.cut for verdict in report.verdicts.values())
    one, more = (
        f"{noun} longer than the judge reads and {verb} cut" for noun, verb in (("passage is", "was"), ("passages are", "were"))
    )
    return [counted(cut, one, more)] if cut else []


def _cost(report: Report, spent: Usage) -> list[str]:
    if not summed(report.verdicts.values()).get("calls"):
        return []
    found = counted(spent.journaled, "reply", "replies")
    estimated = estimation_note(int(summed(report.verdicts.values()).get("estimated", 0)))
    return [
        *filter(None, (estimated,)),
        f"this start sent {counted(spent.calls, 'request')} and found {found} in the journal; "
        "a judge's cost is its own and no system's",
    ]
