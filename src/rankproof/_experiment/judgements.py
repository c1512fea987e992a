"""The judgements of an experiment: those of the dataset and those in further files, and who made them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rankproof._data.dataset import Dataset
from rankproof._data.grades import GradeMap, describe_conflicts, describe_converted
from rankproof._data.qrels import Qrels, assessor_of
from rankproof._data.row_errors import OnConflict
from rankproof._data.text import pluralise
from rankproof._experiment.experiment import Experiment, checked_qrels
from rankproof._formats.read import format_is_detected, read_qrels
from rankproof._formats.trec import numbered_lines
from rankproof._importers.registry import read_stored_dataset
from rankproof._io.corpus_store import CorpusStorage
from rankproof._io.open import open_source
from rankproof._results.judgements import JoinedJudgements, agreement_sentence, join_judgements
from rankproof._results.saved_cases import cases_of, read_cases, with_cases
from rankproof.errors import InputError


@dataclass(frozen=True, eq=False, slots=True)
class JudgedDataset:
    """A dataset with the judgements of all files; `own` is the dataset as it is without them."""

    own: Dataset
    dataset: Dataset
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def load_judged_dataset(experiment: Experiment, storage: CorpusStorage | None = None) -> JudgedDataset:
    """The dataset of the experiment, with the judgements of its further files."""
    grades, rule = experiment.grade_map, experiment.on_conflict
    sources = checked_qrels(experiment.qrels) or ()
    own = load_dataset(experiment, storage)
    if experiment.include_cases is not None:
        own = with_cases(own, cases_of(read_cases(experiment.include_cases), own.name), experiment.include_cases)
    return add_judgements(own, sources, rel=experiment.rel, grade_map=grades, on_conflict=rule)


def load_dataset(experiment: Experiment, storage: CorpusStorage | None = None) -> Dataset:
    """The dataset of the experiment as it is without further judgements, read into the storage if it is a path."""
    where = storage or CorpusStorage()
    if isinstance(experiment.dataset, Dataset):
        return _in_partitions(experiment.dataset, where.partition_size)
    grades, rule = experiment.grade_map, experiment.on_conflict
    dataset = read_stored_dataset(experiment.dataset, where, split=experiment.split, grade_map=grades, on_conflict=rule)
    return _in_partitions(dataset, where.partition_size)


def _in_partitions(dataset: Dataset, size: int) -> Dataset:
    """The dataset with at most that many documents in a partition."""
    if all(len(partition) <= size for partition in dataset.corpus.partitions):
        return dataset
    return replace(dataset, corpus=dataset.corpus.repartitioned(size))


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
        return JudgedDataset(own, own, join_judgements((own.qrels,)).facts({}, rel) if own.qrels.judge_labels else {})
    with format_is_detected():
        read = [
            source if isinstance(source, Qrels) else read_qrels(source, grade_map=grade_map, on_conflict=on_conflict)
            for source in sources
        ]
    for judgements in read:
        if not any(query in own.queries for query in judgements):
            raise InputError(
                "no judged query is among the queries", fix="specify the judgements of this dataset", source=judgements.source
            )
    joined = join_judgements((own.qrels, *read), on_conflict)
    names = {pair: name for source in sources if isinstance(source, str) for pair, name in _assessors(source)}
    facts = joined.facts(names, rel)
    agreement = agreement_sentence(facts)
    notes = (
        *_notes(own, joined.qrels),
        *_grade_notes(joined, (own.qrels, *read), on_conflict),
        *([agreement] if agreement else []),
    )
    return JudgedDataset(own, replace(own, qrels=joined.qrels), facts, notes)


def _grade_notes(joined: JoinedJudgements, parts: Sequence[Qrels], on_conflict: OnConflict) -> Iterator[str]:
    """Notes on grades that were converted and on pairs with two grades, in one file or in two."""
    if converted := sum(part.converted for part in parts):
        yield describe_converted(converted)
    if conflicts := sum(part.conflicts for part in (*parts, joined.people, joined.machines)):
        yield describe_conflicts(conflicts, on_conflict)


def _assessors(path: str) -> Iterator[tuple[tuple[str, str], str]]:
    """The pairs of a file that `rankproof serve` wrote, with the name of the person who judged each."""
    if not os.path.isfile(path):
        return
    for _, row in numbered_lines(open_source(path)):
        columns = row.decode(errors="replace").split()
        if len(columns) == 4 and (name := assessor_of(columns[1])):
            yield (columns[0], columns[2]), name


def _notes(own: Dataset, qrels: Qrels) -> Iterator[str]:
    """A note on queries that no file judges."""
    unjudged = sum(query not in qrels for query in own.queries)
    if not own.is_judged and unjudged:
        yield f"{pluralise(unjudged, 'query has', 'queries have')} no judgement and no part in the measures"
