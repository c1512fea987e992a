"""Diagnosis: what the values point at, and which queries fail."""

from __future__ import annotations

from ...analysis.diagnose.failed import failed_table, failures, failures_table
from ...analysis.diagnose.report import CUTOFF, SHOWN
from ...analysis.diagnose.systems import systems_tables
from ..material import Material
from ..section import Section
from ..sheet import sheet_of
from ..words import sentence_of


def diagnosis(material: Material) -> Section:
    """The systems by the rules, and the failed queries of the best."""
    evidence = material.evidence
    systems, rules = systems_tables(evidence)
    failed = {name: failures(evidence, name, CUTOFF) for name in evidence.systems}
    worst = failed_table(evidence, failed[material.best], CUTOFF, SHOWN)
    return Section(
        key="diagnosis",
        title="Diagnosis",
        question="What holds each system back, and which queries fail?",
        points=tuple(map(sentence_of, systems.sentences)),
        tables=(sheet_of(systems), sheet_of(failures_table(failed, CUTOFF)), sheet_of(worst, told=True)),
        folded=(sheet_of(rules),),
    )
