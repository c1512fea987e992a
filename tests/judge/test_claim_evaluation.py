"""Answers evaluated by a language model, from the request to the value."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

import pytest

from rankproof._data.answers import Answer
from rankproof._data.claims import Nugget
from rankproof._evaluation.answers import evaluate_answers
from rankproof._evaluation.result import MeasureResult, Result
from rankproof._judge.claims.base import claim_judges
from rankproof._llm.session import LLMSession
from rankproof.models._api.settings import ModelRequestError
from rankproof.models._chat.base import ChatRequest
from support.scripted_chat import ScriptedChat

PASSAGES = {"p1": "A pie bakes for an hour. The oven is hot.", "p2": "Tea is a drink."}
QUESTIONS = {"q1": "How long does a pie bake?", "q2": "What is tea?", "q3": "Is there soup?"}
REFERENCES = {"q1": ["A pie bakes for an hour."], "q2": ["Tea is a drink."], "q3": ["Yes, soup."]}
ANSWERS = {
    "a": {
        "q1": Answer("It bakes for an hour [1]. It is blue [2].", given=("p1", "p2")),
        "q2": Answer("Tea is a drink.", given=("p1", "p2")),
        "q3": Answer("", state="abstained", given=("p1", "p2")),
    }
}
TRUE = ("hour", "drink")


def well(request: ChatRequest) -> str:
    """Supports every claim with a word of TRUE that a sentence of the sources has, and grades 2."""
    text = request.messages[1].text
    if "grade" in request.schema:
        return '{"reason": "so", "grade": 2}'
    if "Split the text" in text:
        return json.dumps({"claims": ["A pie bakes for an hour.", "A pie is blue."] if "blue" in text else ["It is a drink."]})
    lines = [line for line in text.splitlines() if line.startswith("[")]
    claims = text.partition("<<<claims>>>\n")[2].partition("\n<<<end")[0].splitlines()
    return json.dumps({"verdicts": [verdict(at, claim, lines, request) for at, claim in enumerate(claims, 1)]})


def verdict(at: int, claim: str, lines: list[str], request: ChatRequest) -> dict[str, object]:
    found = [line[1 : line.index("]")] for line in lines for word in TRUE if word in claim and word in line]
    yes, no = ("support", "not_support") if "not_support" in request.schema else ("supported", "not_stated")
    return {"claim": at, "evidence": found, "verdict": yes if found else no}


def evaluated(model: ScriptedChat, measures: list[str], **more: object) -> tuple[Result, Mapping[str, MeasureResult]]:
    with LLMSession() as session:
        found = evaluate_answers(
            ANSWERS,
            REFERENCES,
            measures=measures,
            questions=QUESTIONS,
            passage=PASSAGES.get,
            nuggets={"q1": [Nugget("an hour"), Nugget("hot", "okay")]},
            judge_of=claim_judges(session, chat=lambda name: model),
            **more,  # type: ignore[arg-type]
        )
    return found, {name.partition("(")[0]: one for name, one in found.systems[0].measures.items()}


EXPECTED = {
    "Faithfulness": {"q1": 0.5, "q2": 1.0},
    "Hallucination": {"q1": 1.0, "q2": 0.0},
    "ClaimP": {"q1": 0.5, "q2": 1.0},
    "ClaimR": {"q1": 1.0, "q2": 1.0, "q3": 0.0},
    "ContextR": {"q1": 1.0, "q2": 1.0, "q3": 0.0},
    "ContextP": {"q1": 0.5, "q2": 0.5, "q3": 0.0},
    "ContextRelevance": {"q1": 2 / 3, "q2": 2 / 3, "q3": 2 / 3},
    "AnswerRelevance": {"q1": 2 / 3, "q2": 2 / 3},
    "Utilisation": {"q1": 1.0, "q2": 1.0},
    "NuggetR": {"q1": 1.0},
}
NAMES = [f"{name}(judge='mine')" for name in EXPECTED]


def test_all_measures_of_a_question_share_their_requests() -> None:
    model = ScriptedChat(well)
    _, found = evaluated(model, NAMES)
    assert {name: one.per_query for name, one in found.items()} == {
        name: pytest.approx(values) for name, values in EXPECTED.items()
    }
    verdicts = [request for request in model.log.requests if "verdicts" in request.schema]
    grades = [request for request in model.log.requests if "grade" in request.schema]
    # q1, q2: answer and reference against contexts, and both ways against each other; q3: its reference; nuggets of q1.
    assert (len(verdicts), len(grades)) == (4 + 4 + 1 + 1, 3 * 2 + 2)


def test_values_come_from_known_verdicts_without_a_request() -> None:
    first, expected = evaluated(ScriptedChat(well), NAMES)
    again, found = evaluated(ScriptedChat(()), NAMES, known=first.claims)
    assert {name: one.per_query for name, one in found.items()} == {name: one.per_query for name, one in expected.items()}
    assert again.claims == first.claims


def test_a_failed_request_has_no_value_and_is_counted_with_bounds() -> None:
    model = ScriptedChat(lambda request: "no" if "blue" in request.messages[1].text else well(request))
    found, values = evaluated(model, NAMES)
    faithful = values["Faithfulness"]
    assert (faithful.per_query, faithful.counts["failed"], faithful.bounds) == ({"q2": 1.0}, 1, (0.5, 1.0))
    assert all(one.reason for one in found.claims if one.verdict == "failed")
    noted = {note.code: (note.count, note.text) for note in found.systems[0].notes}
    assert noted["failed-reasons"] == (8, "8 verdicts of mine failed: no JSON object (8)")
    assert values["ContextR"].per_query == EXPECTED["ContextR"]


def test_what_the_judge_notes_is_noted() -> None:
    model = ScriptedChat(lambda request: ModelRequestError("status 400: too long"))
    found, _ = evaluated(model, ["Faithfulness(judge='mine')"])
    texts = [note.text for note in found.systems[0].notes]
    assert any(text.startswith("mine: the server rejected every request (2)") for text in texts)
    assert any("verdicts of mine failed: status 400: too long (3)" in text for text in texts)


def test_where_every_request_fails_there_is_no_mean() -> None:
    _, values = evaluated(ScriptedChat(lambda request: "no"), ["Faithfulness(judge='mine')"])
    one = values["Faithfulness"]
    assert (one.per_query, one.counts["failed"], one.bounds) == ({}, 2, (0.0, 1.0))
    assert math.isnan(one.value)


def test_atomic_claims_are_written_once_and_then_judged() -> None:
    model = ScriptedChat(well)
    found, values = evaluated(model, ["Faithfulness(judge='mine',unit='claim')", "Hallucination(judge='mine',unit='claim')"])
    assert values["Faithfulness"].per_query == {"q1": 0.5, "q2": 1.0}
    assert sum("Split the text" in request.messages[1].text for request in model.log.requests) == 2
    assert [one.claim.text for one in found.claims] == ["A pie bakes for an hour.", "A pie is blue.", "It is a drink."]


def test_the_cites_of_each_sentence_are_asked() -> None:
    model = ScriptedChat(well)
    _, values = evaluated(model, ["CiteR(by='support',judge='mine')", "CiteP(by='support',judge='mine')"])
    assert values["CiteR"].per_query["q1"] == 0.5
    assert values["CiteP"].per_query["q1"] == 0.5
    assert all(
        "passage 1" in request.messages[1].text or "passage 2" in request.messages[1].text for request in model.log.requests
    )
