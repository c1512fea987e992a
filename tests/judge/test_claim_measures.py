"""Measures of claims by judges that need a model."""

from __future__ import annotations

import pytest

from rankproof._data.claims import ClaimVerdict, checkable_claims, claims_of, whole_claim
from rankproof._evaluation.claim_judges import ClaimTask
from rankproof._judge.claims.base import claim_text
from rankproof._judge.claims.logprob import LogprobJudge, LogprobSettings
from rankproof._llm.session import LLMSession
from rankproof.errors import UsageError
from rankproof.measures._answers import AnswerCase
from rankproof.measures._claim_base import ClaimMeasure
from rankproof.measures._parse import parse_measures
from support.claim_tasks import CONTEXTS, silent
from support.scripted_chat import ScriptedChat, reply

CASE = AnswerCase("Pies are hot.", ("A pie bakes for an hour.",), query="q1", system="bm25", question="Why?", contexts=CONTEXTS)


def by_logprob(yes: float) -> tuple[ClaimVerdict, ...]:
    model = ScriptedChat(lambda request: reply("Yes", first=(("Yes", yes), ("No", -1.0))))
    task = ClaimTask(CASE, "reference-contexts", claims_of(CASE.references[0], "reference"), CONTEXTS)
    return LogprobJudge("logprob:mine", LogprobSettings(model), LLMSession()).judge([task], silent)[0]


@pytest.mark.parametrize("yes", [-0.1, -5.0])
@pytest.mark.parametrize("name", ["ContextP", "ContextAP"])
def test_a_judge_that_names_no_context_gives_no_value_where_contexts_are_counted(name: str, yes: float) -> None:
    (measure,) = parse_measures(f"{name}(judge='logprob:mine')")
    assert isinstance(measure, ClaimMeasure)
    assert measure.outcome(CASE, {"reference-contexts": by_logprob(yes)}) == "no_evidence"


def test_the_scores_of_a_judge_are_averaged_and_not_its_verdicts() -> None:
    (measure,) = parse_measures("ContextR(judge='logprob:mine')")
    assert isinstance(measure, ClaimMeasure)
    verdicts = by_logprob(-2.0)
    assert [one.verdict for one in verdicts] == ["not_stated"]
    assert measure.claim_value(CASE, {"reference-contexts": verdicts}) == pytest.approx(0.2689, abs=1e-4)


def test_a_judge_reads_a_list_item_with_its_lead_in_and_no_thinking() -> None:
    item, whole = checkable_claims("The causes are:\n- rain [1]")[0], whole_claim("<think>Hm. Rain?</think>Rain [1].", "answer")
    assert claim_text(item) == "The causes are: rain"
    assert claim_text(whole) == "Rain  ."


def test_words_alone_write_no_claims() -> None:
    (measure,) = parse_measures("Faithfulness(unit='claim')")
    assert isinstance(measure, ClaimMeasure)
    with pytest.raises(UsageError, match="overlap cannot write claims"):
        measure.value(CASE)
