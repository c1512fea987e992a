"""Judgements on disk: qrels with the judge's mark in every line, and beside them a report of how they came about."""

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
from rankproof._formats.registry import KEEPS_JUDGE_LABELS, format_of_suffix
from rankproof._formats.write import qrels_blocks
from rankproof._io.escape import escape_json
from rankproof._io.files import write_blocks
from rankproof._io.open import open_source, read_all_bytes
from rankproof._io.strict_json import parse_strict_json
from rankproof._judge.judges import Judge
from rankproof._judge.rubric import PairGrade, QueryDocPair, parse_pair_grade, sum_counts
from rankproof._llm.budget import Usage
from rankproof._version import __version__
from rankproof.errors import ExternalError, InputError, UsageError, for_message

FORMAT = "rankproof-judge-report"
_FIX = "name another file"


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """One start: when it began and ended, in ISO 8601, and what it spent itself."""

    started: str
    finished: str
    spent: Mapping[str, float]


@dataclass(frozen=True, eq=False, slots=True)
class JudgeReport:
    """Every verdict of one judge, over all starts that wrote to the same file."""

    judge: Judge
    verdicts: Mapping[QueryDocPair, PairGrade]
    runs: tuple[JudgeRun, ...] = ()

    @property
    def graded(self) -> list[PairGrade]:
        """Those with a grade."""
        return [verdict for verdict in self.verdicts.values() if verdict.grade is not None]

    @property
    def failed(self) -> list[PairGrade]:
        """Those without."""
        return [verdict for verdict in self.verdicts.values() if verdict.grade is None]

    def with_run(self, verdicts: Sequence[PairGrade], started: str, finished: str, spent: Usage) -> JudgeReport:
        """The same with what one more start found; a new verdict takes the place of an old one."""
        added = {verdict.pair: verdict for verdict in verdicts}
        return JudgeReport(self.judge, {**self.verdicts, **added}, (*self.runs, JudgeRun(started, finished, spent.plain())))

    def plain(self) -> dict[str, Any]:
        """As JSON; `usage` is what the replies cost when they were first asked for, whichever start that was."""
        usage = sum_counts(self.verdicts.values())
        return {
            "format": FORMAT,
            "schema": format_versions.JUDGE_REPORT,
            "rankproof": __version__,
            "judge_label": self.judge.judge_label,
            **self.judge.describe(),
            "pairs": len(self.verdicts),
            "grades": dict(sorted(Counter(str(verdict.grade) for verdict in self.graded).items())),
            "failed": [verdict.plain() for verdict in self.failed],
            "usage": {**usage, "money": self.judge.money(usage)},
            "runs": [{"started": one.started, "finished": one.finished, "spent": one.spent} for one in self.runs],
            "judgements": [verdict.plain() for verdict in self.graded],
        }


def report_path(output: str) -> str:
    """Where the report of that file of judgements lies."""
    return f"{output}.json"


def load_report(judge: Judge, output: str | None) -> JudgeReport:
    """What the file already holds: nothing where there is none; one that somebody else made is refused."""
    if output is None or not os.path.exists(output):
        return JudgeReport(judge, {})
    qrels = open_file(output, format=_format(output)).qrels()
    held = {QueryDocPair(query, doc) for query, docs in qrels.items() for doc in docs}
    strange = next((qrels.marks.get(pair, "people") for pair in held if qrels.marks.get(pair) != judge.judge_label), None)
    if strange is not None:
        raise UsageError(
            f"{for_message(output)} holds judgements by {for_message(strange)}, not by {for_message(judge.judge_label)}", fix=_FIX
        )
    values = _read(report_path(output))
    try:
        found = [parse_pair_grade(each) for each in (*values["judgements"], *values["failed"])]
        runs = tuple(JudgeRun(**each) for each in values["runs"])
    except (KeyError, TypeError):
        raise InputError("this is no report of a judge", fix=_FIX, source=report_path(output)) from None
    kept = {verdict.pair: verdict for verdict in found if verdict.grade is None or verdict.pair in held}
    if any(pair not in kept or kept[pair].grade != qrels[pair.query][pair.doc] for pair in held):
        raise InputError("the report does not tell of the same grades", fix=_FIX, source=report_path(output))
    return JudgeReport(judge, kept, runs)


def write_report(report: JudgeReport, output: str) -> None:
    """Both files, the report first: whatever ends the process, judgements never lie there without their report."""
    document = json.dumps(report.plain(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_blocks(report_path(output), [escape_json(document).encode()])
    if not report.graded:
        why = f": {report.failed[0].reason}" if report.failed else ""
        raise ExternalError(f"no pair was graded{why}; {for_message(report_path(output))} has the reasons")
    write_blocks(output, qrels_blocks(Qrels(_rows(report), source=output), _format(output)))


def check_writable(judge: Judge, pairs: Sequence[QueryDocPair], output: str) -> None:
    """Refuses before anybody is asked what could not be written after: a folder that is not there, ids with white space."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise UsageError(
            f"{for_message(output)} lies in a folder that does not exist", fix="make the folder, or name another file"
        )
    rows = (Judgement(*pair, 0, judge_label=judge.judge_label) for pair in pairs)
    for _ in qrels_blocks(Qrels(rows, source=output), _format(output)):
        pass


def _format(output: str) -> str:
    """TREC's, unless the file's suffix speaks of another one that has a place for the mark."""
    found = format_of_suffix(output) or "trec"
    if found not in KEEPS_JUDGE_LABELS:
        raise UsageError(f"{found} has no place for who judged", fix="name a file that ends in .qrels, .csv, .tsv or .jsonl")
    return found


def _rows(report: JudgeReport) -> Iterator[Judgement]:
    for verdict in report.graded:
        assert verdict.grade is not None
        yield Judgement(*verdict.pair, verdict.grade, judge_label=report.judge.judge_label)


def _read(path: str) -> dict[str, Any]:
    found = parse_strict_json(read_all_bytes(open_source(path)).decode(), source=path)
    if not isinstance(found, dict):
        raise InputError("this is no report of a judge", fix=_FIX, source=path)
    return found
