"""Claim judges by name."""

from __future__ import annotations

from typing import Protocol

from rankproof._evaluation.claim_judges import ClaimJudge, JudgeOf, OverlapJudge
from rankproof._judge.claims.base import ChatOf, JudgeResources
from rankproof._llm.session import LLMSession
from rankproof._registry import Component, Registry
from rankproof.errors import UsageError, closest_name, for_message
from rankproof.measures._overlap import OVERLAP
from rankproof.models._registry import ENCODERS, any_chat_by_name, source_prefix


class NamedJudge(Protocol):
    """The class of a claim judge."""

    def named(self, name: str, source: str, resources: JudgeResources) -> ClaimJudge:
        """The judge of a name; `source` is its model."""
        ...


_PACKAGE = "rankproof._judge.claims"
CLAIM_JUDGES: Registry[NamedJudge] = Registry(
    "claim judge",
    "",
    (
        Component("encoder", f"{_PACKAGE}.local_models:EmbeddingJudge", "the cosine with the nearest sentence, as score"),
        Component("nli", f"{_PACKAGE}.local_models:EntailmentJudge", "the probability of an entailment model, as score"),
        Component("logprob", f"{_PACKAGE}.logprob:LogprobJudge", "the log-probabilities of Yes and No, as score"),
        Component("llm", f"{_PACKAGE}.llm:LLMClaimJudge", "verdicts that a language model writes, with evidence"),
    ),
)


def claim_judges(session: LLMSession, *, chat: ChatOf = any_chat_by_name, threads: int = 1) -> JudgeOf:
    """Claim judges by name, each made once; `chat` gives the language models."""
    made: dict[str, ClaimJudge] = {}

    def judge_by_name(name: str) -> ClaimJudge:
        if name not in made:
            made[name] = judge_of(name, session, chat=chat, threads=threads)
        return made[name]

    return judge_by_name


def judge_of(name: str, session: LLMSession, *, chat: ChatOf = any_chat_by_name, threads: int = 1) -> ClaimJudge:
    """The judge of a name: overlap, an encoder, KIND:MODEL with a kind of CLAIM_JUDGES, or a language model."""
    if name == OVERLAP:
        return OverlapJudge()
    kind, source = _kind_and_source(name)
    if not source.strip():
        fix = "write overlap, an encoder such as minilm, nli:FOLDER, logprob:MODEL or the name of a language model"
        raise UsageError(f"the judge {for_message(name)} names no model", fix=fix)
    if kind == "llm" and source == name:
        _reject_misspelling(name)
    judge: NamedJudge = CLAIM_JUDGES.load(kind)
    return judge.named(name, source, JudgeResources(session, chat, threads))


def _reject_misspelling(name: str) -> None:
    """Rejects a language model whose name is nearly that of a judge without one."""
    near = closest_name(name, [OVERLAP, *ENCODERS], min_similarity=0.85)
    if near is not None:
        fix = f"did you mean {near}? Write llm:{for_message(name)} for a language model of that name"
        raise UsageError(f"unknown judge {for_message(name)}", fix=fix)


def is_language_model(name: str) -> bool:
    """Whether the judge of that name is a language model that writes verdicts."""
    return name != OVERLAP and _kind_and_source(name)[0] == "llm"


def _kind_and_source(name: str) -> tuple[str, str]:
    kind, colon, source = name.partition(":")
    if colon and kind in CLAIM_JUDGES:
        return kind, source
    return ("encoder" if name in ENCODERS or source_prefix("encoder", name) else "llm"), name
