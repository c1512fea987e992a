"""Runs all systems on the queries that no encoder was trained on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import input_from_results
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._data.text import pluralise
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.queries import select_judged
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.measured import TIME_PARTS, MeasuredSystem, QueryCondition, requested_measures, training_kind
from rankproof._tokenizer_lab.splits import text_digest
from rankproof._tokenizer_lab.systems import CandidateSystem, check_any_system, missing_stemmer_notes
from rankproof._tokenizer_lab.token_counts import DocumentCounts, document_counts
from rankproof._tokenizer_lab.typos import with_typos
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure
from rankproof.stages._base import Stage


def training_queries(metadata: Iterable[Mapping[str, Any]], dataset: str, datasets: Collection[Queries]) -> set[str]:
    """The ids of the queries, in any language, that a model was trained on.

    Ids match only if the metadata names this dataset, in any language, or shares a text with it. Untrained models have none.
    """
    digests = [(query, text_digest(record.text)) for queries in datasets for query, record in queries.items()]
    seen: set[str] = set()
    for one in metadata:
        if one.get("trained") is False:
            continue
        data = _section(one, "data")
        ids, texts = set(_string_list(data, "queries")), set(_string_list(data, "texts"))
        known = {query for query, digest in digests if digest in texts}
        seen |= known
        if known or not texts or _names_dataset(data.get("name"), dataset):
            seen |= {query for queries in datasets for query in queries if query in ids}
    return seen


def _names_dataset(name: object, dataset: str) -> bool:
    """Whether this is the name of the dataset or of one of its languages, as in NAME-de."""
    return isinstance(name, str) and (name == dataset or name.startswith(f"{dataset}-"))


def _section(metadata: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = metadata.get(name)
    return found if isinstance(found, Mapping) else {}


def _string_list(data: Mapping[str, Any], name: str) -> list[str]:
    found = data.get(name)
    return [str(one) for one in found] if isinstance(found, list | tuple) else []


@dataclass(frozen=True)
class ComparisonPlan:
    """The systems and conditions to compare; `datasets` is the dataset by language, `limit` the number of sampled queries."""

    name: str
    systems: Sequence[CandidateSystem]
    datasets: Mapping[str, Dataset]
    edits: Sequence[int] = (0,)
    measures: Sequence[str] | None = None
    limit: int | None = None
    seed: int = 0
    store: str = "memory"
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SharedQueries:
    """The dataset by language with the shared queries only, and the number of excluded queries."""

    datasets: Mapping[str, Dataset]
    left_out: int
    notes: tuple[str, ...]


def select_shared_queries(plan: ComparisonPlan) -> SharedQueries:
    """The judged queries that no encoder was trained on and that have a text in every language."""
    datasets = list(plan.datasets.values())
    judged = list(datasets[0].qrels)
    trained_on = [metadata for one in plan.systems for metadata in one.metadata]
    texts = [dataset.queries for dataset in datasets]
    seen = {query for name in (plan.name, datasets[0].name) for query in training_queries(trained_on, name, texts)}
    unseen = [query for query in judged if query not in seen]
    shared = [query for query in unseen if all(_has_text(dataset, query) for dataset in datasets)]
    if not shared:
        fix = "compare on another split or dataset, or train with --holdout"
        raise UsageError(f"no queries left: encoders were trained on {len(judged) - len(unseen)} of {len(judged)}", fix=fix)
    notes = []
    if left_out := len(judged) - len(unseen):
        notes.append(f"{pluralise(left_out, 'query is', 'queries are')} excluded because an encoder was trained on them")
    if missing := len(unseen) - len(shared):
        notes.append(f"{pluralise(missing, 'judged query has', 'judged queries have')} no text in some language and are excluded")
    selected = select_judged(_with_queries(datasets[0], shared), plan.limit, plan.seed)
    by_language = {language: _with_queries(dataset, selected) for language, dataset in plan.datasets.items()}
    return SharedQueries(by_language, left_out, tuple(notes))


def _has_text(dataset: Dataset, query: str) -> bool:
    return query in dataset.queries and bool(dataset.queries[query].text.strip())


def _with_queries(dataset: Dataset, ids: Sequence[str]) -> Dataset:
    queries = Queries((dataset.queries[query] for query in ids), source=dataset.queries.source)
    qrels = Qrels.from_dict({query: dict(dataset.qrels[query]) for query in ids}, source=dataset.qrels.source)
    return Dataset(dataset.name, dataset.corpus, queries, qrels)


def compare_tokenizers(plan: ComparisonPlan, settings: RunOptions | None = None) -> TokenizerComparison:
    """Run every system on the shared queries under every condition."""
    check_any_system(plan.systems)
    settings, measures = settings or RunOptions(), requested_measures(plan.measures)
    shared = select_shared_queries(plan)
    entries: list[MeasuredSystem] = []
    results: list[ExperimentResult] = []
    for language, dataset in shared.datasets.items():
        counts = {one.name: document_counts(_first_stage(one, language), dataset.corpus) for one in plan.systems}
        for edits in sorted(set(plan.edits)):
            queries = with_typos(dataset.queries, edits, plan.seed)
            results.append(
                _run_condition(plan, QueryCondition(language, edits), replace(dataset, queries=queries), measures, settings)
            )
            entries += _measured_systems(plan, QueryCondition(language, edits), results[-1], counts)
    own = next(iter(shared.datasets.values()))
    return TokenizerComparison(
        dataset=plan.name,
        documents=len(own.corpus),
        measures=tuple(measures),
        entries=tuple(entries),
        store=plan.store,
        left_out=shared.left_out,
        chance=_chance_value(results[0], measures[0]),
        seed=plan.seed,
        notes=(*plan.notes, *shared.notes, *missing_stemmer_notes(plan.systems, shared.datasets), *results[0].notes),
        provenance=dict(results[0].provenance),
    )


def _first_stage(one: CandidateSystem, language: str) -> Stage:
    """The stage of the first repeat, which truncates texts as the others do."""
    return next(iter(one.stages(language).values()))


def _run_condition(
    plan: ComparisonPlan, condition: QueryCondition, dataset: Dataset, measures: Sequence[str], settings: RunOptions
) -> ExperimentResult:
    systems = {name: stage for one in plan.systems for name, stage in one.stages(condition.language).items()}

    def progress(label: str, done: int, total: int) -> None:
        settings.progress(f"{condition}: {label}", done, total)

    experiment = Experiment(systems, dataset, name=f"{plan.name}, {condition}", measures=measures)
    return run_experiment(experiment, replace(settings, progress=progress))


def _measured_systems(
    plan: ComparisonPlan, condition: QueryCondition, found: ExperimentResult, counts: Mapping[str, DocumentCounts]
) -> Iterator[MeasuredSystem]:
    texts = [found.texts[query].text for query in found.queries]
    systems = {system.name: system.measures for system in found.result.systems}
    for one in plan.systems:
        system_runs = [found.system_run(name) for name in one.repeats]
        each = [systems[name] for name in one.repeats]
        assert all(values.query_ids == found.queries for repeat in each for values in repeat.values()), "one order of queries"
        yield MeasuredSystem(
            system=one.name,
            family=one.family,
            condition=condition,
            queries=found.queries,
            values={name: np.stack([repeat[name].values for repeat in each]) for name in each[0]},
            times={part: np.stack([system_run.times[part] for system_run in system_runs]) for part in TIME_PARTS},
            counts=counts[one.name].with_queries(texts, _model_facts(system_runs[0])),
            index_bytes=round(float(np.mean([system_run.index_bytes for system_run in system_runs]))),
            encode_ms=_encode_ms(system_runs),
            training=training_kind(system_runs[0].facts),
            from_cache=any(system_run.from_cache for system_run in system_runs),
            notes=tuple(dict.fromkeys(note for system_run in system_runs for note in system_run.notes)),
            sources=tuple(str(facts["source"]) for facts in map(_model_facts, system_runs) if "source" in facts),
        )


def _model_facts(system_run: SystemRun) -> Mapping[str, Any]:
    facts = system_run.facts.get("model")
    return facts if isinstance(facts, Mapping) else {}


def _encode_ms(system_runs: Sequence[SystemRun]) -> float | None:
    """The mean milliseconds to encode a document; None for a system without an encoder."""
    times = [system_run.facts.get("encoding_seconds") for system_run in system_runs]
    counts = [system_run.facts.get("passages") for system_run in system_runs]
    each = [1000 * float(seconds) / count for seconds, count in zip(times, counts, strict=True) if seconds is not None and count]
    return float(np.mean(each)) if each else None


def _chance_value(found: ExperimentResult, measure: str) -> float | None:
    chance = chance_values(input_from_results(found), parse_measure(measure), found.queries)
    return None if chance is None else chance.value
