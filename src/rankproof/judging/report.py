"""Judgements on disk: qrels with the judge's mark in every line, and beside them a report of how they came about."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..asking.usage import Usage
from ..data.qrels import Judgement, Qrels
from ..errors import InputError, UsageError, WorldError, shown
from ..formats.atomic import write_blocks
from ..formats.harmless import for_json
from ..formats.opened import open_file
from ..formats.opening import all_bytes, open_source
from ..formats.strict_json import parse
from ..formats.table import KEEPS_MARKS, format_of_suffix
from ..formats.writing import qrels_blocks
from ..version import __version__
from .judge import Judge
from .pairs import Pair
from .verdict import Verdict, summed, verdict_in

_ELSE = "name another file"


@dataclass(frozen=True, slots=True)
class Start:
    """One start: when it began and ended, in ISO 8601, and what it spent itself."""

    started: str
    finished: str
    spent: Mapping[str, float]


@dataclass(frozen=True, eq=False, slots=True)
class Report:
    """Every verdict of one judge, over all starts that wrote to the same file."""

    judge: Judge
    verdicts: Mapping[Pair, Verdict]
    starts: tuple[Start, ...] = ()

    @property
    def graded(self) -> list[Verdict]:
        """Those with a grade."""
        return [verdict for verdict in self.verdicts.values() if verdict.grade is not None]

    @property
    def failed(self) -> list[Verdict]:
        """Those without."""
        return [verdict for verdict in self.verdicts.values() if verdict.grade is None]

    def with_start(self, verdicts: Sequence[Verdict], started: str, finished: str, spent: Usage) -> Report:
        """The same with what one more start found; a new verdict takes the place of an old one."""
        added = {verdict.pair: verdict for verdict in verdicts}
        return Report(self.judge, {**self.verdicts, **added}, (*self.starts, Start(started, finished, spent.plain())))

    def plain(self) -> dict[str, Any]:
        """As JSON; `usage` is what the replies cost when they were first asked for, whichever start that was."""
        usage = summed(self.verdicts.values())
        return {
            "rankproof": __version__,
            "mark": self.judge.mark,
            **self.judge.told(),
            "pairs": len(self.verdicts),
            "grades": dict(sorted(Counter(str(verdict.grade) for verdict in self.graded).items())),
            "failed": [verdict.plain() for verdict in self.failed],
            "usage": {**usage, "money": self.judge.money(usage)},
            "starts": [{"started": one.started, "finished": one.finished, "spent": one.spent} for one in self.starts],
            "judgements": [verdict.plain() for verdict in self.graded],
        }


def report_path(output: str) -> str:
    """Where the report of that file of judgements lies."""
    return f"{output}.json"


def earlier(judge: Judge, output: str | None) -> Report:
    """What the file already holds: nothing where there is none; one that somebody else made is refused."""
    if output is None or not os.path.exists(output):
        return Report(judge, {})
    qrels = open_file(output, format=_format(output)).qrels()
    held = {Pair(query, doc) for query, docs in qrels.items() for doc in docs}
    strange = next((qrels.marks.get(pair, "people") for pair in held if qrels.marks.get(pair) != judge.mark), None)
    if strange is not None:
        raise UsageError(f"{shown(output)} holds judgements by {shown(strange)}, not by {shown(judge.mark)}", fix=_ELSE)
    values = _read(report_path(output))
    try:
        found = [verdict_in(each) for each in (*values["judgements"], *values["failed"])]
        starts = tuple(Start(**each) for each in values["starts"])
    except (KeyError, TypeError):
        raise InputError("this is no report of a judge", fix=_ELSE, source=report_path(output)) from None
    kept = {verdict.pair: verdict for verdict in found if verdict.grade is None or verdict.pair in held}
    if any(pair not in kept or kept[pair].grade != qrels[pair.query][pair.doc] for pair in held):
        raise InputError("the report does not tell of the same grades", fix=_ELSE, source=report_path(output))
    return Report(judge, kept, starts)


def write_report(report: Report, output: str) -> None:
    """Both files, the report first: whatever ends the process, judgements never lie there without their report."""
    document = json.dumps(report.plain(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"
    write_blocks(report_path(output), [for_json(document).encode()])
    if not report.graded:
        why = f": {report.failed[0].why}" if report.failed else ""
        raise WorldError(f"no pair was graded{why}; {shown(report_path(output))} has the reasons")
    write_blocks(output, qrels_blocks(Qrels(_rows(report), source=output), _format(output)))


def refuse_unwritable(judge: Judge, pairs: Sequence[Pair], output: str) -> None:
    """Refuses before anybody is asked what could not be written after: a folder that is not there, ids with white space."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(output))):
        raise UsageError(f"{shown(output)} lies in a folder that does not exist", fix="make the folder, or name another file")
    rows = (Judgement(*pair, 0, mark=judge.mark) for pair in pairs)
    for _ in qrels_blocks(Qrels(rows, source=output), _format(output)):
        pass


def _format(output: str) -> str:
    """TREC's, unless the file's suffix speaks of another one that has a place for the mark."""
    found = format_of_suffix(output) or "trec"
    if found not in KEEPS_MARKS:
        raise UsageError(f"{found} has no place for who judged", fix="name a file that ends in .qrels, .csv, .tsv or .jsonl")
    return found


def _rows(report: Report) -> Iterator[Judgement]:
    for verdict in report.graded:
        assert verdict.grade is not None
        yield Judgement(*verdict.pair, verdict.grade, mark=report.judge.mark)


def _read(path: str) -> dict[str, Any]:
    found = parse(all_bytes(open_source(path)).decode(), source=path)
    if not isinstance(found, dict):
        raise InputError("this is no report of a judge", fix=_ELSE, source=path)
    return found
