"""Runs a comparison: one climb for each language and each number of typing errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...analysis.baselines.chance import chance_of
from ...analysis.evidence import evidence_of_climb
from ...data.dataset import Dataset
from ...experiment import Climb, Experiment, Rung, Settings, climb
from ...measures import parse
from ...stages.base import Stage
from .comparison import Comparison
from .contestants import Contestant, refuse_none, unstemmed
from .counts import DocumentCounts, document_counts
from .entry import PARTS, Condition, Entry
from .measures import measures_of
from .plan import Plan, asked_editions
from .remarks import training_of
from .typos import with_typos


def compare(plan: Plan, settings: Settings | None = None) -> Comparison:
    """Asks every system every query that none was trained on, under every condition."""
    refuse_none(plan.contestants)
    settings, measures = settings or Settings(), measures_of(plan.measures)
    asked = asked_editions(plan)
    entries: list[Entry] = []
    climbs: list[Climb] = []
    for language, dataset in asked.editions.items():
        counts = {one.name: document_counts(_first(one, language), dataset.corpus) for one in plan.contestants}
        for edits in sorted(set(plan.edits)):
            queries = with_typos(dataset.queries, edits, plan.seed)
            climbs.append(_climbed(plan, Condition(language, edits), replace(dataset, queries=queries), measures, settings))
            entries += _entries(plan, Condition(language, edits), climbs[-1], counts)
    own = next(iter(asked.editions.values()))
    return Comparison(
        dataset=plan.name,
        documents=len(own.corpus),
        measures=tuple(measures),
        entries=tuple(entries),
        store=plan.store,
        left_out=asked.left_out,
        chance=_chance(climbs[0], measures[0]),
        seed=plan.seed,
        notes=(*plan.notes, *asked.notes, *unstemmed(plan.contestants, asked.editions), *climbs[0].notes),
        made=dict(climbs[0].provenance),
    )


def _first(one: Contestant, language: str) -> Stage:
    """The first repeat, which cuts texts as all of them do."""
    return next(iter(one.stages(language).values()))


def _climbed(plan: Plan, condition: Condition, dataset: Dataset, measures: Sequence[str], settings: Settings) -> Climb:
    systems = {name: stage for one in plan.contestants for name, stage in one.stages(condition.language).items()}

    def progress(label: str, done: int, total: int) -> None:
        settings.progress(f"{condition}: {label}", done, total)

    experiment = Experiment(systems, dataset, name=f"{plan.name}, {condition}", measures=measures)
    return climb(experiment, replace(settings, progress=progress))


def _entries(plan: Plan, condition: Condition, found: Climb, counts: Mapping[str, DocumentCounts]) -> Iterator[Entry]:
    texts = [found.texts[query].text for query in found.queries]
    systems = {system.name: system.measures for system in found.result.systems}
    for one in plan.contestants:
        rungs = [found.rung(name) for name in one.repeats]
        each = [systems[name] for name in one.repeats]
        assert all(values.query_ids == found.queries for repeat in each for values in repeat.values()), "one order of queries"
        yield Entry(
            system=one.name,
            family=one.family,
            condition=condition,
            queries=found.queries,
            values={name: np.stack([repeat[name].values for repeat in each]) for name in each[0]},
            times={part: np.stack([rung.times[part] for rung in rungs]) for part in PARTS},
            counts=counts[one.name].with_queries(texts, _model_facts(rungs[0])),
            index_bytes=round(float(np.mean([rung.index_bytes for rung in rungs]))),
            encode_ms=_encode_ms(rungs),
            training=training_of(rungs[0].facts),
            remembered=any(rung.from_cache for rung in rungs),
            notes=tuple(dict.fromkeys(note for rung in rungs for note in rung.notes)),
            sources=tuple(str(facts["source"]) for facts in map(_model_facts, rungs) if "source" in facts),
        )


def _model_facts(rung: Rung) -> Mapping[str, Any]:
    told = rung.facts.get("model")
    return told if isinstance(told, Mapping) else {}


def _encode_ms(rungs: Sequence[Rung]) -> float | None:
    """What one document took to encode, the mean over the repeats; None for a system that encodes none."""
    told = [rung.facts.get("encoding_seconds") for rung in rungs]
    counts = [rung.facts.get("passages") for rung in rungs]
    each = [1000 * float(seconds) / count for seconds, count in zip(told, counts, strict=True) if seconds is not None and count]
    return float(np.mean(each)) if each else None


def _chance(found: Climb, measure: str) -> float | None:
    chance = chance_of(evidence_of_climb(found), parse(measure), found.queries)
    return None if chance is None else chance.value
