"""Judgements of results: joins those of several sources, says who made them, and measures the results with them."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankproof._data.dataset import Dataset
from rankproof._data.qrels import HUMAN_JUDGE, Judgement, Qrels, highest_grade
from rankproof._data.row_errors import OnConflict
from rankproof._data.text import format_value, pluralise
from rankproof._data.validation import ReadOptions
from rankproof._evaluation.evaluate import evaluate_runs
from rankproof._evaluation.options import EvaluateOptions
from rankproof._importers.registry import read_dataset
from rankproof._io.toml_file import toml_values
from rankproof._results.experiment_result import ExperimentResult, measured_runs
from rankproof._results.result_json import EXPERIMENT_FILE, PYTHON_PREFIX, parse_stored_measures
from rankproof._statistics.agreement import kappas
from rankproof.errors import InputError, RankproofError, UsageError, for_message
from rankproof.measures._answers import AnswerMeasure
from rankproof.measures._base import Measure
from rankproof.measures._registry import default_measures

JUDGEMENTS_KEY = "judgements"
"""The fact of the provenance that says who made the judgements."""
Assessors = Mapping[tuple[str, str], str]
"""The name of the person who judged a pair of query and document."""


def merged_grade(grades: Sequence[int]) -> int:
    """The median of the grades that people gave to a pair; of two middle ones the lower: doubt counts as less relevant."""
    return sorted(grades)[(len(grades) - 1) // 2]


@dataclass(frozen=True, eq=False, slots=True)
class JoinedJudgements:
    """The judgements of people, those of machines, and both: where the two judged the same pair, the person's grade counts."""

    people: Qrels
    machines: Qrels
    qrels: Qrels

    def facts(self, names: Assessors, rel: int) -> dict[str, Any]:
        """The number of judgements of each person and each machine, and their agreement on the pairs that both judged."""
        pairs = [(query, doc) for query, docs in self.qrels.items() for doc in docs]
        people = Counter(names.get(pair, HUMAN_JUDGE) for pair in pairs if pair not in self.qrels.judge_labels)
        agreement = self._agreement(rel)
        counts = {"people": dict(people), "machines": self.qrels.judge_counts()}
        return {**counts, **({"agreement": agreement} if agreement else {})}

    def _agreement(self, rel: int) -> dict[str, Any] | None:
        """The share of equal grades, and Cohen's kappa of relevance."""
        both = [
            (self.people[row.query][row.doc], row.grade)
            for row in _rows(self.machines)
            if row.doc in self.people.get(row.query, {})
        ]
        if not both:
            return None
        table = np.zeros((2, 2))
        for grade, other in both:
            table[int(grade >= rel), int(other >= rel)] += 1
        kappa = float(kappas(table, (0, 1)))
        same = sum(grade == other for grade, other in both) / len(both)
        return {"pairs": len(both), "same_grade": same, "kappa": None if np.isnan(kappa) else kappa}


def agreement_sentence(facts: Mapping[str, Any]) -> str:
    """How far people and machines agree, from the facts of joined judgements; empty where no pair has grades of both."""
    agreement = facts.get("agreement")
    if not isinstance(agreement, Mapping):
        return ""
    kappa, pairs = agreement.get("kappa"), pluralise(int(agreement["pairs"]), "pair has grades", "pairs have grades")
    relevance = "" if kappa is None else f", and Cohen's kappa of relevant or not is {format_value(float(kappa))}"
    same = f"{float(agreement['same_grade']):.0%} of them are equal"
    return f"{pairs} of people and of machines, and the person's grade counts: {same}{relevance}"


def join_judgements(parts: Sequence[Qrels], on_conflict: OnConflict = "error") -> JoinedJudgements:
    """The judgements of all parts; `on_conflict` decides between two grades of people, or of machines, for one pair."""
    source = ", ".join(part.source for part in parts if part)
    by_subtopic = all(part.subtopics for part in parts if part)
    rows = [row for part in parts for row in (part.rows() if by_subtopic else _rows(part))]
    people = Qrels((row for row in rows if not row.judge_label), source=source, on_conflict=on_conflict)
    machines = Qrels((row for row in rows if row.judge_label), source=source, on_conflict=on_conflict)
    others = (row for row in machines.rows() if row.doc not in people.get(row.query, {}))
    return JoinedJudgements(people, machines, Qrels((*people.rows(), *others), source=source))


