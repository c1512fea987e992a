"""The judgements of an experiment: those of the dataset and those in further files, and who made them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rankproof._data.dataset import Dataset
from rankproof._data.grades import GradeMap
from rankproof._data.qrels import HUMAN_JUDGE, Judgement, Qrels, assessor_of
from rankproof._data.row_errors import OnConflict
from rankproof._data.text import pluralise
from rankproof._experiment.experiment import Experiment, checked_qrels
from rankproof._formats.read import read_qrels
from rankproof._formats.trec import numbered_lines
from rankproof._importers.registry import read_dataset
from rankproof._io.open import open_source
from rankproof._statistics.kappa import kappas
from rankproof.errors import InputError

JUDGEMENTS_KEY = "judgements"
"""The fact of the provenance that says who made the judgements."""
_Pair = tuple[str, str]


@dataclass(frozen=True, eq=False, slots=True)
class JudgedDataset:
    """A dataset with the judgements of all files; `own` is the dataset as it is without them."""

    own: Dataset
    dataset: Dataset
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def load_judged_dataset(experiment: Experiment) -> JudgedDataset:
    """The dataset of the experiment, with the judgements of its further files."""
    grades, rule = experiment.grade_map, experiment.on_conflict
    sources = checked_qrels(experiment.qrels) or ()
    return add_judgements(load_dataset(experiment), sources, rel=experiment.rel, grade_map=grades, on_conflict=rule)


def load_dataset(experiment: Experiment) -> Dataset:
    """The dataset of the experiment as it is without further judgements, read if it is a path."""
    if isinstance(experiment.dataset, Dataset):
        return experiment.dataset
    grades, rule = experiment.grade_map, experiment.on_conflict
    return read_dataset(experiment.dataset, split=experiment.split, grade_map=grades, on_conflict=rule)


def add_judgements(
    own: Dataset,
    sources: Sequence[str | Qrels],
    *,
    rel: int = 1,
    grade_map: GradeMap | None = None,
    on_conflict: OnConflict = "error",
) -> JudgedDataset:
    """The dataset with further judgements; where a person and a machine judged the same pair, the person's grade counts."""
    if not sources:
        return JudgedDataset(own, own, _judge_facts(own.qrels, {}) if own.qrels.judge_labels else {})
    read = [one if isinstance(one, Qrels) else read_qrels(one, grade_map=grade_map, on_conflict=on_conflict) for one in sources]
    for one in read:
        if not any(query in own.queries for query in one):
            raise InputError(
                "no judged query is among the queries", fix="specify the judgements of this dataset", source=one.source
            )
    every = [own.qrels, *read]
    source = ", ".join(os.path.basename(one.source) for one in every if one)
    people = Qrels((row for one in every for row in _rows(one) if not row.judge_label), source=source, on_conflict=on_conflict)
    machine = Qrels((row for one in every for row in _rows(one) if row.judge_label), source=source, on_conflict=on_conflict)
    qrels = Qrels((*_rows(people), *(row for row in _rows(machine) if row.doc not in people.get(row.query, {}))), source=source)
    names = {pair: name for one in sources if isinstance(one, str) for pair, name in _assessors(one)}
    agreement = _agreement(people, machine, rel)
    facts = {**_judge_facts(qrels, names), **({"agreement": agreement} if agreement else {})}
    return JudgedDataset(own, replace(own, qrels=qrels), facts, tuple(_notes(own, qrels)))


def _rows(qrels: Qrels) -> Iterator[Judgement]:
    for query, docs in qrels.items():
        for doc, grade in docs.items():
            yield Judgement(query, doc, grade, judge_label=qrels.judge_labels.get((query, doc), ""))


def _assessors(path: str) -> Iterator[tuple[_Pair, str]]:
    """The pairs of a file that `rankproof serve` wrote, with the name of the person who judged each."""
    if not os.path.isfile(path):
        return
    for _, row in numbered_lines(open_source(path)):
        columns = row.decode(errors="replace").split()
        if len(columns) == 4 and (name := assessor_of(columns[1])):
            yield (columns[0], columns[2]), name


def _judge_facts(qrels: Qrels, names: Mapping[_Pair, str]) -> dict[str, Any]:
    """The number of judgements of each person and each machine."""
    pairs = [(query, doc) for query, docs in qrels.items() for doc in docs]
    people = Counter(names.get(pair, HUMAN_JUDGE) for pair in pairs if pair not in qrels.judge_labels)
    return {"people": dict(people), "machines": qrels.judge_counts()}


def _agreement(people: Qrels, machine: Qrels, rel: int) -> dict[str, Any] | None:
    """The share of equal grades and Cohen's kappa of relevance, over the pairs that both judged."""
    both = [
        (people[query][doc], grade)
        for query, docs in machine.items()
        for doc, grade in docs.items()
        if doc in people.get(query, {})
    ]
    if not both:
        return None
    table = np.zeros((2, 2))
    for one, other in both:
        table[int(one >= rel), int(other >= rel)] += 1
    kappa = float(kappas(table, (0, 1), weighted=False))
    same = sum(one == other for one, other in both) / len(both)
    return {"pairs": len(both), "same_grade": same, "kappa": None if np.isnan(kappa) else kappa}


def _notes(own: Dataset, qrels: Qrels) -> Iterator[str]:
    """A note on queries that no file judges."""
    unjudged = sum(query not in qrels for query in own.queries)
    if not own.is_judged and unjudged:
        yield f"{pluralise(unjudged, 'query has', 'queries have')} no judgement and no part in the measures"
