"""Judges pairs of query and document, keeps qrels with a JSON report beside them, and shows grades, cost and agreement."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from rankproof._data import format_versions
from rankproof._data.qrels import GRADES, Judgement, Qrels
from rankproof._data.table import Column, Table
from rankproof._data.text import first_ids, pluralise
from rankproof._executors.base import Progress
from rankproof._formats.detect import open_file
from rankproof._formats.registry import format_of_suffix
from rankproof._formats.write import qrels_blocks
from rankproof._io.escape import escape_json
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source, read_all_bytes
from rankproof._io.strict_json import JsonObject, parse_strict_json, plain_record
from rankproof._judge.agreement import Thresholds, agreement_table, confusion_table, corrected_table, rated_pairs
from rankproof._judge.judges import Judge, JudgeContext
from rankproof._judge.pairs import PairGrade, QueryDocPair, sum_counts
from rankproof._llm.budget import Usage, reply_notes
from rankproof._llm.session import map_concurrent
from rankproof._version import __version__
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

FORMAT = "rankproof-judge-report"
_FIX = "specify another file"


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """One run of the judge: when it started and finished, in ISO 8601, and what it spent."""

    started: str
    finished: str
    spent: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class GradeDocument:
    """A PairGrade as the report holds it."""

    query: str
    doc: str
    grade: int | None
    reason: str
    counts: Mapping[str, float]
    cut: bool

    @classmethod
    def of(cls, grade: PairGrade) -> GradeDocument:
        """The document of a grade."""
        return cls(*grade.pair, grade.grade, grade.reason, grade.counts, grade.cut)

    def pair_grade(self) -> PairGrade:
        """The grade of the document."""
        return PairGrade(QueryDocPair(self.query, self.doc), self.grade, self.reason, self.counts, self.cut)


@dataclass(frozen=True, slots=True)
class ReportDocument:
    """What is read back from a report."""

    failed: tuple[GradeDocument, ...]
    runs: tuple[JudgeRun, ...]
    judgements: tuple[GradeDocument, ...]


@dataclass(frozen=True, eq=False, slots=True)
class JudgeReport:
    """Every grade of one judge, over all runs that wrote to the same file."""

    judge: Judge
    grades: Mapping[QueryDocPair, PairGrade]
    runs: tuple[JudgeRun, ...] = ()

    @property
    def graded(self) -> list[PairGrade]:
        """The pairs with a grade."""
        return [grade for grade in self.grades.values() if grade.grade is not None]

    @property
    def failed(self) -> list[PairGrade]:
        """The pairs without a grade."""
        return [grade for grade in self.grades.values() if grade.grade is None]

    def with_run(self, grades: Sequence[PairGrade], started: str, finished: str, spent: Usage) -> JudgeReport:
        """The report with the grades of one more run, which replace older ones of the same pairs."""
        added = {grade.pair: grade for grade in grades}
        return JudgeReport(self.judge, {**self.grades, **added}, (*self.runs, JudgeRun(started, finished, spent.plain())))

    def plain(self) -> dict[str, Any]:
        """The report as JSON; `usage` is what the replies cost when they were first requested, in whichever run."""
        usage = sum_counts(self.grades.values())
        return {
            "format": FORMAT,
            "schema": format_versions.JUDGE_REPORT,
            "rankproof": __version__,
            "judge_label": self.judge.judge_label,
            **self.judge.describe(),
            "pairs": len(self.grades),
            "grades": dict(sorted(Counter(str(grade.grade) for grade in self.graded).items())),
            "usage": {**usage, "money": self.judge.money(usage)},
            **plain_record(
                ReportDocument(tuple(map(GradeDocument.of, self.failed)), self.runs, tuple(map(GradeDocument.of, self.graded)))
            ),
        }


def report_path(output: str) -> str:
    """The path of the report beside a file of judgements."""
    return f"{output}.json"


def load_report(judge: Judge, output: str | None) -> JudgeReport:
    """The report of an existing file, empty if there is none; a file of another judge is rejected."""
    if output is None or not os.path.exists(output):
        return JudgeReport(judge, {})
    qrels = open_file(output, format=_format(output)).qrels()
    pairs = {QueryDocPair(query, doc) for query, docs in qrels.items() for doc in docs}
    labels = (qrels.judge_labels.get(pair, "people") for pair in pairs)
    other = next((label for label in labels if label != judge.judge_label), None)
    if other is not None:
        what = f"{for_message(output)} has judgements by {for_message(other)}, not by {for_message(judge.judge_label)}"
        raise UsageError(what, fix=_FIX)
    values = _read_report(report_path(output))
    document = values.read(ReportDocument)
    grades_read = [judgement.pair_grade() for judgement in (*document.judgements, *document.failed)]
    grades = {grade.pair: grade for grade in grades_read if grade.grade is None or grade.pair in pairs}
    if any(pair not in grades or grades[pair].grade != qrels[pair.query][pair.doc] for pair in pairs):
        raise values.error(f"the report has other grades than {for_message(output)}")
    return JudgeReport(judge, grades, document.runs)


def write_report(report: JudgeReport, output: str) -> None:
    """Writes both files, the report first, so that an interrupted run never leaves judgements without a report.

    Without any grade only the report is written.
    """
    document = json.dumps(report.plain(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_blocks(report_path(output), [escape_json(document).encode()])
    if report.graded:
        write_blocks(output, qrels_blocks(report_qrels(report, output), _format(output)))


def report_qrels(report: JudgeReport, source: str = "judgements") -> Qrels:
    """The judgements, with the label of the judge."""
    return Qrels(_rows(report), source=source)


def check_writable(judge: Judge, pairs: Sequence[QueryDocPair], output: str) -> None:
    """Rejects, before anything is judged, a folder that does not exist and ids that the format cannot hold."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise UsageError(f"the folder of {for_message(output)} does not exist", fix="create the folder, or specify another file")
    rows = (Judgement(*pair, 0, judge_label=judge.judge_label) for pair in pairs)
    for _ in qrels_blocks(Qrels(rows, source=output), _format(output)):
        pass


