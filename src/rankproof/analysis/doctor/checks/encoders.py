"""Checks of what the stages say of themselves: vectors, prompts, cut texts, approximate search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ....errors import shown
from ....models.collapse import COLLAPSED
from ..check import Fault, Found, check, found, of_systems
from ..prompts import family_of
from ..subject import Subject

LEAST_RECALL = 0.95
MOST_CUT = 0.1
_MOST = 1e15


@check(
    "embedding-collapse",
    "severe",
    "encoders that map everything to nearly one point",
    advice="check that the weights are a trained encoder's and were loaded whole",
    needs=("stages",),
    broken=lambda example: example.with_facts(collapse=0.98),
)
def collapsed(subject: Subject) -> Found:
    """Encoders that map everything to nearly one point."""
    told = [(name, _number(facts, "collapse"), int(_number(facts, "passages"))) for name, facts in _facts(subject)]
    return of_systems(
        "two random passages are nearly the same vector",
        (
            Fault(name, count, count, f"mean cosine {mean:.3f}, {count} passages")
            for name, mean, count in told
            if mean >= COLLAPSED
        ),
    )


@check(
    "untrained-encoder",
    "severe",
    "encoders whose weights nobody has trained",
    advice="load trained weights: what these find says nothing about their tokenization or their architecture",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "none"}),
)
def untrained(subject: Subject) -> Found:
    """Encoders whose weights are as they were drawn."""
    return _trained(subject, "none", "no training has touched the weights")


@check(
    "missing-prompt",
    "warning",
    "encoders used without the prompt that they were trained with",
    advice="set query_prompt and passage_prompt of the stage",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={"source": "intfloat/multilingual-e5-small"}),
)
def missing_prompt(subject: Subject) -> Found:
    """Encoders that were trained with a prompt before the text and are used without one."""
    lacking = dict.fromkeys(words for name, facts in _facts(subject) if (words := _lacks_prompt(name, facts)))
    return found(list(lacking), None, "; ".join(lacking))


@check(
    "not-for-retrieval",
    "warning",
    "encoders that are language models, never trained to compare texts",
    advice="train them for retrieval first: what they miss tells of their training, and not of their tokenization",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "language model"}),
)
def not_for_retrieval(subject: Subject) -> Found:
    """Encoders whose weights were trained to fill in or go on with texts, and never to compare them."""
    return _trained(subject, "language model", "the weights are a language model's, whose vectors were never made to be compared")


@check(
    "low-recall",
    "warning",
    "approximate searches that miss many of the nearest passages",
    advice="raise ef_search or ef of the store, or search exactly",
    needs=("stages",),
    broken=lambda example: example.with_facts(recall_of_exact=0.61),
)
def low_recall(subject: Subject) -> Found:
    """Approximate searches that miss many of the nearest neighbours."""
    known = [(name, facts) for name, facts in _facts(subject) if isinstance(facts.get("recall_of_exact"), float)]
    return of_systems(
        "the approximate index misses passages that an exact search finds",
        (_recall_fault(name, facts) for name, facts in known if facts["recall_of_exact"] < LEAST_RECALL),
    )


@check(
    "truncated-passages",
    "warning",
    "encoders that do not read many passages to their end",
    advice="cut the documents into chunks, or raise max_tokens",
    needs=("stages",),
    broken=lambda example: example.with_facts(truncated_passages=12),
)
def truncated(subject: Subject) -> Found:
    """Encoders that did not read many passages to their end."""
    most = max((max(_number(rung.facts, "passages"), _number(rung.facts, "documents")) for rung in subject.rungs), default=0)
    cuts = [(name, _number(facts, "truncated_passages"), _number(facts, "passages") or most) for name, facts in _facts(subject)]
    return of_systems(
        "passages are longer than the model reads",
        (
            Fault(name, int(cut), int(of), f"{cut:.0f} of {of:.0f} ({cut / of:.0%})")
            for name, cut, of in cuts
            if of and cut >= MOST_CUT * of
        ),
    )


def _trained(subject: Subject, training: str, lead: str) -> Found:
    """The encoders that say that they were trained so."""
    told = [(name, facts["model"], int(_number(facts, "passages"))) for name, facts in _facts(subject) if "model" in facts]
    return of_systems(
        lead,
        (
            Fault(name, count, count, f"{count} passages in {int(_number(model, 'dimensions'))} dimensions")
            for name, model, count in told
            if isinstance(model, Mapping) and model.get("training") == training
        ),
    )


def _recall_fault(name: str, facts: Mapping[str, Any]) -> Fault:
    queries, depth = int(_number(facts, "recall_queries")), int(_number(facts, "recall_depth"))
    words = f"finds {facts['recall_of_exact']:.1%} of the {depth} nearest, over {queries} queries"
    return Fault(name, queries, queries, words)


def _facts(subject: Subject) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of each stage that encodes, a reranker's under its system's name."""
    for rung in subject.rungs:
        scorer = rung.facts.get("scorer")
        yield rung.name, scorer if isinstance(scorer, Mapping) else rung.facts


def _lacks_prompt(system: str, facts: Mapping[str, Any]) -> str | None:
    model = facts.get("model")
    if "query_prompt" not in facts or not isinstance(model, Mapping):
        return None
    source, told = str(model.get("source") or ""), model.get("prompts")
    family = family_of(source)
    if family and any(wanted and not facts.get(key) for key, wanted in family.prompts().items()):
        return (
            f"{shown(system)}: {shown(source)} is of the family {family.name}, which expects {family.words()} ({family.source})"
        )
    if isinstance(told, Mapping) and told and not facts["query_prompt"] and not facts.get("passage_prompt"):
        return f"{shown(system)}: the model brings prompts ({shown(', '.join(map(str, told)))}) and none is used"
    return None


def _number(facts: Mapping[str, Any], key: str) -> float:
    value = facts.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST else 0.0