def _rows(qrels: Qrels) -> Iterator[Judgement]:
    """The judgements without subtopics."""
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            yield Judgement(query, doc, grade, judge_label=qrels.judge_labels.get((query, doc), ""))


def with_judgements(results: ExperimentResult, *more: Qrels, names: Assessors | None = None) -> ExperimentResult:
    """The results measured with further judgements, which replace older ones of the same kind; values of chunks are left out."""
    joined = join_judgements((results.qrels, *more), "last")
    qrels = joined.qrels
    chosen = tuple(query for query in results.queries if query in qrels)
    if not chosen:
        what = f"{for_message(joined.qrels.source)} judges no query of {for_message(results.name)}"
        raise UsageError(what, fix="specify the judgements of these results")
    read_options = ReadOptions(judged_only=results.judged_only)
    # The names of measures in results have their rel; those of an experiment do not.
    rel = 1 if results.is_judged else results.rel
    weights, primary = results.texts.weights, results.decision_settings.primary
    options = EvaluateOptions(read_options, rel=rel, queries=chosen, weights=weights, primary=primary)
    runs = {name: run.restricted_to(qrels) for name, run in measured_runs(results.system_runs).items()}
    result = evaluate_runs(qrels, runs, _measures(results, qrels), options)
    facts = joined.facts(names or {}, results.rel)
    return replace(results, result=result, qrels=qrels, chunks=None, provenance={**results.provenance, JUDGEMENTS_KEY: facts})


def _measures(results: ExperimentResult, qrels: Qrels) -> list[Measure]:
    """The measures of the results; for results without judgements those of the experiment, with the primary one."""
    if results.is_judged:
        return [measure.measure for measure in results.result.systems[0].measures.values()]
    named = _settings(results).get("measures")
    stored = [measure for measure in parse_stored_measures(named) if not isinstance(measure, AnswerMeasure)] if named else []
    chosen = stored or default_measures(highest_grade(qrels) or 0)
    primary = results.decision_settings.primary
    return list(dict.fromkeys([*chosen, *(parse_stored_measures([primary]) if primary else [])]))


def _settings(results: ExperimentResult) -> dict[str, Any]:
    """The settings of the experiment file in the results."""
    return toml_values(results.experiment, f"{EXPERIMENT_FILE} of {for_message(results.name)}")


def experiment_dataset(results: ExperimentResult) -> Dataset | None:
    """The dataset that the experiment names; None if it cannot be read, or is another one by now."""
    try:
        settings = _settings(results)
        place = settings.get("dataset")
        if not isinstance(place, str) or place.startswith(PYTHON_PREFIX):
            return None
        choices = {name: settings[name] for name in ("split", "grade_map", "on_conflict") if name in settings}
        dataset = read_dataset(place, **choices)
    except RankproofError:
        return None
    return dataset if dataset.fingerprint() == results.fingerprint else None


def judgements_file(folder: str, kind: str) -> str:
    """The file beside a results folder that holds its judgements of one kind: `model`, `keywords` or `people`."""
    return f"{os.path.normpath(folder)}.{kind}.qrels"


def measuring_command(results: ExperimentResult, folder: str, files: Sequence[str], options: Sequence[str] = ()) -> str | None:
    """The command that measures the results with files of judgements; None without an experiment file that can be run."""
    try:
        settings = _settings(results)
    except InputError:
        return None
    listed = settings.get("qrels", [])
    readable = isinstance(listed, list) and all(isinstance(file, str) for file in listed)
    if PYTHON_PREFIX in results.experiment or not settings.get("systems") or not readable:
        return None
    # --qrels replaces the files of the experiment.
    every = {os.path.abspath(file): file for file in (*listed, *files)}
    place = os.path.normpath(folder)
    words = ("run", os.path.join(place, EXPERIMENT_FILE), *(word for file in every.values() for word in ("--qrels", file)))
    return " ".join(map(shlex.quote, ("rankproof", *words, *options, "-o", place)))
