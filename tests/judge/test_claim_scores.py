"""Judges that give scores: log-probabilities, encoders, entailment models; and judges by name."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from rankproof._data.claims import ClaimTable
from rankproof._evaluation.claim_judges import OverlapJudge
from rankproof._judge.claims.base import claim_judges, judge_of
from rankproof._judge.claims.llm import LLMClaimJudge
from rankproof._judge.claims.local_models import EmbeddingJudge, EmbeddingSettings, EntailmentJudge, EntailmentSettings
from rankproof._judge.claims.logprob import LogprobJudge, LogprobSettings
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError, UsageError
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._bert import LABELS, BertEntailment, TorchEntailment, entailment_by_name
from rankproof.models._chat.base import ChatReply, ChatRequest
from support.claim_tasks import claim_task, silent
from support.scripted_chat import ScriptedChat, ScriptedReply, reply
from support.small_models import HashedWords
from support.tiny_bert import write_bert


def odds(yes: float, no: float) -> ChatReply:
    """A reply whose first token is Yes or No with these probabilities."""
    return reply("Yes", first=(("Yes", math.log(yes)), (" No", math.log(no)), ("Maybe", math.log(0.01))))


def logprob_judge(script: object, **settings: object) -> LogprobJudge:
    return LogprobJudge("logprob:scripted", LogprobSettings(ScriptedChat(script), **settings), LLMSession())  # type: ignore[arg-type]


@pytest.mark.parametrize(("yes", "no"), [(0.8, 0.1), (0.1, 0.8), (0.4, 0.4), (0.9, 1e-30)])
def test_the_score_is_the_share_of_yes(yes: float, no: float) -> None:
    judge = logprob_judge((odds(yes, no),))
    ((found,),) = judge.judge([claim_task("answer-contexts", ["One."])], silent)
    assert found.score == pytest.approx(yes / (yes + no))
    assert found.verdict == ("supported" if yes >= no else "not_stated")
    assert found.judge.startswith("logprob:scripted:0.5:"), "the threshold of the verdict is named"


def test_extreme_log_probabilities_give_0_and_1() -> None:
    replies = (reply("Yes", first=(("Yes", 0.0), ("No", -9e8))), reply("No", first=(("Yes", -9e8), ("No", 0.0))))
    ((one, other),) = logprob_judge(replies).judge([claim_task("answer-contexts", ["One.", "Two."])], silent)
    assert (one.score, other.score) == (1.0, 0.0)


def test_a_reply_without_log_probabilities_is_never_read_as_a_score() -> None:
    judge = logprob_judge((reply("Yes"), reply("Yes", first=(("Sure", -0.1),))))
    (found,) = judge.judge([claim_task("answer-contexts", ["One.", "Two."])], silent)
    assert [(verdict.verdict, verdict.score) for verdict in found] == [("failed", None)] * 2
    assert all("no log-probabilities" in verdict.reason for verdict in found)
    assert judge.calls.counts.counts["given_up"] == 2
    assert judge.calls.counts.counts["calls"] == 2, "asking again would not change it"


def test_a_server_that_rejects_every_request_is_noted() -> None:
    judge = logprob_judge(lambda request: ModelRequestError("status 400: too long"))
    judge.judge([claim_task("answer-contexts", ["One.", "Two."])], silent)
    assert [note for note in judge.notes() if "logprob:scripted: the server rejected every request (2)" in note]


def test_a_failed_request_fails_its_claim_only() -> None:
    def answer(request: ChatRequest) -> ScriptedReply:
        return ModelRequestError("status 400") if "Two." in request.messages[1].text else odds(0.9, 0.1)

    (found,) = logprob_judge(answer).judge([claim_task("answer-contexts", ["One.", "Two."])], silent)
    assert [(verdict.verdict, verdict.score is None) for verdict in found] == [("supported", False), ("failed", True)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("answer-contexts", "Do the passages state all of the claim"),
        ("answer-cited", "Do the passages state all of the claim"),
        ("reference-contexts", "Do the passages state all of the claim"),
        ("answer-reference", "Does the reference answer state all of the claim"),
        ("reference-answer", "Does the answer state all of the claim"),
        ("nugget-answer", "Does the answer state all of the claim"),
        ("answer-question", "Does the claim answer the question?"),
        ("context-question", "Does the claim answer the question?"),
    ],
)
def test_every_table_has_its_question(table: ClaimTable, words: str) -> None:
    model = ScriptedChat((odds(0.7, 0.3),))
    judge = LogprobJudge("logprob:scripted", LogprobSettings(model), LLMSession())
    ((found,),) = judge.judge([claim_task(table, ["One."], ["A text."])], silent)
    assert found.table == table
    assert words in model.log.requests[0].messages[1].text
    assert model.log.requests[0].logprobs > 0


def test_sources_that_do_not_fit_are_asked_in_parts_and_the_highest_score_counts() -> None:
    judge = logprob_judge((odds(0.1, 0.9), odds(0.8, 0.2), odds(0.3, 0.7)), characters=60)
    task = claim_task("answer-contexts", ["One."], ["word " * 10] * 3)
    assert judge.estimate([task]).calls == 3
    ((found,),) = judge.judge([task], silent)
    assert found.score == pytest.approx(0.8)


def test_one_failed_part_fails_the_claim() -> None:
    judge = logprob_judge(
        (odds(0.9, 0.1), reply("", finish="refusal"), reply("", finish="refusal"), reply("", finish="refusal")), characters=60
    )
    ((found,),) = judge.judge([claim_task("answer-contexts", ["One."], ["word " * 10] * 2)], silent)
    assert (found.verdict, found.score) == ("failed", None)


def test_repeats_and_reversed_order_are_asked_on_their_own() -> None:
    model, session = ScriptedChat(lambda request: odds(0.7, 0.3)), LLMSession()
    judge = LogprobJudge("logprob:scripted", LogprobSettings(model), session)
    task = claim_task("answer-contexts", ["One."])
    labels = {each.judge([task], silent)[0][0].judge for each in (judge, judge.varied(repeat=1), judge.varied(reverse=True))}
    assert (model.log.calls, len(labels)) == (3, 3)
    assert model.log.requests[0].messages == model.log.requests[1].messages != model.log.requests[2].messages


ENCODED = EmbeddingJudge("hashed", EmbeddingSettings(HashedWords(dimensions=64)))


def test_the_score_is_the_cosine_with_the_best_sentence_which_is_the_evidence() -> None:
    (found,) = ENCODED.judge([claim_task("answer-contexts", ["The oven is hot.", "Cows moo loudly.", "Tea is a drink."])], silent)
    hot, cows, tea = found
    assert (hot.verdict, hot.evidence) == ("supported", ((1, 2),))
    assert hot.score == pytest.approx(1, abs=1e-6)
    assert (tea.verdict, tea.evidence) == ("supported", ((2, 1),))
    assert cows.verdict == "not_stated"
    assert cows.score is not None
    assert 0 <= cows.score < 0.5
    assert hot.judge.startswith("embedding:hashed:0.5:")


def test_every_source_that_reaches_the_threshold_is_evidence() -> None:
    ((found,),) = ENCODED.judge(
        [claim_task("answer-contexts", ["Tea is a drink."], ["Tea is a drink.", "Pie.", "Tea is one drink."])], silent
    )
    assert found.evidence == ((1, 1), (3, 1))


def test_a_text_that_the_encoder_cannot_read_fails_and_is_not_0() -> None:
    ((found,),) = ENCODED.judge([claim_task("answer-contexts", ["…"])], silent)
    assert (found.verdict, found.score) == ("failed", None)
    assert found.reason


@pytest.mark.parametrize("table", ["answer-question", "context-question"])
def test_a_question_is_compared_with_the_best_sentence(table: ClaimTable) -> None:
    task = claim_task(table, ["Hello. Where is the pie?"], ["Where is the pie?"])
    ((found,),) = ENCODED.judge([task], silent)
    assert found.score == pytest.approx(1, abs=1e-6)
    ((blank,),) = ENCODED.judge([claim_task(table, ["Hello."], [" "], question=" ")], silent)
    assert (blank.verdict, blank.score) == ("failed", None)


def test_blank_sources_score_0_and_many_tasks_keep_their_order() -> None:
    tasks = [
        claim_task("answer-contexts", [f"Number {at} is here."], [" "] if at % 2 else [f"Number {at} is here."])
        for at in range(450)
    ]
    shown: list[int] = []
    found = ENCODED.judge(tasks, lambda label, done, total: shown.append(done))
    assert [round(verdict.score or 0) for (verdict,) in found] == [1 - at % 2 for at in range(450)]
    assert shown == [200, 400, 450]


def test_truncated_sentences_are_noted() -> None:
    judge = EmbeddingJudge("hashed", EmbeddingSettings(HashedWords(max_words=5)))
    judge.judge([claim_task("answer-contexts", ["One."], ["long " * 60 + "."])], silent)
    assert "1 sentence was truncated" in judge.notes()[0]


def test_judges_without_a_language_model_write_no_claims_and_cost_nothing() -> None:
    for judge in (ENCODED, logprob_judge(())):
        with pytest.raises(UsageError, match="cannot split a text into atomic claims"):
            judge.extract([("", "One.")], silent)
    assert ENCODED.estimate([claim_task("answer-contexts", ["One."])]).calls == 0
    assert ENCODED.varied(repeat=1, reverse=True) is ENCODED


NAMES = ("contradiction", "entailment", "neutral")


def nli_folder(folder: Path, names: object = None) -> Path:
    labels = {str(at): name for at, name in enumerate(NAMES)} if names is None else names
    return write_bert(folder, labels=3, id2label=labels)


def nli_judge(folder: Path, **settings: object) -> EntailmentJudge:
    return EntailmentJudge("nli:tiny", EntailmentSettings(BertEntailment(str(folder), max_tokens=40), **settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [NAMES, ("ENTAILMENT", "Neutral", "contradiction"), ("neutral", "contradiction", "entailment")])
def test_labels_are_read_by_their_names(names: tuple[str, ...], tmp_path: Path) -> None:
    plain, other = nli_folder(tmp_path / "a"), nli_folder(tmp_path / "b", {str(at): name for at, name in enumerate(names)})
    expected = BertEntailment(str(plain)).load().probabilities("bake bread", ["soup", "the oven and the pan"])
    found = BertEntailment(str(other)).load().probabilities("bake bread", ["soup", "the oven and the pan"])
    by_place = expected[:, [LABELS.index(name) for name in NAMES]]
    np.testing.assert_allclose(found[:, [LABELS.index(name.lower()) for name in names]], by_place)
    np.testing.assert_allclose(found.sum(axis=1), 1)


@pytest.mark.torch
def test_torch_gives_the_probabilities_of_the_written_graph(tmp_path: Path) -> None:
    folder = str(nli_folder(tmp_path / "m"))
    ours, theirs = entailment_by_name(folder).load(), TorchEntailment(folder, max_tokens=40).load()
    claims = ["soup", "the oven and the pan"]
    np.testing.assert_allclose(theirs.probabilities("bake bread", claims), ours.probabilities("bake bread", claims), atol=1e-4)
    assert isinstance(entailment_by_name(f"torch:{folder}"), TorchEntailment)


@pytest.mark.parametrize(
    "names",
    [
        {"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"},
        {"0": "entailment", "1": "entailment", "2": "neutral"},
        {"0": "entailment", "1": "neutral", "5": "contradiction"},
        {"x": "entailment", "1": "neutral", "2": "contradiction"},
        {"0": "entailment", "1": "not_entailment", "2": "neutral"},
    ],
)
def test_unknown_labels_are_an_error_with_a_fix(names: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(ExternalError, match=r"config.json: the labels in id2label are .*; use a model with these three labels"):
        BertEntailment(str(nli_folder(tmp_path / "m", names))).load()


def test_an_entailment_judge_scores_by_its_model_and_names_the_best_sentence(tmp_path: Path) -> None:
    folder = nli_folder(tmp_path / "m")
    judge, model = nli_judge(folder, characters=25), BertEntailment(str(folder), max_tokens=40).load()
    ((found,),) = judge.judge(
        [claim_task("answer-contexts", ["bread"], ["How to bake bread. Clean a pan.", "Salt the soup."])], silent
    )
    shares = [model.probabilities(text, ["bread"])[0] for text in ("How to bake bread.", "Clean a pan.", "Salt the soup.")]
    assert found.score == pytest.approx(max(share[0] for share in shares))
    assert found.score is not None
    contradicted = max(share[2] for share in shares)
    expected = "supported" if found.score >= 0.5 else "contradicted" if contradicted >= 0.5 else "not_stated"
    assert found.verdict == expected
    assert found.evidence
    assert found.judge.startswith("nli:tiny:0.5:")


@pytest.mark.parametrize(("threshold", "verdict"), [(0.0, "supported"), (1.0, "not_stated")])
def test_the_verdict_follows_the_threshold(threshold: float, verdict: str, tmp_path: Path) -> None:
    judge = nli_judge(nli_folder(tmp_path / "m"), threshold=threshold)
    ((found,),) = judge.judge([claim_task("answer-contexts", ["bread"], ["Soup."])], silent)
    assert found.verdict == verdict


def test_long_sources_are_read_in_parts_and_a_claim_that_does_not_fit_fails(tmp_path: Path) -> None:
    judge = nli_judge(nli_folder(tmp_path / "m"))
    long = claim_task("answer-contexts", ["bread", "butter " * 60], ["salt the soup and clean the pan " * 40])
    ((read, failed),) = judge.judge([long], silent)
    assert read.score is not None
    assert (failed.verdict, failed.score) == ("failed", None)
    assert "longer than the entailment model reads" in failed.reason


def test_an_entailment_judge_refuses_questions_and_scores_blank_sources_0(tmp_path: Path) -> None:
    judge = nli_judge(nli_folder(tmp_path / "m"))
    with pytest.raises(UsageError, match="not whether a text answers a question"):
        judge.judge([claim_task("answer-question", ["bread"], ["How?"])], silent)
    ((found,),) = judge.judge([claim_task("answer-contexts", ["bread"], [" "])], silent)
    assert (found.verdict, found.score) == ("not_stated", 0.0)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("wordllama", EmbeddingJudge),
        ("torch:acme/tiny", EmbeddingJudge),
        ("encoder:./mine", EmbeddingJudge),
        ("nli:./mine", EntailmentJudge),
        ("overlap", OverlapJudge),
        ("nli:torch:acme/tiny", EntailmentJudge),
        ("logprob:smollm2", LogprobJudge),
        ("logprob:gpt-4o-mini", LogprobJudge),
        ("gpt-4o-mini", LLMClaimJudge),
        ("qwen2.5:7b", LLMClaimJudge),
        ("meta-llama/Llama-3.1-8B", LLMClaimJudge),
        ("smollm2", LLMClaimJudge),
        ("llm:minilm", LLMClaimJudge),
        ("models/qwen.gguf", LLMClaimJudge),
    ],
)
def test_a_judge_is_found_by_its_name(name: str, kind: type) -> None:
    found = judge_of(name, LLMSession())
    assert type(found) is kind
    assert found.name == name


@pytest.mark.parametrize("name", ["smollm2", "logprob:smollm2", "gpt-4o-mini", "wordllama"])
def test_the_label_of_a_judge_has_its_name(name: str) -> None:
    assert f":{name}:" in f":{judge_of(name, LLMSession()).label}"


@pytest.mark.parametrize("name", ["", " ", "nli:", "logprob:", "encoder:"])
def test_a_name_without_a_model_is_an_error(name: str) -> None:
    with pytest.raises(UsageError, match="names no model"):
        judge_of(name, LLMSession())


@pytest.mark.parametrize(("name", "near"), [("wordlama", "wordllama"), ("overlaps", "overlap"), ("mini-lm", "minilm")])
def test_a_misspelt_judge_is_not_taken_for_a_language_model(name: str, near: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown judge {name}; did you mean {near}\? Write llm:{name} for"):
        judge_of(name, LLMSession())
    assert type(judge_of(f"llm:{name}", LLMSession())) is LLMClaimJudge


def test_a_judge_is_made_once_and_language_models_come_from_the_caller() -> None:
    asked: list[str] = []

    def chat(name: str) -> ScriptedChat:
        asked.append(name)
        return ScriptedChat(())

    judges = claim_judges(LLMSession(), chat=chat)
    assert judges("mine") is judges("mine")
    judges("logprob:mine")
    assert asked == ["mine", "mine"]
    assert judges("mine").label.startswith("llm:mine:")


@pytest.mark.parametrize("name", ["mine", "logprob:mine", "encoder"])
def test_the_revision_of_a_model_is_computed_once(name: str) -> None:
    asked: list[int] = []

    class Counted(ScriptedChat):
        def revision(self) -> str:
            asked.append(1)
            return "1"

    class CountedWords(HashedWords):
        def revision(self) -> str:
            asked.append(1)
            return "1"

    model = Counted(lambda request: reply("Yes", first=(("Yes", -0.1), ("No", -2.0))))
    made = (
        EmbeddingJudge("words", EmbeddingSettings(CountedWords()))
        if name == "encoder"
        else judge_of(name, LLMSession(), chat=lambda name: model)
    )
    made.judge([claim_task("answer-contexts", ["Pies.", "Tarts."])] * 2, silent)
    before = len(asked)
    made.judge([claim_task("answer-contexts", ["Pies.", "Tarts."])] * 2, silent)
    assert len(asked) == before
