"""All checks on one subject, and what they found as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._analysis.doctor.check import SEVERITIES, Check, CheckResult, DoctorInput, InputPart, all_checks
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, first_ids

_IN_WORDS = 3
_CELL = 22
_MISSING_PART_TEXTS: Mapping[InputPart, str] = {
    "documents": "no documents (name a dataset's folder, or --dataset)",
    "corpus size": "no counts of all documents (name a results folder or a dataset's, or --dataset)",
    "queries": "no texts of queries (name a dataset's folder, or --dataset)",
    "judgements": "no judgements",
    "rankings": "no rankings (name run files or a results folder)",
    "stages": "no stages that tell of themselves (name a results folder)",
    "training queries": "no training queries (--train)",
    "training judgements": "no training judgements (--train-qrels)",
}


def run_checks(subject: DoctorInput) -> Table:
    """Every check that can run on the subject; a row for each that found something, the severe ones first."""
    lacking = {check.name: part for check in all_checks() if (part := _missing_part(check, subject))}
    ran = [check for check in all_checks() if check.name not in lacking]
    findings = [(check, seen) for check in ran if (seen := check.examine(subject)).count]
    return Table(
        "doctor",
        f"{subject.name}: {_summary(findings)}",
        (
            Column("check", about="what was looked for"),
            Column("severity", about="severe: do not believe the numbers before it is settled"),
            Column("count", "count", "how many are not as they should be"),
            Column("of", "count", "how many there are"),
            Column("for example", about="the first of them"),
        ),
        tuple((check.name, check.severity, seen.count, seen.of, _cell(seen)) for check, seen in findings),
        sentences=(*(_sentence(check, seen) for check, seen in findings), *_about_checks(len(findings), ran, lacking)),
        facts=_facts(findings, ran, lacking),
        highlighted=frozenset(at for at, (check, _) in enumerate(findings) if check.severity == "severe"),
    )


def is_severe(table: Table) -> bool:
    """Whether a finding is severe."""
    return any(record["severity"] == "severe" for record in table.records())


def checks_table() -> Table:
    """Every check: what it looks for, and what it needs."""
    rows = tuple((check.name, check.severity, ", ".join(check.needs), check.summary) for check in all_checks())
    columns = (Column("check"), Column("severity"), Column("needs"), Column("looks for"))
    return Table("checks", f"{len(rows)} checks", columns, rows)


def _missing_part(check: Check, subject: DoctorInput) -> InputPart | None:
    return next((part for part in check.needs if part not in subject.parts), None)


def _summary(findings: Sequence[tuple[Check, CheckResult]]) -> str:
    counts = {word: sum(check.severity == word for check, _ in findings) for word in SEVERITIES}
    told = [f"{count} {word if word == 'severe' or count == 1 else f'{word}s'}" for word, count in counts.items() if count]
    return (
        f"{len(findings)} findings ({', '.join(told)})"
        if len(findings) > 1
        else f"1 finding ({told[0]})"
        if told
        else "no finding"
    )


def _cell(seen: CheckResult) -> str:
    return clip_text(", ".join(seen.examples), _CELL)


def _sentence(check: Check, seen: CheckResult) -> str:
    examples = "" if all(example in seen.sentence for example in seen.examples) else f" ({first_ids(seen.examples, _IN_WORDS)})"
    return f"{check.severity}: {check.name}: {seen.sentence}{examples}. What to do: {check.advice}."


def _about_checks(count: int, ran: Sequence[Check], lacking: Mapping[str, InputPart]) -> list[str]:
    sentences = [f"{len(ran)} of {len(ran) + len(lacking)} checks ran; {len(ran) - count} found nothing."]
    for part in dict.fromkeys(lacking.values()):
        count = sum(lacks == part for lacks in lacking.values())
        sentences.append(f"{count} could not run: there are {_MISSING_PART_TEXTS[part]}.")
    return sentences


def _facts(
    findings: Sequence[tuple[Check, CheckResult]], ran: Sequence[Check], lacking: Mapping[str, InputPart]
) -> dict[str, Any]:
    return {
        "findings": [
            {
                "check": check.name,
                "severity": check.severity,
                "about": check.summary,
                "count": seen.count,
                "of": seen.of,
                "sentence": seen.sentence,
                "examples": list(seen.examples),
                "advice": check.advice,
            }
            for check, seen in findings
        ],
        "ran": [check.name for check in ran],
        "could_not_run": dict(lacking),
    }
