"""A real language model judges over HTTP; the quality of its grades is not tested."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankproof._data.dataset import Queries, Query
from rankproof._judge.claims.base import judge_of
from rankproof._judge.judge import judge_pairs
from rankproof._judge.judges import JudgeContext, LLMJudge
from rankproof._judge.pairs import QueryDocPair
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof.models._chat.llama_cpp import Llama
from support.claim_tasks import claim_task, silent
from support.stage_building import corpus_of

pytestmark = pytest.mark.release


def test_smollm2_gives_every_pair_a_grade_or_a_reason_and_is_called_once(smollm2: Llama, tmp_path: Path) -> None:
    corpus = corpus_of({"d1": "Bake the apple pie at 180 degrees for 40 minutes.", "d2": "A bicycle has two wheels."})
    queries, pairs = Queries([Query("q", "how long to bake an apple pie")]), [QueryDocPair("q", "d1"), QueryDocPair("q", "d2")]
    judge = LLMJudge(smollm2, max_tokens=60)
    spent = []
    for _ in range(2):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            report = judge_pairs(judge, pairs, JudgeContext(queries, corpus, session), None, lambda *progress: None)
            spent.append(session.meter.spent)
    assert list(report.grades) == pairs
    for one in report.grades.values():
        assert one.reason
        assert one.grade in (None, 0, 1, 2, 3)
        assert one.counts["tokens_in"] > 100
    assert spent[0].calls >= 2
    assert (spent[1].calls, spent[1].journaled) == (0, spent[0].calls)


def test_smollm2_gives_every_claim_a_verdict_with_evidence_or_a_reason_and_is_called_once(smollm2: Llama, tmp_path: Path) -> None:
    context = "Bake the apple pie at 180 degrees for 40 minutes. A bicycle has two wheels."
    task = claim_task("answer-contexts", ["The pie bakes for 40 minutes."], [context], question="How long does it bake?")
    spent = []
    for _ in range(2):
        with LLMSession(ResponseCaches(tmp_path)) as session:
            ((written,),) = judge_of("smollm2", session, chat=lambda name: smollm2).judge([task], silent)
            ((scored,),) = judge_of("logprob:smollm2", session, chat=lambda name: smollm2).judge([task], silent)
            spent.append(session.meter.spent)
    assert bool(written.reason) == (written.verdict == "failed")
    assert bool(written.evidence) >= (written.verdict == "supported")
    assert scored.score is not None, "llama.cpp gives log-probabilities"
    assert 0 < scored.score < 1
    assert spent[0].calls >= 2
    assert (spent[1].calls, spent[1].journaled) == (0, spent[0].calls)