def _format(output: str) -> str:
    """The format of the file's suffix, TREC where it has none."""
    return format_of_suffix(output) or "trec"


def _rows(report: JudgeReport) -> Iterator[Judgement]:
    for grade in report.graded:
        assert grade.grade is not None
        yield Judgement(*grade.pair, grade.grade, judge_label=report.judge.judge_label)


def _read_report(path: str) -> JsonObject:
    plain = parse_strict_json(read_all_bytes(open_source(path)).decode(), source=path)
    values = JsonObject(plain, path, damaged_fix=_FIX)
    if values.plain.get("format") != FORMAT:
        raise values.error("not a report of a judge")
    if (schema := values.member("schema", int)) != (known := format_versions.JUDGE_REPORT):
        again = "judge again and write to another file; cached replies cost nothing"
        fix = format_versions.other_version_fix(schema, known, again)
        raise values.error(format_versions.other_version(schema, known), fix)
    return values


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
    # Pairs are graded in several threads, and a progress line must not count backwards.
    lock, done = threading.Lock(), 0

    def grade_one(pair: QueryDocPair) -> PairGrade:
        nonlocal done
        missing = context.missing_text(pair)
        grade = PairGrade(pair, None, missing) if missing else loaded.grade_pair(pair)
        with lock:
            done += 1
            progress(PROGRESS_LABEL, done, len(pairs))
        return grade

    return map_concurrent(context.session, grade_one, pairs, loaded.concurrency)


def pairs_with_text(pairs: Iterable[QueryDocPair], context: JudgeContext) -> list[QueryDocPair]:
    """The pairs that have a query text and a document."""
    return [pair for pair in pairs if not context.missing_text(pair)]


def judging_table(report: JudgeReport, spent: Usage) -> Table:
    """Grades, failures and cost of all pairs; `spent` is what this run spent."""
    usage, grades = sum_counts(report.grades.values()), Counter(judged.grade for judged in report.graded)
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
    reasons = Counter(failure.reason for failure in report.failed)
    share = len(report.failed) / len(report.grades)
    listed = "; ".join(f"{escape_invisible(reason)} ({count})" for reason, count in reasons.most_common(_SHOWN_REASONS))
    pairs = first_ids([f"{failure.pair.query} {failure.pair.doc}" for failure in report.failed], _SHOWN_PAIRS)
    return [
        f"{pluralise(len(report.failed), 'pair')} ({share:.1%}) failed and count as unjudged, never as grade 0: {listed}.",
        f"For example: {pairs}.",
    ]


def _truncation_notes(report: JudgeReport) -> list[str]:
    cut = sum(grade.cut for grade in report.grades.values())
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
    rated = rated_pairs(human, {pair: grade.grade for pair, grade in report.grades.items()})
    if not rated:
        return tables
    tables += [agreement_table(rated, report.judge.judge_label, thresholds), confusion_table(rated)]
    if any(pair not in human for pool in pools.values() for pair in pool):
        grades = {grade.pair: grade.grade for grade in report.graded if grade.grade is not None}
        tables.append(corrected_table(grades, human, pools, thresholds))
    return tables


def _ungraded_pairs(pairs: Sequence[QueryDocPair], report: JudgeReport) -> list[QueryDocPair]:
    graded = {grade.pair for grade in report.graded}
    return [pair for pair in pairs if pair not in graded]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
