"""Runs all systems, with typing errors too, on the queries that no encoder was trained on."""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from string import ascii_lowercase, digits
from typing import Any

import numpy as np

from rankproof._analysis.chance import chance_values
from rankproof._analysis.inputs import input_from_results
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.text import pluralise
from rankproof._data.validation import checked_integer
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.queries import select_judged
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.experiment_result import ExperimentResult, SystemRun
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.measured import TIME_PARTS, MeasuredSystem, QueryCondition, requested_measures, training_kind
from rankproof._tokenizer_lab.splits import text_digest
from rankproof._tokenizer_lab.systems import CandidateSystem, check_any_system, missing_stemmer_notes
from rankproof._tokenizer_lab.token_counts import DocumentCounts, document_counts
from rankproof.errors import UsageError
from rankproof.measures._parse import parse_measure
from rankproof.stages._base import Stage

MAX_EDITS = 20
_NEIGHBOUR_RANGE = 8
_MAX_ATTEMPTS = 100
Edit = Callable[[str, random.Random, str], str]


def with_typos(queries: Queries, edits: int, seed: int = 0) -> Queries:
    """The queries with `edits` typos each; ids and fields stay."""
    checked_integer("edits", edits, least=0, most=MAX_EDITS)
    if not edits:
        return queries
    # Seeded by the id, so that a query has the same typos in every sample of the queries.
    changed = (
        Query(query.id, apply_typos(query.text, edits, f"{seed}\n{query.id}"), query.title, query.fields)
        for query in queries.values()
    )
    return Queries(changed, source=queries.source)


def apply_typos(text: str, edits: int, key: str) -> str:
    """The text after `edits` random edits, seeded by `key`; a blank text stays."""
    if not text.strip():
        return text
    draw, letters = random.Random(key), typo_letters(text)
    seen = [text]
    for _ in range(edits):
        seen.append(_edit_once(seen, draw, letters))
    return seen[-1]


def typo_letters(text: str) -> str:
    """The letters that a typo may add to the text."""
    own = sorted({char for char in text.lower() if _is_letter(char)} or {char for char in text if not char.isspace()})
    scripts = Counter(_script(char) for char in text.lower() if _is_letter(char))
    if scripts and scripts.most_common(1)[0][0] == "LATIN":
        return ascii_lowercase
    return "".join(dict.fromkeys(near for char in own for near in (char, *_neighbours(char))))


def _edit_once(seen: list[str], draw: random.Random, letters: str) -> str:
    """The last text after one edit, different from all earlier texts."""
    for _ in range(_MAX_ATTEMPTS):
        edited = draw.choice(_EDITS)(seen[-1], draw, letters)
        # An edit that undoes an earlier one would leave fewer typos than asked for.
        if edited.strip() and edited not in seen:
            return edited
    return seen[-1] + draw.choice(letters)


def _insert(text: str, draw: random.Random, letters: str) -> str:
    at = draw.randrange(len(text) + 1)
    return text[:at] + draw.choice(letters) + text[at:]


def _delete(text: str, draw: random.Random, letters: str) -> str:
    at = draw.choice(_letter_positions(text))
    return text[:at] + text[at + 1 :]


def _replace(text: str, draw: random.Random, letters: str) -> str:
    at = draw.choice(_letter_positions(text))
    new = draw.choice(digits if text[at] in digits else letters)
    upper = new.upper()
    return text[:at] + (upper if text[at].isupper() and len(upper) == 1 else new) + text[at + 1 :]


def _swap(text: str, draw: random.Random, letters: str) -> str:
    pairs = [
        at for at in _letter_positions(text) if at + 1 < len(text) and not text[at + 1].isspace() and text[at] != text[at + 1]
    ]
    if not pairs:
        return text
    at = draw.choice(pairs)
    return text[:at] + text[at + 1] + text[at] + text[at + 2 :]


_EDITS: tuple[Edit, ...] = (_insert, _delete, _replace, _swap)


def _letter_positions(text: str) -> list[int]:
    return [at for at, char in enumerate(text) if not char.isspace()]


def _neighbours(char: str) -> list[str]:
    """The neighbours in Unicode with the same script and category."""
    code, kind = ord(char), unicodedata.category(char)
    near = (
        chr(at)
        for at in range(max(code - _NEIGHBOUR_RANGE, 0), min(code + _NEIGHBOUR_RANGE, 0x10FFFF) + 1)
        if not 0xD800 <= at < 0xE000
    )
    return [other for other in near if unicodedata.category(other) == kind and _script(other) == _script(char)]


