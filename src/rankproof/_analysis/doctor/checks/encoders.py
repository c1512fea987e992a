"""Checks of encoders: collapsed or untrained vectors, missing prompts, upper case, truncation and approximate search."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from rankproof._analysis.doctor.check import CheckResult, DoctorInput, SystemFault, check_result, doctor_check, result_of_systems
from rankproof._statistics.collapse import COLLAPSE_THRESHOLD
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
MIN_CASE_COSINE = 0.95
_MAX_COUNT = 1e15
Facts = Mapping[str, Any]
_encoder_check = partial(doctor_check, needs=("stages",))


@_encoder_check(
    "embedding-collapse",
    "severe",
    "encoders that map all texts to nearly the same vector",
    advice="check that the weights are those of a trained encoder and were loaded completely",
    broken=lambda example: example.with_facts(mean_cosine=0.98),
)
def collapsed(inputs: DoctorInput) -> CheckResult:
    """Encoders that map all texts to nearly the same vector."""

    def fault(system: str, facts: Facts) -> SystemFault | None:
        mean, count = _number(facts, "mean_cosine"), int(_number(facts, "passages"))
        is_collapsed = mean >= COLLAPSE_THRESHOLD
        return SystemFault(system, count, count, f"mean cosine {mean:.3f}, {count} passages") if is_collapsed else None

    return _faults(inputs, "random passages have nearly the same vector", fault)


@_encoder_check(
    "untrained-encoder",
    "severe",
    "encoders with untrained weights",
    advice="load trained weights; results with random weights say nothing about the tokenizer or architecture",
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "none"}),
)
def untrained(inputs: DoctorInput) -> CheckResult:
    """Encoders with random weights."""
    return _faults(inputs, "the weights are untrained", partial(_training_fault, "none"))


@_encoder_check(
    "missing-prompt",
    "warning",
    "encoders used without their training prompt",
    advice="set query_prompt and passage_prompt of the stage",
    broken=lambda example: example.with_facts(model={"source": "intfloat/multilingual-e5-small"}),
)
def missing_prompt(inputs: DoctorInput) -> CheckResult:
    """Encoders that were trained with a prompt and are used without one."""
    texts = dict.fromkeys(text for name, facts in _facts(inputs) if (text := _lacks_prompt(name, facts)))
    return check_result(list(texts), None, "; ".join(texts))


@_encoder_check(
    "not-for-retrieval",
    "warning",
    "language models used as encoders without training for retrieval",
    advice="train them for retrieval first: the cause of misses is their training, not their tokenization",
    broken=lambda example: example.with_facts(model={**example.facts["model"], "training": "language model"}),
)
def not_for_retrieval(inputs: DoctorInput) -> CheckResult:
    """Encoders with the weights of a language model that was not trained for retrieval."""
    lead = "the weights are those of a language model that was not trained to compare texts"
    return _faults(inputs, lead, partial(_training_fault, "language model"))


@doctor_check(
    "upper-case-queries",
    "warning",
    "queries in upper case for an encoder that distinguishes case",
    advice="lower-case the queries, or use an encoder that ignores case, such as wordllama or minilm",
    needs=("stages", "queries"),
    broken=lambda example: example.with_queries(q01=example.queries["q01"].upper()),
)
def upper_case_queries(inputs: DoctorInput) -> CheckResult:
    """Encoders that distinguish upper and lower case, with queries in upper case."""
    queries = [inputs.queries[query].text for query in inputs.evaluated_queries if query in inputs.queries]
    upper = sum(_is_upper_case(text) for text in queries)

    def fault(system: str, facts: Facts) -> SystemFault | None:
        cosine = facts.get("case_cosine")
        if not upper or not isinstance(cosine, int | float) or cosine >= MIN_CASE_COSINE:
            return None
        detail = f"{upper} of {len(queries)} queries; a text and its upper-case form have cosine {cosine:.2f}"
        return SystemFault(system, upper, len(queries), detail)

    return _faults(inputs, "queries are in upper case, and the encoder distinguishes case", fault)


def _is_upper_case(text: str) -> bool:
    """Whether the text has two words or more and no lower-case letter; one word may be an abbreviation."""
    return text.isupper() and sum(word.isupper() for word in text.split()) > 1


@_encoder_check(
    "low-recall",
    "warning",
    "approximate searches that miss many nearest neighbours",
    advice="raise ef_search or ef of the store, or use exact search",
    broken=lambda example: example.with_facts(recall_of_exact=0.61),
)
def low_recall(inputs: DoctorInput) -> CheckResult:
    """Approximate searches that miss many of the nearest neighbours."""

    def fault(system: str, facts: Facts) -> SystemFault | None:
        recall = facts.get("recall_of_exact")
        if not isinstance(recall, float) or recall >= MIN_RECALL:
            return None
        queries, depth = int(_number(facts, "recall_queries")), int(_number(facts, "recall_depth"))
        return SystemFault(system, queries, queries, f"finds {recall:.1%} of the {depth} nearest, over {queries} queries")

    return _faults(inputs, "the approximate index misses nearest neighbours", fault)


@_encoder_check(
    "truncated-passages",
    "warning",
    "encoders that truncate many passages",
    advice="split the documents into chunks, or raise max_tokens",
    broken=lambda example: example.with_facts(truncated_passages=12),
)
def truncated(inputs: DoctorInput) -> CheckResult:
    """Encoders that truncated many passages."""
    sizes = (max(_number(run.facts, "passages"), _number(run.facts, "documents")) for run in inputs.system_runs)
    largest = max(sizes, default=0)

    def fault(system: str, facts: Facts) -> SystemFault | None:
        cut, of = _number(facts, "truncated_passages"), _number(facts, "passages") or largest
        if not of or cut < MAX_TRUNCATED * of:
            return None
        return SystemFault(system, int(cut), int(of), f"{cut:.0f} of {of:.0f} ({cut / of:.0%})")

    return _faults(inputs, "passages are longer than the model's input", fault)


def _faults(inputs: DoctorInput, lead: str, fault: Callable[[str, Facts], SystemFault | None]) -> CheckResult:
    """The encoders with a fault."""
    return result_of_systems(lead, filter(None, (fault(system, facts) for system, facts in _facts(inputs))))


def _training_fault(training: str, system: str, facts: Facts) -> SystemFault | None:
    """The fault of an encoder with this kind of training."""
    model, count = facts.get("model"), int(_number(facts, "passages"))
    if not isinstance(model, Mapping) or model.get("training") != training:
        return None
    return SystemFault(system, count, count, f"{count} passages in {int(_number(model, 'dimensions'))} dimensions")


def _facts(inputs: DoctorInput) -> Iterator[tuple[str, Facts]]:
    """The facts of each encoder by system; those of the scorer for a reranker."""
    for system_run in inputs.system_runs:
        scorer = system_run.facts.get("scorer")
        yield system_run.name, scorer if isinstance(scorer, Mapping) else system_run.facts


def _lacks_prompt(system: str, facts: Facts) -> str | None:
    model = facts.get("model")
    if "query_prompt" not in facts or not isinstance(model, Mapping):
        return None
    source, prompts = str(model.get("source") or ""), model.get("prompts")
    family = prompted_encoders_of(source)
    if family and any(wanted and not facts.get(key) for key, wanted in family.prompts().items()):
        expected = f"a {family.name} model, which expects {family.describe()} ({family.source})"
        return f"{for_message(system)}: {for_message(source)} is {expected}"
    return None if not isinstance(prompts, Mapping) or not prompts else _unused_prompt(system, facts, prompts)


def _unused_prompt(system: str, facts: Facts, prompts: Mapping[Any, Any]) -> str | None:
    """A model whose files have prompts and that is used with none, or without the one for queries or for passages."""
    head = f"{for_message(system)}: the model has prompts ({for_message(', '.join(map(str, prompts)))}), but"
    if not facts["query_prompt"] and not facts.get("passage_prompt"):
        return f"{head} none is used"
    unused = (role for role in ("query", "passage") if prompts.get(role) and not facts.get(f"{role}_prompt"))
    return next((f"{head} none is used for a {role}" for role in unused), None)


def _number(facts: Facts, key: str) -> float:
    value = facts.get(key)
    # Facts are read from files of results, where any number may stand.
    return float(value) if isinstance(value, int | float) and abs(value) < _MAX_COUNT else 0.0
