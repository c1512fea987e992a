"""`diagnose`: what the values of systems, segments and stages indicate, and which queries fail."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rankproof._analysis.baselines import check_documents, upper_bounds
from rankproof._analysis.chance import ChanceValues, below_chance_verdict, chance_notes, chance_values, describe_below_chance
from rankproof._analysis.diagnose.failed_queries import failed_table, failures, failures_table
from rankproof._analysis.diagnose.steps import Step, gains_table, moves_table, stage_measures_table
from rankproof._analysis.inputs import AnalysisInput, check_judged
from rankproof._analysis.query_groups import MIN_QUERIES, Grouping
from rankproof._analysis.values import best_system, deepest_recall, main_measure, measure_results, query_counts
from rankproof._data.table import CellValue, Column, Table, TableSummary
from rankproof._data.text import format_value
from rankproof._results.experiment_result import compared_system
from rankproof.errors import for_message
from rankproof.measures._parse import parse_measure

FIRST, FEW, TEN, FIRST_HIT = "Success@1", "Success@5", "Success@10", "RR@10"
RULE_MEASURES = (FIRST, FEW, TEN, FIRST_HIT)
_TUTORIAL = "Retrieval Metrics Tutorial"
_BANDS = "thresholds of the tutorial"
_BOTH_BANDS = f"{_BANDS}, and for RR of the Hybrid RAG System with Automated Evaluation"
GUIDELINES = f"{_TUTORIAL}, diagnostic guidelines; {_BANDS}"
WITH_RAG_BANDS = f"{_TUTORIAL}, diagnostic guidelines; {_BOTH_BANDS}"


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """A condition on one measure: at least `least` and below `below`."""

    measure: str
    least: float | None = None
    below: float | None = None

    def holds(self, values: Mapping[str, float]) -> bool:
        """Whether the value is known and within the thresholds."""
        value = values.get(self.measure)
        return value is not None and (self.least is None or value >= self.least) and (self.below is None or value < self.below)

    @property
    def bounds(self) -> tuple[float, ...]:
        """The thresholds."""
        return tuple(bound for bound in (self.least, self.below) if bound is not None)

    def __str__(self) -> str:
        bounds = [f"at least {format_value(self.least)}" if self.least is not None else ""]
        bounds += [f"below {format_value(self.below)}" if self.below is not None else ""]
        return f"{self.measure} {' and '.join(filter(None, bounds))}"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that applies if all its conditions hold."""

    name: str
    conditions: tuple[ThresholdRule, ...]
    means: str
    action: str
    source: str

    def fires(self, values: Mapping[str, float]) -> bool:
        """Whether all conditions hold."""
        return all(condition.holds(values) for condition in self.conditions)

    def why(self, values: Mapping[str, float]) -> str:
        """The values of its measures."""
        return ", ".join(f"{condition.measure} {format_value(values[condition.measure])}" for condition in self.conditions)


RULES = (
    Rule(
        "perfect",
        (ThresholdRule(FIRST, 1.0), ThresholdRule(FEW, 1.0)),
        "a relevant document is first for every query",
        "evaluate on harder queries: these leave nothing to gain",
        f"{_TUTORIAL}, scenario of a perfect system",
    ),
    Rule(
        "good ranking",
        (ThresholdRule(FIRST, 0.50, 1.0), ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "most queries have a relevant document in the top 5, most of them at rank 1",
        "inspect the failed queries one by one",
        f"{_TUTORIAL}, scenario of a good ranking; {_BOTH_BANDS}",
    ),
    Rule(
        "ranking, not coverage",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, 0.70)),
        "relevant documents are retrieved, but ranked low",
        "improve the ranking, not the coverage: a reranker, BM25 parameters, other embeddings",
        GUIDELINES,
    ),
    Rule(
        "retrieval",
        (ThresholdRule(FIRST, below=0.50), ThresholdRule(FEW, below=0.70)),
        "relevant documents are not retrieved, or ranked very low",
        "improve the coverage: indexed fields, query processing, vocabulary",
        GUIDELINES,
    ),
    Rule(
        "quality over quantity",
        (ThresholdRule(FEW, below=0.80), ThresholdRule(FIRST_HIT, 0.70)),
        "relevant documents rank high, but many queries have none in the top 5",
        "retrieve more documents, unless users can rephrase their query",
        WITH_RAG_BANDS,
    ),
    Rule(
        "quantity over quality",
        (ThresholdRule(FEW, 0.80), ThresholdRule(FIRST_HIT, 0.50, 0.70)),
        "most queries have a relevant document in the top 5, but often below irrelevant ones",
        "improve the ranking of the top results",
        WITH_RAG_BANDS,
    ),
    Rule(
        "rank 1 or nothing",
        (ThresholdRule(FIRST, 0.50), ThresholdRule(FEW, below=0.80), ThresholdRule(FIRST_HIT, below=0.70)),
        "half of the queries have a relevant document at rank 1, many others none in the top 5",
        "find what the failed queries have in common: rankproof segments",
        f"{_TUTORIAL}, which has no scenario for these values; {_BOTH_BANDS}",
    ),
)
NO_RULE = "no rule applies"


