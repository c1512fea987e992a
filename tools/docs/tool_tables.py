"""Tables of the values that other tools give for a small example, by the conventions of `rankproof audit`."""

from __future__ import annotations

from collections.abc import Mapping

from rankproof._analysis.audit.ties import audit_ties
from rankproof._analysis.audit.tools import audit_tools
from rankproof._analysis.inputs import input_from_runs
from rankproof._io.escape import for_markdown

Grades = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]


def by_tool(qrels: Grades, run: Scores, measure: str) -> str:
    """Each tool's name for the measure with its value: those with our value in the first row, the others with how they differ."""
    ours, *others = audit_tools(input_from_runs(qrels, {"run": run}, [measure])).records()
    agreeing = [row for row in others if row["run"] == ours["run"]]
    names = ", ".join(str(row["convention"]) for row in (ours, *agreeing))
    rows = ["| tool and name | value | differs in |", "| :--- | ---: | :--- |", _tool_row(names, ours["run"], "")]
    rows += [_tool_row(str(row["convention"]), row["run"], str(row["differs in"])) for row in others if row not in agreeing]
    return "\n".join(rows)


def _tool_row(names: str, value: object, differs: str) -> str:
    shown = f"{value:.4f}" if isinstance(value, float) else str(value)
    return f"| {for_markdown(names)} | {shown} | {for_markdown(differs)} |"


def over_ties(qrels: Grades, run: Scores, measures: list[str]) -> str:
    """Values over the orders of tied documents."""
    table = audit_ties(input_from_runs(qrels, {"run": run}, measures))
    rows = ["| measure | value | expected | worst | best |", "| :--- | ---: | ---: | ---: | ---: |"]
    for row in table.records():
        numbers = " | ".join(f"{row[name]:.4f}" for name in ("value", "expected", "worst", "best"))
        rows.append(f"| {row['measure']} | {numbers} |")
    return "\n".join(rows)
