"""Vectors, missing prompts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, SystemFault, check, check_result, result_of_systems
from rankproof._data.arrays import COLLAPSE_THRESHOLD
from rankproof.errors import for_message


@dataclass(frozen=True, slots=True)
class PromptedEncoders:
    """Models whose names match the pattern, and what they expect before a query and before a passage; `…` stands for a task."""

    name: str
    pattern: str
    query: str
    passage: str
    source: str

    def prompts(self) -> Mapping[str, str]:
        """The prompts as a dense stage calls them."""
        return {"query_prompt": self.query, "passage_prompt": self.passage}

    def describe(self) -> str:
        """What is expected, for a reader."""
        before = {"query": self.query, "passage": self.passage}
        return " and ".join(f"{prompt!r} before a {what}" for what, prompt in before.items() if prompt)


_SEARCH_INSTRUCTION = "Represent this sentence for searching relevant passages: "

PROMPTED_ENCODERS = (
    PromptedEncoders(
        "E5 instruct",
        r"(multilingual-)?e5-(mistral|.*instruct)",
        "Instruct: …\nQuery: ",
        "",
        "huggingface.co/intfloat/multilingual-e5-large-instruct",
    ),
    PromptedEncoders(
        "E5", r"(multilingual-)?e5-(small|base|large)", "query: ", "passage: ", "huggingface.co/intfloat/e5-base-v2, its FAQ 1"
    ),
    PromptedEncoders(
        "BGE English", r"bge-(small|base|large)-en", _SEARCH_INSTRUCTION, "", "huggingface.co/BAAI/bge-base-en-v1.5"
    ),
    PromptedEncoders(
        "BGE Chinese",
        r"bge-(small|base|large)-zh",
        "为这个句子生成表示以用于检索相关文章：",
        "",
        "huggingface.co/BAAI/bge-base-zh-v1.5",
    ),
    PromptedEncoders(
        "Nomic", r"nomic-embed-text", "search_query: ", "search_document: ", "huggingface.co/nomic-ai/nomic-embed-text-v1.5"
    ),
    PromptedEncoders("mxbai", r"mxbai-embed-large", _SEARCH_INSTRUCTION, "", "huggingface.co/mixedbread-ai/mxbai-embed-large-v1"),
    PromptedEncoders(
        "Arctic 2", r"snowflake-arctic-embed-.*v2", "query: ", "", "huggingface.co/Snowflake/snowflake-arctic-embed-m-v2.0"
    ),
    PromptedEncoders(
        "Arctic", r"snowflake-arctic-embed", _SEARCH_INSTRUCTION, "", "huggingface.co/Snowflake/snowflake-arctic-embed-m"
    ),
)


def prompted_encoders_of(source: str) -> PromptedEncoders | None:
    """The family of a model's folder or hub name, by the last part of the name; the first that matches counts."""
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((family for family in PROMPTED_ENCODERS if re.match(family.pattern, name)), None)


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
def collapsed(subject: DoctorInput) -> CheckResult:
    """Encoders that map everything to nearly one point."""
    told = [(name, _number(facts, "collapse"), int(_number(facts, "passages"))) for name, facts in _facts(subject)]
    return result_of_systems(
        "two random passages are nearly the same vector",
        (
            SystemFault(name, count, count, f"mean cosine {mean:.3f}, {count} passages")
            for name, mean, count in told
            if mean >= COLLAPSE_THRESHOLD
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
def untrained(subject: DoctorInput) -> CheckResult:
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
def missing_prompt(subject: DoctorInput) -> CheckResult:
    """Encoders that were trained with a prompt before the text and are used without one."""
    lacking = dict.fromkeys(words for name, facts in _facts(subject) if (words := _lacks_prompt(name, facts)))
    return check_result(list(lacking), None, "; ".join(lacking))


@check(
    "not-for-retrieval",
    "warning",
    "encoders that are language models, never trained to compare texts",
    advice="train them for retrieval first: what they miss tells of their training, and not of their tokenization",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "language model"}),
)
def not_for_retrieval(subject: DoctorInput) -> CheckResult:
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
def low_recall(subject: DoctorInput) -> CheckResult:
    """Approximate searches that miss many of the nearest neighbours."""
    known = [(name, facts) for name, facts in _facts(subject) if isinstance(facts.get("recall_of_exact"), float)]
    return result_of_systems(
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
def truncated(subject: DoctorInput) -> CheckResult:
    """Encoders that did not read many passages to their end."""
    most = max(
        (
            max(_number(system_run.facts, "passages"), _number(system_run.facts, "documents"))
            for system_run in subject.system_runs
        ),
        default=0,
    )
    cuts = [(name, _number(facts, "truncated_passages"), _number(facts, "passages") or most) for name, facts in _facts(subject)]
    return result_of_systems(
        "passages are longer than the model reads",
        (
            SystemFault(name, int(cut), int(of), f"{cut:.0f} of {of:.0f} ({cut / of:.0%})")
            for name, cut, of in cuts
            if of and cut >= MOST_CUT * of
        ),
    )


def _trained(subject: DoctorInput, training: str, lead: str) -> CheckResult:
    """The encoders that say that they were trained so."""
    told = [(name, facts["model"], int(_number(facts, "passages"))) for name, facts in _facts(subject) if "model" in facts]
    return result_of_systems(
        lead,
        (
            SystemFault(name, count, count, f"{count} passages in {int(_number(model, 'dimensions'))} dimensions")
            for name, model, count in told
            if isinstance(model, Mapping) and model.get("training") == training
        ),
    )


def _recall_fault(name: str, facts: Mapping[str, Any]) -> SystemFault:
    queries, depth = int(_number(facts, "recall_queries")), int(_number(facts, "recall_depth"))
    words = f"finds {facts['recall_of_exact']:.1%} of the {depth} nearest, over {queries} queries"
    return SystemFault(name, queries, queries, words)


def _facts(subject: DoctorInput) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of each stage that encodes, a reranker's under its system's name."""
    for system_run in subject.system_runs:
        scorer = system_run.facts.get("scorer")
        yield system_run.name, scorer if isinstance(scorer, Mapping) else system_run.facts


def _lacks_prompt(system: str, facts: Mapping[str, Any]) -> str | None:
    model = facts.get("model")
    if "query_prompt" not in facts or not isinstance(model, Mapping):
        return None
    source, told = str(model.get("source") or ""), model.get("prompts")
    family = prompted_encoders_of(source)
    if family and any(wanted and not facts.get(key) for key, wanted in family.prompts().items()):
        return f"{for_message(system)}: {for_message(source)} is of the family {family.name}, which expects {family.describe()} ({family.source})"
    if isinstance(told, Mapping) and told and not facts["query_prompt"] and not facts.get("passage_prompt"):
        return f"{for_message(system)}: the model brings prompts ({for_message(', '.join(map(str, told)))}) and none is used"
    return None


def _number(facts: Mapping[str, Any], key: str) -> float:
    value = facts.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) < _MOST else 0.0
