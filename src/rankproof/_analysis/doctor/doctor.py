"""`doctor`: runs all checks and tabulates their findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankproof._analysis.doctor.check import SEVERITIES, Check, CheckResult, DoctorInput, InputPart, all_checks
from rankproof._data.table import Column, Table
from rankproof._data.text import clip_text, first_ids

_EXAMPLES_IN_SENTENCE = 3
_CELL_LENGTH = 22
_MISSING_PART_TEXTS: Mapping[InputPart, str] = {
    "documents": "no documents (pass a dataset folder, or --dataset)",
    "corpus size": "no corpus size (pass a results folder or a dataset folder, or --dataset)",
    "queries": "no query texts (pass a dataset folder, or --dataset)",
    "judgements": "no judgements",
    "rankings": "no rankings (pass run files or a results folder)",
    "stages": "no stage details (pass a results folder)",
    "training queries": "no training queries (pass --train)",
    "training judgements": "no training judgements (pass --train-qrels)",
    "log": "no log of the traffic (pass a sample and --log)",
}


def run_checks(inputs: DoctorInput) -> Table:
    """Runs every check whose parts are available; a row for each finding, severe ones first."""
    skipped = {check.name: part for check in all_checks() if (part := _missing_part(check, inputs))}
    ran = [check for check in all_checks() if check.name not in skipped]
    findings = [(check, result) for check in ran if (result := check.examine(inputs)).count]
    return Table(
        "doctor",
        f"{inputs.name}: {_summary(findings)}",
        (
            Column("check", about="name of the check"),
            Column("severity", about="severe: fix it before you trust the values"),
            Column("count", "count", "items with the fault"),
            Column("of", "count", "all items"),
            Column("examples", about="the first ones"),
        ),
        tuple((check.name, check.severity, result.count, result.of, _cell(result)) for check, result in findings),
        sentences=(*(_sentence(check, result) for check, result in findings), *_about_checks(len(findings), ran, skipped)),
        facts=_facts(findings, ran, skipped),
        highlighted=frozenset(at for at, (check, _) in enumerate(findings) if check.severity == "severe"),
        verdict_first=True,
    )


def is_severe(table: Table) -> bool:
    """Whether any finding is severe."""
    return any(record["severity"] == "severe" for record in table.records())


def checks_table() -> Table:
    """Every check with its severity, needed parts and purpose."""
    rows = tuple((check.name, check.severity, ", ".join(check.needs), check.summary) for check in all_checks())
    columns = (Column("check"), Column("severity"), Column("needs"), Column("looks for"))
    return Table("checks", f"{len(rows)} checks", columns, rows)


def _missing_part(check: Check, inputs: DoctorInput) -> InputPart | None:
    return next((part for part in check.needs if part not in inputs.parts), None)


def _summary(findings: Sequence[tuple[Check, CheckResult]]) -> str:
    counts = {word: sum(check.severity == word for check, _ in findings) for word in SEVERITIES}
    texts = [f"{count} {word if word == 'severe' or count == 1 else f'{word}s'}" for word, count in counts.items() if count]
    if not findings:
        return "no findings"
    return f"{len(findings)} finding{'' if len(findings) == 1 else 's'} ({', '.join(texts)})"


def _cell(result: CheckResult) -> str:
    return clip_text(", ".join(result.examples), _CELL_LENGTH)


def _sentence(check: Check, result: CheckResult) -> str:
    are_named = all(example in result.sentence for example in result.examples)
    examples = "" if are_named else f" ({first_ids(result.examples, _EXAMPLES_IN_SENTENCE)})"
    return f"{check.severity}: {check.name}: {result.sentence}{examples}. What to do: {check.advice}."


def _about_checks(count: int, ran: Sequence[Check], skipped: Mapping[str, InputPart]) -> list[str]:
    sentences = [f"{len(ran)} of {len(ran) + len(skipped)} checks ran; {len(ran) - count} found nothing."]
    for part in dict.fromkeys(skipped.values()):
        count = sum(missing == part for missing in skipped.values())
        sentences.append(f"{count} did not run: {_MISSING_PART_TEXTS[part]}.")
    return sentences


def _facts(
    findings: Sequence[tuple[Check, CheckResult]], ran: Sequence[Check], skipped: Mapping[str, InputPart]
) -> dict[str, Any]:
    return {
        "findings": [
            {
                "check": check.name,
                "severity": check.severity,
                "about": check.summary,
                "count": result.count,
                "of": result.of,
                "sentence": result.sentence,
                "examples": list(result.examples),
                "advice": check.advice,
            }
            for check, result in findings
        ],
        "ran": [check.name for check in ran],
        "skipped": dict(skipped),
    }