def _is_letter(char: str) -> bool:
    return unicodedata.category(char)[0] in "LM"


def _script(char: str) -> str:
    """The first word of the Unicode name, which is the script for letters."""
    return unicodedata.name(char, "").split(" ")[0] if char.isalpha() or _is_letter(char) else ""


def training_queries(metadata: Iterable[Mapping[str, Any]], dataset: str, datasets: Collection[Queries]) -> set[str]:
    """The ids of the queries, in any language, that a model was trained on.

    Ids match only if the metadata names this dataset, in any language, or shares a text with it. Untrained models have none.
    """
    digests = [(query, text_digest(record.text)) for queries in datasets for query, record in queries.items()]
    seen: set[str] = set()
    for model_metadata in metadata:
        if model_metadata.get("trained") is False:
            continue
        data = _section(model_metadata, "data")
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
    section = metadata.get(name)
    return section if isinstance(section, Mapping) else {}


def _string_list(data: Mapping[str, Any], name: str) -> list[str]:
    values = data.get(name)
    return [str(value) for value in values] if isinstance(values, list | tuple) else []


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
    trained_on = [metadata for system in plan.systems for metadata in system.metadata]
    texts = [dataset.queries for dataset in datasets]
    seen = {query for name in (plan.name, datasets[0].name) for query in training_queries(trained_on, name, texts)}
    unseen = [query for query in judged if query not in seen]
    shared = [query for query in unseen if all(_has_text(dataset, query) for dataset in datasets)]
    if not shared:
        fix = "compare on another split or dataset, or train with --holdout"
        raise UsageError(
            f"no queries left: encoders were trained on {len(judged) - len(unseen)} of {len(judged)} queries", fix=fix
        )
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
    qrels = dataset.qrels.of_queries(ids)
    return Dataset(dataset.name, dataset.corpus, queries, qrels)


def compare_tokenizers(plan: ComparisonPlan, settings: RunOptions | None = None) -> TokenizerComparison:
    """Run every system on the shared queries under every condition."""
    check_any_system(plan.systems)
    settings, measures = settings or RunOptions(), requested_measures(plan.measures)
    # All systems get the same queries, or a difference would be one of queries and not of systems.
    shared = select_shared_queries(plan)
    entries: list[MeasuredSystem] = []
    results: list[ExperimentResult] = []
    for language, dataset in shared.datasets.items():
        counts = {system.name: document_counts(_first_stage(system, language), dataset.corpus) for system in plan.systems}
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


def _first_stage(system: CandidateSystem, language: str) -> Stage:
    """The stage of the first repeat, which truncates texts as the others do."""
    return next(iter(system.stages(language).values()))


def _run_condition(
    plan: ComparisonPlan, condition: QueryCondition, dataset: Dataset, measures: Sequence[str], settings: RunOptions
) -> ExperimentResult:
    systems = {name: stage for system in plan.systems for name, stage in system.stages(condition.language).items()}

    def progress(label: str, done: int, total: int) -> None:
        settings.progress(f"{condition}: {label}", done, total)

    experiment = Experiment(systems, dataset, name=f"{plan.name}, {condition}", measures=measures)
    return run_experiment(experiment, replace(settings, progress=progress))


def _measured_systems(
    plan: ComparisonPlan, condition: QueryCondition, results: ExperimentResult, counts: Mapping[str, DocumentCounts]
) -> Iterator[MeasuredSystem]:
    texts = [results.texts[query].text for query in results.queries]
    systems = {evaluated.name: evaluated.measures for evaluated in results.result.systems}
    for system in plan.systems:
        system_runs = [results.system_run(name) for name in system.repeats]
        repeats = [systems[name] for name in system.repeats]
        assert all(values.query_ids == results.queries for repeat in repeats for values in repeat.values()), (
            "one order of queries"
        )
        yield MeasuredSystem(
            system=system.name,
            family=system.family,
            condition=condition,
            queries=results.queries,
            values={name: np.stack([repeat[name].values for repeat in repeats]) for name in repeats[0]},
            times={part: np.stack([system_run.times[part] for system_run in system_runs]) for part in TIME_PARTS},
            counts=counts[system.name].with_queries(texts, _model_facts(system_runs[0])),
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
    milliseconds = [
        1000 * float(seconds) / count for seconds, count in zip(times, counts, strict=True) if seconds is not None and count
    ]
    return float(np.mean(milliseconds)) if milliseconds else None


def _chance_value(results: ExperimentResult, measure: str) -> float | None:
    chance = chance_values(input_from_results(results), parse_measure(measure), results.queries)
    return None if chance is None else chance.value
