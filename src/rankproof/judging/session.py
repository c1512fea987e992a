"""One start of a judge: what is left to judge is judged, and written beside what was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ..analysis.table import Table
from ..stages.base import Progress
from .agreement import rated_pairs
from .agreement_tables import Thresholds, agreement_table, confusion_table
from .corrected_table import corrected_table
from .grading import can_be_asked, verdicts_of
from .judge import Judge, JudgingGround
from .pairs import Pair
from .report import Report, earlier, refuse_unwritable, write_report
from .tables import judging_table, plan_table


def judge_pairs(judge: Judge, pairs: Sequence[Pair], ground: JudgingGround, output: str | None, progress: Progress) -> Report:
    """The verdicts of the pairs, and of those that the output had before; what it has a grade for is not judged again."""
    if output is not None:
        refuse_unwritable(judge, pairs, output)
    held = earlier(judge, output)
    left = _left(pairs, held)
    if not left:
        return held
    started = _now()
    verdicts = verdicts_of(judge, left, ground, progress)
    report = held.with_start(verdicts, started, _now(), ground.desk.purse.spent)
    if output is not None:
        write_report(report, output)
    return report


def plan(judge: Judge, pairs: Sequence[Pair], ground: JudgingGround, output: str | None) -> Table:
    """What that would cost."""
    left = _left(pairs, earlier(judge, output))
    return plan_table(judge, left, can_be_asked(left, ground), ground)


def tables_of(
    report: Report, ground: JudgingGround, human: Mapping[Pair, int], pools: Mapping[str, Sequence[Pair]], how: Thresholds
) -> list[Table]:
    """What was judged and, where people judged some of the pairs, how far they agree."""
    tables = [judging_table(report, ground.desk.purse.spent)]
    rated = rated_pairs(human, {pair: verdict.grade for pair, verdict in report.verdicts.items()})
    if not rated:
        return tables
    tables += [agreement_table(rated, report.judge.mark, how), confusion_table(rated)]
    if any(pair not in human for pool in pools.values() for pair in pool):
        grades = {verdict.pair: verdict.grade for verdict in report.graded if verdict.grade is not None}
        tables.append(corrected_table(grades, human, pools, how))
    return tables


def _left(pairs: Sequence[Pair], held: Report) -> list[Pair]:
    done = {verdict.pair for verdict in held.graded}
    return [pair for pair in pairs if pair not in done]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
