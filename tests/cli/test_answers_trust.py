"""`rankproof answers` with labels of people, with a judge that is asked again, and with drafts of nuggets."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._results.folder import load_results
from support.chat_server import ChatServer, completion
from support.scripted_server import Request, Sent

FACTS = ("Oslo is the capital.", "Bergen is wet.", "Narvik has a port.", "Hamar is inland.", "Molde has roses.", "Bodo is north.")
QUESTIONS = 36


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Answers of two facts, of which the contexts hold one or both, with a reference."""
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    rows = []
    for at in range(QUESTIONS):
        first, second = FACTS[at % 6], FACTS[(at + 1) % 6]
        contexts = [f"Page {at}. {first}", *([second] if at % 3 else ["Trains are late."])]
        rows.append({"question": f"What is fact {at}?", "answer": f"{first} {second}", "contexts": contexts, "reference": first})
    path = tmp_path / "rag.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def labels(folder: Path, path: Path, every: int = 1) -> None:
    """Two people label claims as the words say, but differ on every seventh."""
    claims = [json.loads(line) for line in (folder / "claims.jsonl").read_text().splitlines()]
    lines = []
    for at, claim in enumerate(claims[::every]):
        for person in ("ann", "bob"):
            yes = (claim["verdict"] == "supported") != (at % 7 == 0 and person == "bob")
            kept = {key: claim[key] for key in ("query", "system", "side", "n", "against", "text")}
            lines.append({**kept, "label": "supported" if yes else "not_stated", "person": person})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_labels_give_agreement_and_corrected_means_and_the_folder_keeps_them(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, people = tmp_path / "first", tmp_path / "second", tmp_path / "people.jsonl"
    assert main(["answers", log, "-m", "Faithfulness,ContextR", "-o", str(first), "--quiet"]) == 0
    assert "not calibrated" in capsys.readouterr().out
    labels(first, people, every=2)
    assert main(["answers", str(first), "--labels", str(people), "-o", str(second)]) == 0
    shown = capsys.readouterr()
    assert "calibrated on" in shown.out
    assert "not calibrated" not in shown.out
    assert re.search(r"answer in contexts +people's kappa +0\.\d+ +\[", shown.out)
    assert re.search(r"rag +Faithfulness +corrected +0\.\d+ +\[", shown.out)
    kept = load_results(second).answers
    assert kept is not None
    assert {one.table for one in kept.calibrations} == {"answer-contexts", "reference-contexts"}


def test_a_label_of_a_changed_answer_is_an_error_with_its_line(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, people = tmp_path / "first", tmp_path / "people.jsonl"
    assert main(["answers", log, "-m", "Faithfulness", "-o", str(first), "--quiet"]) == 0
    labels(first, people)
    people.write_text(people.read_text().replace("is the capital", "was the capital", 1))
    assert main(["answers", str(first), "--labels", str(people)]) == 2
    assert f"{people}:1: the label is of another text than answer claim 1 of system rag" in capsys.readouterr().err


def verdicts(request: Request, *, shaky: bool) -> Sent:
    """Supports every claim by the first sentence; a shaky judge changes its mind on every request after the first of a text."""
    text = request.body["messages"][-1]["content"]
    claims = text.partition("<<<claims>>>\n")[2].partition("\n<<<end of claims>>>")[0].splitlines()
    label = re.search(r"^\[(\d+\.\d+)\]", text, re.MULTILINE)
    SEEN[text] += 1
    name = "not_stated" if shaky and SEEN[text] % 2 == 0 else "supported"
    each = [{"claim": at, "evidence": [label[1]] if label else [], "verdict": name} for at, _ in enumerate(claims, 1)]
    return completion(json.dumps({"verdicts": each}))


SEEN: Counter[str] = Counter()


@pytest.mark.parametrize("shaky", [False, True])
def test_a_judge_that_is_asked_again_shows_its_noise(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], shaky: bool
) -> None:
    SEEN.clear()
    with ChatServer(lambda request: verdicts(request, shaky=shaky)) as server:
        options = ["-m", "Faithfulness", "--judge", "loop", "--base-url", server.address, "--noise", "--format", "json"]
        assert main(["answers", log, *options]) == 0
        # Every question once, 30 of them twice more, and once in reversed order.
        assert server.completions == QUESTIONS + 3 * 30
    tables: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["tables"]
    (noise,) = (table for table in tables if table["name"] == "judge-noise")
    (row,) = noise["rows"]
    measure, deviation, _, flips, _ = row.values() if isinstance(row, dict) else row
    assert measure == "Faithfulness(judge='loop')"
    assert (flips > 0.5, deviation > 0.5) == (shaky, shaky)


def test_the_dry_run_counts_what_is_asked_again(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    calls = []
    for options in ([], ["--noise"]):
        assert main(["answers", log, "-m", "Faithfulness", "--judge", "loop", "--dry-run", "--format", "json", *options]) == 0
        (table,) = json.loads(capsys.readouterr().out)["tables"]
        calls.append(table["rows"][0]["calls"] if isinstance(table["rows"][0], dict) else table["rows"][0][1])
    # The sample's own replies are in the cache when it is asked again, and are counted once more here.
    assert calls == [QUESTIONS, QUESTIONS + 4 * 30]


def test_words_are_not_asked_again(log: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["answers", log, "-m", "Faithfulness", "--noise"]) == 2
    assert "--noise asks a judge again, and shared words never change; name a judge with --judge" in capsys.readouterr().err


def nuggets(request: Request) -> Sent:
    text = request.body["messages"][-1]["content"]
    fact = re.search(r"<<<text 1>>>\n(.*)\n", text)
    return completion(json.dumps({"nuggets": [{"text": fact[1] if fact else "", "importance": "vital"}]}))


def test_drafts_of_nuggets_are_refused_until_they_are_confirmed(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nuggets.jsonl"
    with ChatServer(nuggets) as server:
        options = ["--draft-nuggets", str(file), "--judge", "writer", "--base-url", server.address]
        assert main(["answers", log, *options, "--dry-run"]) == 0
        assert server.completions == 0
        assert main(["answers", log, *options]) == 0
        assert server.completions == QUESTIONS
        assert main(["answers", log, *options]) == 0
        assert server.completions == QUESTIONS
    assert "drafts are refused until a person confirms them: rankproof serve RESULTS --nuggets" in capsys.readouterr().err
    assert main(["answers", log, "-m", "NuggetR", "--nuggets", str(file)]) == 2
    assert f"{file}:1: the nuggets of query" in capsys.readouterr().err
    file.write_text(file.read_text().replace('"confirmed": false', '"confirmed": true'))
    assert main(["answers", log, "-m", "NuggetR", "--nuggets", str(file)]) == 0
    assert re.search(r"rag +NuggetR +36 +1\.0000", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--draft-nuggets needs a language model; name one with --judge"),
        (["--judge", "overlap"], "--draft-nuggets needs a language model; name one with --judge"),
        (["--judge", "m", "-m", "EM"], "--draft-nuggets evaluates nothing, so --measures has no effect; leave out --measures"),
    ],
)
def test_drafting_needs_a_language_model_and_evaluates_nothing(
    log: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["answers", log, "--draft-nuggets", str(tmp_path / "n.jsonl"), *options]) == 2
    assert message in capsys.readouterr().err
