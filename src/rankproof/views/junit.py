"""A gate's decisions as JUnit XML, which build servers read: one test case each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..analysis.gate.decide import Gate
from ..analysis.gate.decision import Decision
from ..errors import visible

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def as_junit(gate: Gate, *, name: str, made: str) -> str:
    """The document; `made` is when, in ISO 8601, its seconds the last part."""
    from xml.etree.ElementTree import Element, SubElement, indent, tostring

    failures = str(sum(not decision.passed for decision in gate.decisions))
    counts = {"tests": str(len(gate.decisions)), "failures": failures, "errors": "0"}
    root = Element("testsuites")
    about = {"name": visible(name), "hostname": "localhost", "timestamp": made.removesuffix("Z"), "time": "0"}
    suite = SubElement(root, "testsuite", {**about, **counts, "skipped": "0"})
    SubElement(suite, "properties")
    for decision in gate.decisions:
        _add_case(suite, decision)
    SubElement(suite, "system-out").text = "\n".join(map(visible, gate.notes))
    SubElement(suite, "system-err")
    indent(root, " ")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{tostring(root, encoding="unicode")}\n'


def _add_case(suite: Element, decision: Decision) -> None:
    from xml.etree.ElementTree import SubElement

    about = {"classname": f"rankproof.gate.{decision.matter}", "name": visible(decision.name), "time": "0"}
    case = SubElement(suite, "testcase", about)
    if not decision.passed:
        sentence = visible(decision.sentence)
        SubElement(case, "failure", {"message": sentence, "type": decision.matter}).text = sentence