def fired_rules(values: Mapping[str, float]) -> tuple[Rule, ...]:
    """The rules that apply; a rule with a missing value does not."""
    return tuple(rule for rule in RULES if rule.fires(values))


def diagnosis(values: Mapping[str, float]) -> str:
    """The names of the rules that apply."""
    return "; ".join(rule.name for rule in fired_rules(values)) or NO_RULE


def rule_sentences(systems: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A sentence for each rule that applies to a system: its meaning, what to do, and the values."""
    sentences = []
    for rule in RULES:
        numbers = [f"{name} ({rule.why(values)}{_depth(rule, values)})" for name, values in systems.items() if rule.fires(values)]
        if numbers:
            where = ", ".join(map(str, rule.conditions))
            sentences.append(f"{rule.name}: {rule.means} ({where}). What to do: {rule.action}. Systems: {'; '.join(numbers)}.")
    return sentences


def _depth(rule: Rule, values: Mapping[str, float]) -> str:
    """Success@10, if the problem is the ranking."""
    return f", {TEN} {format_value(values[TEN])}" if rule.name == "ranking, not coverage" and TEN in values else ""


_Z_95 = 1.96
_STEP = 1e-9


@dataclass(frozen=True, slots=True)
class NearThreshold:
    """A threshold within sampling error of a value, where the other side has another diagnosis."""

    measure: str
    value: float
    bound: float
    within: float

    def __str__(self) -> str:
        return f"{self.measure} {format_value(self.value)} vs {format_value(self.bound)} ± {format_value(self.within)}"


def near_thresholds(values: Mapping[str, float], n: int) -> tuple[NearThreshold, ...]:
    """The thresholds within the 95% sampling error of the mean of n queries.

    A value from 0 to 1 with mean b has a variance of at most b (1 - b), that of a Bernoulli variable.
    """
    near = []
    for measure, bound in sorted(
        {(condition.measure, bound) for rule in RULES for condition in rule.conditions for bound in condition.bounds}
    ):
        within = _Z_95 * math.sqrt(bound * (1 - bound) / n)
        if measure in values and abs(values[measure] - bound) <= within:
            # Only a threshold that separates two diagnoses makes the diagnosis uncertain.
            sides = (diagnosis({**values, measure: bound + step}) for step in (-_STEP, _STEP))
            near += [NearThreshold(measure, values[measure], bound, within)] if len(set(sides)) > 1 else []
    return tuple(near)


_NEAR = Column("near thresholds", about="thresholds within sampling error: other queries could give another diagnosis")
PerQuery = Mapping[str, Mapping[str, float]]
"""Measure to query to value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The values of a system over some queries, and those of a random ranking if known.

    `p_below_chance` is the probability that a random ranking has at most as many successes in the top 10.
    """

    system: str
    n: int
    values: Mapping[str, float]
    chance: Mapping[str, float]
    p_below_chance: float | None

    @property
    def below_chance(self) -> list[str]:
        """The measures in which a random ranking is better."""
        return [name for name, value in self.values.items() if value < self.chance.get(name, -1.0)]

    @property
    def near_thresholds(self) -> str | None:
        """The thresholds within sampling error of a value."""
        return "; ".join(map(str, near_thresholds(self.values, self.n))) or None

    @property
    def diagnosis_text(self) -> str:
        """The diagnosis of the values."""
        return "; ".join([*([below_chance_verdict(self.p_below_chance)] if self.below_chance else []), diagnosis(self.values)])


def system_findings(inputs: AnalysisInput, groups: Mapping[str, Sequence[str]]) -> list[dict[str, Finding]]:
    """The finding of each system over each group of queries; groups without a query of the system are left out."""
    values = measure_results(inputs, RULE_MEASURES)
    queries = inputs.result.queries
    chances = {
        name: dict(zip(queries, chance.values.tolist(), strict=True)) for name, chance in _chances(inputs, queries).items()
    }
    findings = []
    for system, ones in values.items():
        per_query = {name: result.per_query for name, result in ones.items()}
        chosen = {name: tuple(query for query in group if query in per_query[TEN]) for name, group in groups.items()}
        findings.append({name: system_finding(system, ids, per_query, chances) for name, ids in chosen.items() if ids})
    return findings


def system_finding(system: str, queries: Sequence[str], values: PerQuery, chances: PerQuery) -> Finding:
    """The means of the values over the queries, and those of a random ranking."""
    means = {name: math.fsum(value[query] for query in queries) / len(queries) for name, value in values.items()}
    chance = {name: ChanceValues(np.array([per_query[query] for query in queries])) for name, per_query in chances.items()}
    p = chance[TEN].p_at_most(round(means[TEN] * len(queries))) if TEN in chance else None
    return Finding(system, len(queries), means, {name: expected.value for name, expected in chance.items()}, p)


def _chances(inputs: AnalysisInput, queries: tuple[str, ...]) -> dict[str, ChanceValues]:
    """The values of a random ranking over the queries; empty if the corpus size is unknown."""
    chances = {name: chance_values(inputs, parse_measure(name).with_rel(inputs.rel), queries) for name in RULE_MEASURES}
    return {name: chance for name, chance in chances.items() if chance is not None}


def systems_tables(inputs: AnalysisInput) -> tuple[Table, Table]:
    """The values and diagnosis of each system, with the numbers that fired each rule; then the rules."""
    findings = [groups[""] for groups in system_findings(inputs, {"": inputs.result.queries})]
    counts = query_counts(inputs)
    rows: list[tuple[CellValue, ...]] = [
        values_row(finding.system, finding.n, finding.values, finding.diagnosis_text, finding.near_thresholds)
        for finding in findings
    ]
    chances = _chances(inputs, counts.common)
    if chances:
        means = {name: chance.value for name, chance in chances.items()}
        rows.insert(0, values_row("random ranking", len(counts.common), means, "expected value", None))
    table = Table(
        name="diagnosis",
        title=f"Diagnosis of each system: {counts}",
        columns=(Column("system"), *values_columns()),
        rows=tuple(rows),
        sentences=(*(sentence for finding in findings for sentence in _describe_worse(finding)), *_describe_systems(findings)),
        notes=chance_notes(inputs),
        facts={**counts.facts, "documents": inputs.documents},
        verdict_first=True,
        summary=TableSummary(("system", *(column.name for column in counts.column), FEW, "diagnosis"), tuple(range(len(rows)))),
    )
    return table, _rules_table(findings)


def values_columns() -> tuple[Column, ...]:
    """The columns of n, the values that the rules use, and the diagnosis."""
    return (Column("n", "count"), *(Column(name, "value") for name in RULE_MEASURES), Column("diagnosis"), _NEAR)


def values_row(name: str, n: int, values: Mapping[str, float], diagnosis_text: str, near_to: str | None) -> tuple[CellValue, ...]:
    """The cells of those columns, after a name."""
    return (name, n, *(values[measure] for measure in RULE_MEASURES), diagnosis_text, near_to)


def _describe_systems(findings: Sequence[Finding]) -> list[str]:
    sentences = rule_sentences({for_message(finding.system): finding.values for finding in findings})
    silent = [for_message(finding.system) for finding in findings if not fired_rules(finding.values)]
    unsure = [f"{for_message(finding.system)} ({finding.near_thresholds})" for finding in findings if finding.near_thresholds]
    sentences += [f"No rule applies to {', '.join(silent)}."] if silent else []
    uncertain = "The diagnosis is uncertain, because a value is within sampling error of its threshold"
    sentences += [f"{uncertain}: {'; '.join(unsure)}."] if unsure else []
    return sentences


def _describe_worse(finding: Finding) -> list[str]:
    if not finding.below_chance:
        return []
    numbers = ", ".join(
        f"{name} {format_value(finding.values[name])} against {format_value(finding.chance[name])}"
        for name in finding.below_chance
    )
    p = finding.p_below_chance
    lead = f"{below_chance_verdict(p)}: {for_message(finding.system)} is below the expected value of a random ranking"
    return [f"{lead}: {numbers} (n = {finding.n}{describe_below_chance(p)})."]


def _rules_table(findings: Sequence[Finding]) -> Table:
    rows = tuple(
        (
            rule.name,
            ", ".join(map(str, rule.conditions)),
            ", ".join(finding.system for finding in findings if rule in fired_rules(finding.values)) or None,
            rule.source,
        )
        for rule in RULES
    )
    columns = (Column("rule"), Column("condition"), Column("systems"), Column("source"))
    return Table("rules", "Rules of the diagnosis", columns, rows)


def segments_tables(inputs: AnalysisInput, grouping: Grouping) -> list[Table]:
    """The diagnosis of each segment, a table per system; a segment with too few queries gets none."""
    columns = (Column(grouping.by), *values_columns(), Column("system"))
    tables = []
    for finding in system_findings(inputs, grouping.segments):
        rows = []
        for segment, segment_finding in sorted(finding.items(), key=lambda pair: pair[1].values[FEW]):
            words = (
                segment_finding.diagnosis_text
                if segment_finding.n >= MIN_QUERIES
                else f"too few queries (fewer than {MIN_QUERIES})"
            )
            unsure = segment_finding.near_thresholds if segment_finding.n >= MIN_QUERIES else None
            rows.append((*values_row(segment, segment_finding.n, segment_finding.values, words, unsure), segment_finding.system))
        system, count = str(rows[0][-1]), sum(segment_finding.n for segment_finding in finding.values())
        title = f"Diagnosis of {for_message(system)} by {grouping.by}, lowest {FEW} first: n = {count} queries"
        facts = {"system": system, "by": grouping.by, "n": count, "min_queries": MIN_QUERIES}
        summary = TableSummary((grouping.by, "n", FIRST, FEW, "diagnosis"), tuple(range(len(rows))))
        name = f"diagnosis by {grouping.by}"
        tables.append(Table(name, title, columns, tuple(rows), notes=grouping.notes, facts=facts, summary=summary))
    return tables


CUTOFF = 10
SHOWN, FEW_SHOWN = 10, 5


def diagnose(
    inputs: AnalysisInput,
    groupings: Sequence[Grouping] = (),
    *,
    system: str | None = None,
    cutoff: int = CUTOFF,
    most: int = SHOWN,
    rules: bool = False,
) -> list[Table]:
    """Diagnoses systems and segments by rules, the steps of an experiment, and the failed queries of one system.

    By default that is the best system. `rules` adds a table of the rules with the systems to which each applies.
    """
    check_documents(inputs)
    check_judged(inputs)
    measure = main_measure(inputs)
    chosen = system or best_system({name: result[measure] for name, result in measure_results(inputs, [measure]).items()})
    failed = {name: failures(inputs, name, cutoff) for name in inputs.systems}
    systems, rules_table = systems_tables(inputs)
    return [
        systems,
        *([rules_table] if rules else []),
        *(table for grouping in groupings for table in segments_tables(inputs, grouping)),
        *(step_tables(inputs, measure, cutoff) if inputs.system_runs else []),
        failures_table(failed, cutoff),
        failed_table(inputs, failed[chosen], cutoff, most),
    ]


def step_tables(inputs: AnalysisInput, measure: str, cutoff: int) -> list[Table]:
    """What each system gains, how it moves relevant documents, and which measures matter at its stage."""
    means, runs = inputs.result.means, inputs.system_runs
    steps = [
        Step(run.name, run.kind, means[run.name], compared_system(run, runs, inputs.decision_settings), run.builds_on)
        for run in runs
    ]
    recall = deepest_recall(inputs.result)
    bound = upper_bounds(inputs, [measure])[measure]
    return [
        gains_table(steps, measure, recall, query_counts(inputs)),
        moves_table(inputs, measure, bound, cutoff),
        stage_measures_table(steps),
    ]
