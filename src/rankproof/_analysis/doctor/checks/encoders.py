"""Checks of encoders: collapsed or untrained vectors, missing prompts, truncation and approximate search."""

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
    """A family of models by name pattern, with the prompts before a query and a passage; `…` stands for a task."""

    name: str
    pattern: str
    query: str
    passage: str
    source: str

    def prompts(self) -> Mapping[str, str]:
        """The prompts by option name of the dense stage."""
        return {"query_prompt": self.query, "passage_prompt": self.passage}

    def describe(self) -> str:
        """The expected prompts as text."""
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
    """The first family that matches the last part of a model's folder or hub name."""
    name = source.rstrip("/\\").replace("\\", "/").rpartition("/")[2].lower()
    return next((family for family in PROMPTED_ENCODERS if re.match(family.pattern, name)), None)


MIN_RECALL = 0.95
MAX_TRUNCATED = 0.1
_MAX_COUNT = 1e15


@check(
    "embedding-collapse",
    "severe",
    "encoders that map all texts to nearly the same vector",
    advice="check that the weights are those of a trained encoder and were loaded completely",
    needs=("stages",),
    broken=lambda example: example.with_facts(mean_cosine=0.98),
)
def collapsed(inputs: DoctorInput) -> CheckResult:
    """Encoders that map all texts to nearly the same vector."""
    cosines = [(name, _number(facts, "mean_cosine"), int(_number(facts, "passages"))) for name, facts in _facts(inputs)]
    return result_of_systems(
        "random passages have nearly the same vector",
        (
            SystemFault(name, count, count, f"mean cosine {mean:.3f}, {count} passages")
            for name, mean, count in cosines
            if mean >= COLLAPSE_THRESHOLD
        ),
    )


@check(
    "untrained-encoder",
    "severe",
    "encoders with untrained weights",
    advice="load trained weights: the values say nothing about tokenization or architecture",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "none"}),
)
def untrained(inputs: DoctorInput) -> CheckResult:
    """Encoders with random weights."""
    return _trained(inputs, "none", "the weights are untrained")


@check(
    "missing-prompt",
    "warning",
    "encoders used without their training prompt",
    advice="set query_prompt and passage_prompt of the stage",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={"source": "intfloat/multilingual-e5-small"}),
)
def missing_prompt(inputs: DoctorInput) -> CheckResult:
    """Encoders that were trained with a prompt and are used without one."""
    texts = dict.fromkeys(text for name, facts in _facts(inputs) if (text := _lacks_prompt(name, facts)))
    return check_result(list(texts), None, "; ".join(texts))


@check(
    "not-for-retrieval",
    "warning",
    "encoders that are language models not trained for retrieval",
    advice="train them for retrieval first: the cause of misses is their training, not their tokenization",
    needs=("stages",),
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "language model"}),
)
def not_for_retrieval(inputs: DoctorInput) -> CheckResult:
    """Encoders with the weights of a language model that was not trained for retrieval."""
    return _trained(inputs, "language model", "the weights are those of a language model that was not trained to compare texts")


@check(
    "low-recall",
    "warning",
    "approximate searches that miss many nearest neighbours",
    advice="raise ef_search or ef of the store, or use exact search",
    needs=("stages",),
    broken=lambda example: example.with_facts(recall_of_exact=0.61),
)
def low_recall(inputs: DoctorInput) -> CheckResult:
    """Approximate searches that miss many of the nearest neighbours."""
    known = [(name, facts) for name, facts in _facts(inputs) if isinstance(facts.get("recall_of_exact"), float)]
    return result_of_systems(
        "the approximate index misses nearest neighbours",
        (_recall_fault(name, facts) for name, facts in known if facts["recall_of_exact"] < MIN_RECALL),
    )


@check(
    "truncated-passages",
    "warning",
    "encoders that truncate many passages",
    advice="split the documents into chunks, or raise max_tokens",
    needs=("stages",),
    broken=lambda example: example.with_facts(truncated_passages=12),
)
def truncated(inputs: DoctorInput) -> CheckResult:
    """Encoders that truncated many passages."""
    largest = max(
        (max(_number(system_run.facts, "passages"), _number(system_run.facts, "documents")) for system_run in inputs.system_runs),
        default=0,
    )
    cuts = [(name, _number(facts, "truncated_passages"), _number(facts, "passages") or largest) for name, facts in _facts(inputs)]
    return result_of_systems(
        "passages are longer than the model's input",
        (
            SystemFault(name, int(cut), int(of), f"{cut:.0f} of {of:.0f} ({cut / of:.0%})")
            for name, cut, of in cuts
            if of and cut >= MAX_TRUNCATED * of
        ),
    )


def _trained(inputs: DoctorInput, training: str, lead: str) -> CheckResult:
    """The encoders with this kind of training."""
    models = [(name, facts["model"], int(_number(facts, "passages"))) for name, facts in _facts(inputs) if "model" in facts]
    return result_of_systems(
        lead,
        (
            SystemFault(name, count, count, f"{count} passages in {int(_number(model, 'dimensions'))} dimensions")
            for name, model, count in models
            if isinstance(model, Mapping) and model.get("training") == training
        ),
    )


def _recall_fault(name: str, facts: Mapping[str, Any]) -> SystemFault:
    queries, depth = int(_number(facts, "recall_queries")), int(_number(facts, "recall_depth"))
    text = f"finds {facts['recall_of_exact']:.1%} of the {depth} nearest, over {queries} queries"
    return SystemFault(name, queries, queries, text)


def _facts(inputs: DoctorInput) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The facts of each encoder by system; those of the scorer for a reranker."""
    for system_run in inputs.system_runs:
        scorer = system_run.facts.get("scorer")
        yield system_run.name, scorer if isinstance(scorer, Mapping) else system_run.facts


def _lacks_prompt(system: str, facts: Mapping[str, Any]) -> str | None:
    model = facts.get("model")
    if "query_prompt" not in facts or not isinstance(model, Mapping):
        return None
    source, prompts = str(model.get("source") or ""), model.get("prompts")
    family = prompted_encoders_of(source)
    if family and any(wanted and not facts.get(key) for key, wanted in family.prompts().items()):
        expected = f"a {family.name} model, which expects {family.describe()} ({family.source})"
        return f"{for_message(system)}: {for_message(source)} is {expected}"
    if isinstance(prompts, Mapping) and prompts and not facts["query_prompt"] and not facts.get("passage_prompt"):
        return f"{for_message(system)}: the model has prompts ({for_message(', '.join(map(str, prompts)))}) and none is used"
    return None


def _number(facts: Mapping[str, Any], key: str) -> float:
    value = facts.get(key)
    return float(value) if isinstance(value, int | float) and abs(value) < _MAX_COUNT else 0.0
