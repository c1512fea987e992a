"""Criteria of one's own: a judge grades answers by a rubric file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rankproof as rp
from rankproof._analysis.inputs import AnalysisInput
from rankproof._cli.main import main
from rankproof._evaluation.result import answer_inputs_of
from rankproof._formats.rubric import builtin_rubrics, read_rubric
from rankproof._results.answers_results import answers_results
from rankproof._results.criteria import criteria_facts
from rankproof._results.folder import save_results
from rankproof._server.labelling import LabelOptions
from rankproof.errors import InputError, UsageError
from rankproof.measures._criterion import Criterion, RubricGrade
from rankproof.measures._parse import parse_measure, parse_measures
from rankproof.models._chat.base import ChatRequest
from support.results_server import data_of, serving
from support.scripted_chat import ScriptedChat

TONE = """\
question = "How polite is the answer?"
sees = ["question", "contexts", "reference"]
steps = ["Read it twice."]

[grades]
1 = "rude"
2 = "plain"
3 = "polite"

[[examples]]
answer = "Go away."
grade = 1
reason = "rude words"
"""
LOG = [
    {"id": f"q{at}", "question": f"Where is {at}?", "answer": answer, "contexts": ["A map."], "reference": "There."}
    for at, answer in enumerate(["Please look there.", "There.", "Shut up.", ""])
]
GRADES = {"Please look there.": 3, "There.": 2, "Shut up.": 1}


def tone(folder: Path, text: str = TONE) -> str:
    path = folder / "tone.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def graded(request: ChatRequest) -> str:
    answer = request.messages[1].text.split("<<<answer>>>\n")[1].split("\n<<<end")[0]
    return json.dumps({"reason": f"because of {answer}", "grade": GRADES[answer]})


def evaluated(folder: Path, chat: ScriptedChat, rows: list[dict[str, Any]] | None = None) -> Any:
    measure = f"Criterion('{tone(folder)}')"
    return rp.evaluate_answers({"mine": rows or LOG}, measures=measure, judge="scripted", model=chat)


def test_a_grade_is_worth_its_place_on_the_scale_and_an_abstention_has_no_value(tmp_path: Path) -> None:
    (measured,) = evaluated(tmp_path, ScriptedChat(graded)).systems[0].measures.values()
    assert measured.per_query == {"q0": 1.0, "q1": 0.5, "q2": 0.0}
    assert measured.reasons["q3"] in ("missing", "abstained")


def test_the_judge_reads_the_rubric_its_examples_and_what_it_may_see(tmp_path: Path) -> None:
    chat = ScriptedChat(graded)
    evaluated(tmp_path, chat)
    system, prompt = (message.text for message in chat.log.requests[0].messages)
    for part in ("How polite is the answer?", "3 = polite", "1. Read it twice."):
        assert part in system
    for part in (
        "Go away.",
        "rude words",
        "<<<question>>>\nWhere is",
        "<<<passage 1>>>\nA map.",
        "<<<reference answer>>>\nThere.",
    ):
        assert part in prompt


def test_a_judge_does_not_see_what_the_rubric_does_not_name(tmp_path: Path) -> None:
    chat = ScriptedChat(graded)
    tone(tmp_path, TONE.replace('["question", "contexts", "reference"]', "[]"))
    measure = f"Criterion('{tmp_path / 'tone.toml'}')"
    rp.evaluate_answers({"mine": LOG}, measures=measure, judge="scripted", model=chat)
    assert not any(
        "Where is" in request.messages[1].text or "A map." in request.messages[1].text for request in chat.log.requests
    )


def test_a_grade_outside_the_scale_fails_and_has_no_value(tmp_path: Path) -> None:
    (measured,) = evaluated(tmp_path, ScriptedChat(lambda request: '{"reason": "", "grade": 4}')).systems[0].measures.values()
    assert measured.per_query == {}
    assert list(measured.reasons.values()).count("failed") == 3


def test_the_path_of_a_rubric_may_contain_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "my  own rubrics"
    folder.mkdir()
    measure = parse_measure(f"Criterion('{tone(folder)}')")
    assert parse_measure(str(measure)) == measure


def test_two_versions_of_a_rubric_are_two_measures(tmp_path: Path) -> None:
    first = parse_measure(f"Criterion('{tone(tmp_path)}')")
    Path(tone(tmp_path, TONE.replace("plain", "neutral")))
    second = parse_measure(f"Criterion(rubric='{tmp_path}/tone.toml')")
    assert isinstance(second, RubricGrade)
    assert str(first) != str(second)
    assert parse_measure(str(second)) == second
    changed = second(version="0" * 8)
    assert isinstance(changed, RubricGrade)
    with pytest.raises(UsageError, match="evaluate the answers again"):
        _ = changed.criterion


def test_a_rubric_that_changed_is_read_again_by_the_same_text(tmp_path: Path) -> None:
    text = f"Criterion('{tone(tmp_path)}')"
    first = parse_measures(text)
    assert parse_measures(text) == first
    tone(tmp_path, TONE.replace("plain", "neutral"))
    assert parse_measures(text) != first


def test_a_name_with_a_version_needs_no_file() -> None:
    measure = parse_measure("Criterion('gone.toml',version='0a1b2c3d',judge='gpt')")
    assert isinstance(measure, RubricGrade)
    assert measure.every_table == ("answer-criterion:gone:0a1b2c3d",)


@pytest.mark.parametrize("judge", ["overlap", "minilm"])
def test_a_judge_that_reads_no_rubric_is_an_error(tmp_path: Path, judge: str) -> None:
    with pytest.raises(UsageError, match="language model"):
        rp.evaluate_answers({"mine": LOG}, measures=f"Criterion('{tone(tmp_path)}')", judge=judge)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('question = "How polite is the answer?"', "", "question has no text"),
        ('2 = "plain"', 'two = "plain"', "not a whole number"),
        ("grade = 1\n", "grade = 7\n", "example 1"),
        ("sees", "see", "there is no key see"),
        ('"contexts"', '"context"', "cannot see context"),
        ('steps = ["Read it twice."]', 'steps = "Read"', "steps is not a list"),
    ],
)
def test_an_error_in_a_rubric_names_the_file(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"tone\.toml.*{message}"):
        read_rubric(tone(tmp_path, TONE.replace(old, new)))


def test_every_rubric_of_the_package_can_be_used() -> None:
    assert builtin_rubrics() == ("coherence", "trec")
    for name in builtin_rubrics():
        assert len(read_rubric(name).grades) >= 4
    assert Criterion.version == read_rubric("trec").version


def test_measures_shows_the_prompt_of_a_criterion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measures", f"Criterion('{tone(tmp_path)}')"]) == 0
    shown = capsys.readouterr().out
    for part in ("How polite is the answer?", "<contexts>", '{"reason": "<why>", "grade": <1, 2, 3>}'):
        assert part in shown


QUESTIONS = 40
WRITTEN = {"polite": "Please look there.", "rude": "Shut up."}


def results_of_a_biased_judge(folder: Path) -> str:
    """Results of a judge that likes the rude system, which people do not."""
    logs = {
        system: [{"id": f"q{at}", "question": f"Where is {at}?", "answer": f"{text} {at}"} for at in range(QUESTIONS)]
        for system, text in WRITTEN.items()
    }
    chat = ScriptedChat(
        lambda request: json.dumps({"reason": "I like it", "grade": 3 if "Shut" in request.messages[1].text else 2})
    )
    rubric = tone(folder, TONE.replace('["question", "contexts", "reference"]', '["question"]'))
    result = rp.evaluate_answers(logs, measures=f"Criterion('{rubric}')", judge="scripted", model=chat)
    inputs = answer_inputs_of(result)
    assert isinstance(inputs, AnalysisInput)
    assert inputs.texts is not None
    path = str(folder / "results")
    facts = criteria_facts(result, {})
    save_results(answers_results(result, inputs.answers, inputs.texts, inputs.contexts, name="logs", facts=facts), path)
    Path(rubric).unlink()
    return path


def test_a_judge_of_a_criterion_never_decides_and_people_who_grade_answers_do(tmp_path: Path) -> None:
    folder = results_of_a_biased_judge(tmp_path)
    decision = rp.compare(folder).decision
    assert not decision.decided
    assert "By scripted (not checked by people), rude leads" in str(decision)
    with serving([Path(folder)], labels=LabelOptions("ann", questions=30)) as visitor:
        guest = visitor.enter()
        for claim in data_of(guest, "/r/1/label")["claims"]:
            shown = guest.get(f"/r/1/claim/{claim}").json
            assert shown["asked"] == "How polite is the answer?"
            grade = 3 if "Please" in "".join(shown["text"]) else 1
            assert guest.post("/r/1/label", {"claim": claim, "grade": grade}).status == 200
            assert guest.get(f"/r/1/claim/{claim}").json["grade"] == grade
        assert guest.post("/r/1/label", {"claim": claim, "grade": 4}).status == 400
    labelled = rp.compare(folder).decision
    assert labelled.systems == ("polite",)
    assert "people's labels of 30 of 40 questions" in str(labelled)


def test_explain_shows_the_grade_and_the_reason_of_the_judge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = results_of_a_biased_judge(tmp_path)
    assert main(["explain", folder, "--system", "rude", "--query", "q3"]) == 0
    assert "grade 3: I like it: on a scale from 0 to 1 = 1.0000" in capsys.readouterr().out
