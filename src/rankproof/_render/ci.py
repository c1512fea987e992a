"""Output for CI: JUnit XML and a pull request comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankproof._analysis.compare.comparison import Comparison
from rankproof._analysis.compare.tables import PairRecord
from rankproof._analysis.gate.result import GateResult
from rankproof._analysis.gate.rules import GateCheck
from rankproof._data.text import format_p
from rankproof._io.escape import for_github, for_github_html
from rankproof._render.comparison import comparison_table
from rankproof._render.formats import RenderOptions
from rankproof._render.table import markdown_table
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof.errors import escape_invisible, for_message

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def as_junit(gate: GateResult, *, name: str, made: str) -> str:
    """A gate as JUnit XML; `made` is its time in ISO 8601 with seconds."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    failures, skipped = (str(sum(_case_kind(gate, check) == kind for check in gate.checks)) for kind in ("failure", "skipped"))
    counts = {"tests": str(len(gate.checks)), "failures": failures, "errors": "0", "skipped": skipped}
    root = Element("testsuites")
    about = {"name": escape_invisible(name), "hostname": "localhost", "timestamp": made.removesuffix("Z"), "time": "0"}
    suite = SubElement(root, "testsuite", {**about, **counts})
    SubElement(suite, "properties")
    for check in gate.checks:
        _add_case(suite, check, _case_kind(gate, check))
    texts = (gate.verdict, *gate.decision_sentences, *gate.notes)
    SubElement(suite, "system-out").text = "\n".join(map(escape_invisible, texts))
    SubElement(suite, "system-err")
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _case_kind(gate: GateResult, check: GateCheck) -> str:
    """The element of a test case that did not pass: an unsure check is skipped, unless it stops the build."""
    if check.passed:
        return ""
    return "skipped" if check.result == "unsure" and gate.unsure == "warn" else "failure"


def _add_case(suite: Element, check: GateCheck, kind: str) -> None:
    from xml.etree.ElementTree import SubElement

    about = {"classname": f"rankproof.gate.{check.kind}", "name": escape_invisible(check.name), "time": "0"}
    case = SubElement(suite, "testcase", about)
    sentence = escape_invisible(check.sentence)
    if kind == "failure":
        SubElement(case, kind, {"message": sentence, "type": check.kind}).text = sentence
    elif kind == "skipped":
        SubElement(case, kind, {"message": sentence})


def as_steps_junit(results: ExperimentResult, comparison: Comparison | None) -> str:
    """The systems of an experiment against the systems that they build on, else the baseline, as JUnit XML."""
    pairs = () if comparison is None else comparison.pairs
    tested = {
        (pair.measure, direction.system, direction.other): direction for pair in pairs for direction in (pair, pair.swapped())
    }
    checks = tuple(check for system_run in results.system_runs for check in _step_checks(results, system_run, tested))
    made = str(results.provenance.get("created") or "1970-01-01T00:00:00Z")
    gate = GateResult(checks, results.notes, comparison)
    return as_junit(gate, name=f"rankproof export {results.name}", made=made)


def _step_checks(
    results: ExperimentResult, system_run: SystemRun, tested: Mapping[tuple[str, str, str], PairRecord]
) -> Iterator[GateCheck]:
    """A check for each measure; only the primary one can fail."""
    for measure, value in results.result.means[system_run.name].items():
        pair = tested.get((measure, system_run.name, results.compared_with(system_run) or ""))
        if pair is None:
            sentence = f"{for_message(system_run.name)}: {measure} is {value:.4f}"
            yield GateCheck("system", system_run.name, "passed", sentence, measure)
            continue
        numbers = f"{measure} {pair.value:.4f} against {pair.other_value:.4f} of {for_message(pair.other)}"
        kind = ", exploratory" if pair.exploratory else ""
        sentence = f"{for_message(system_run.name)}: {pair.verdict} ({numbers}, {format_p(pair.p_adjusted)}{kind})"
        is_drop = pair.verdict == "worse" and not pair.exploratory
        yield GateCheck("drop", system_run.name, "failed" if is_drop else "passed", sentence, measure)


MAX_LISTED = 30
"""The most checks in a list."""
_WIDE = RenderOptions(width=200)


def as_comment(gate: GateResult) -> str:
    """The outcome, failed, unsure and notable checks, the decision, the table of systems, and the rest in folded sections."""
    failed, unsure = ([check for check in gate.checks if check.result == result] for result in ("failed", "unsure"))
    notable = [check for check in gate.checks if check.passed and check.is_notable]
    quiet = [check for check in gate.checks if check.passed and not check.is_notable]
    parts = [
        f"### rankproof: {for_github(gate.verdict)}",
        *_check_list("Failed", failed),
        *_check_list("Unsure", unsure),
        *_check_list("Passed, notable", notable),
        *map(for_github, gate.decision_sentences),
    ]
    if gate.comparison is not None and gate.comparison.systems:
        parts += folded_part("The systems", markdown_table(comparison_table(gate.comparison, _WIDE), for_github))
    if quiet:
        parts += folded_part(f"{len(quiet)} more passed", *_check_list("", quiet))
    parts += [f"> {for_github(note)}" for note in gate.notes]
    return limited_comment(parts)


def _check_list(title: str, checks: list[GateCheck]) -> list[str]:
    if not checks:
        return []
    lines = [f"- {for_github(check.sentence)}" for check in checks[:MAX_LISTED]]
    if len(checks) > MAX_LISTED:
        lines.append(f"- … and {len(checks) - MAX_LISTED} more")
    return [f"**{title}**", "\n".join(lines)] if title else ["\n".join(lines)]


MAX_COMMENT = 65_000
"""GitHub rejects comments of more than 65,536 characters."""
_LEFT_OUT = "Left out, because a comment has at most 65,536 characters: {}."


def folded_part(title: str, *lines: str) -> list[str]:
    """One folded part of a comment, as an element of its list of parts."""
    # Markdown in the element needs an empty line before it; the summary is HTML.
    body = "\n\n".join(line.strip("\n") for line in lines)
    return [f"<details>\n<summary>{for_github_html(title)}</summary>\n\n{body}\n\n</details>"]


def limited_comment(parts: Sequence[str], most: int = MAX_COMMENT) -> str:
    """The parts as one comment; parts at the end that do not fit are left out, and the last line says how many."""
    shown, size = [], 0
    for part in parts:
        if size + len(part) + 2 > most - len(_LEFT_OUT) - 20:
            break
        shown.append(part)
        size += len(part) + 2
    left = len(parts) - len(shown)
    if left:
        shown.append(_LEFT_OUT.format(f"{left} part{'' if left == 1 else 's'}"))
    return "\n\n".join(shown) + "\n"
