"""Judgements on disk: qrels with the judge's label on every line, and a JSON report beside them."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankproof._data import format_versions
from rankproof._data.qrels import Judgement, Qrels
from rankproof._formats.detect import open_file
from rankproof._formats.registry import format_of_suffix
from rankproof._formats.write import qrels_blocks
from rankproof._io.escape import escape_json
from rankproof._io.files import write_blocks
from rankproof._io.json_fields import plain_fields, read_fields
from rankproof._io.open import open_source, read_all_bytes
from rankproof._io.strict_json import JsonObject, parse_strict_json
from rankproof._judge.judges import Judge
from rankproof._judge.rubric import PairGrade, QueryDocPair, sum_counts
from rankproof._llm.budget import Usage
from rankproof._version import __version__
from rankproof.errors import UsageError, for_message

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
    def of(cls, one: PairGrade) -> GradeDocument:
        """The document of a grade."""
        return cls(*one.pair, one.grade, one.reason, one.counts, one.cut)

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
            "grades": dict(sorted(Counter(str(one.grade) for one in self.graded).items())),
            "usage": {**usage, "money": self.judge.money(usage)},
            **plain_fields(
                ReportDocument(tuple(map(GradeDocument.of, self.failed)), self.runs, tuple(map(GradeDocument.of, self.graded)))
            ),
        }


def report_path(output: str) -> str:
    """The path of the report beside a file of judgements."""
    return f"{output}.json"


def load_report(judge: Judge, output: str | None) -> JudgeReport:
    """The report of an existing file, empty where there is none; a file of another judge is refused."""
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
    document = read_fields(ReportDocument, values)
    found = [judgement.pair_grade() for judgement in (*document.judgements, *document.failed)]
    grades = {one.pair: one for one in found if one.grade is None or one.pair in pairs}
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
    """Refuses, before anything is judged, a folder that does not exist and ids that the format cannot hold."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise UsageError(f"the folder of {for_message(output)} does not exist", fix="create the folder, or specify another file")
    rows = (Judgement(*pair, 0, judge_label=judge.judge_label) for pair in pairs)
    for _ in qrels_blocks(Qrels(rows, source=output), _format(output)):
        pass


def _format(output: str) -> str:
    """The format of the file's suffix, TREC where it has none."""
    return format_of_suffix(output) or "trec"


def _rows(report: JudgeReport) -> Iterator[Judgement]:
    for one in report.graded:
        assert one.grade is not None
        yield Judgement(*one.pair, one.grade, judge_label=report.judge.judge_label)


def _read_report(path: str) -> JsonObject:
    plain = parse_strict_json(read_all_bytes(open_source(path)).decode(), source=path)
    values = JsonObject(plain, path, damaged_fix=_FIX)
    if values.plain.get("format") != FORMAT:
        raise values.error("not a report of a judge")
    if (found := values.count("schema")) != (known := format_versions.JUDGE_REPORT):
        again = "judge again and write to another file; cached replies cost nothing"
        fix = format_versions.other_version_fix(found, known, again)
        raise values.error(format_versions.other_version(found, known), fix)
    return values
