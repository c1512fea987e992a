"""A server that returns the API key in its replies, in every spelling and to every use: the key is written and shown nowhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import reply_notes
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof.errors import ExternalError
from support.chat_server import ChatServer, completion
from support.key_spellings import KEY, KEY_SPELLINGS, files_with_key, has_key
from support.llm_uses import USES, UseOutcome
from support.scripted_server import Request, Sent

_MARK = "@@"
_FREE_TEXTS = ("reason", "answer", "query", "text")


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_KEY", KEY)


def leaking(well: str, spelled: str) -> str:
    """The good reply with the key in each free text, or after it; the key stays as it is spelled."""
    if not well.startswith("{"):
        return f"{well}\n{spelled}"
    return json.dumps(_marked(json.loads(well)) | {"note": _MARK}).replace(_MARK, spelled)


def _marked(value: Any) -> Any:
    if isinstance(value, list):
        return [f"{each} {_MARK}" if isinstance(each, str) and " " in each else _marked(each) for each in value]
    if isinstance(value, dict):
        return {name: f"{each} {_MARK}" if name in _FREE_TEXTS else _marked(each) for name, each in value.items()}
    return value


def _leaking_completion(use: str, spelled: str, request: Request) -> Sent:
    return completion(leaking(USES[use].well(request.body), spelled))


def _always(sent: Sent, request: Request) -> Sent:
    return sent


def outcome_of(use: str, answer: Callable[[Request], Sent], cache: Path) -> tuple[UseOutcome | ExternalError, tuple[str, ...]]:
    with (
        ChatServer(answer) as server,
        LLMSession(ResponseCaches(cache), retry_policy=RetryPolicy(max_requests=1, sleep=lambda seconds: None)) as session,
    ):
        try:
            return USES[use].run(server.model(api_key_env="CHAT_KEY"), session), session.notes()
        except ExternalError as error:
            return error, session.notes()


@pytest.mark.slow
@pytest.mark.parametrize("use", USES)
def test_no_use_keeps_a_key_in_any_spelling(use: str, tmp_path: Path) -> None:
    for name, spell in KEY_SPELLINGS.items():
        answer = partial(_leaking_completion, use, spell(KEY))
        outcome, notes = outcome_of(use, answer, tmp_path / name)
        assert isinstance(outcome, UseOutcome), outcome
        assert outcome.whole, "an item was lost"
        assert outcome.counts["masked"] > 0
        assert any("contained the API key" in note for note in reply_notes(outcome.counts))
        assert not has_key(outcome.texts), name
        assert not any(map(has_key, notes)), name
        assert list((tmp_path / name).rglob("*.journal")), "replies are cached"
        assert files_with_key(tmp_path / name) == []


@pytest.mark.slow
@pytest.mark.parametrize(("use", "status"), [*(("judge", status) for status in (400, 401, 404, 429, 500)), ("generate", 401)])
def test_no_reason_of_a_server_shows_a_key_in_any_spelling(use: str, status: int, tmp_path: Path) -> None:
    for name, spell in KEY_SPELLINGS.items():
        refused = Sent(status, json.dumps({"error": {"message": f"wrong key {spell(KEY)}"}}).encode())
        outcome, notes = outcome_of(use, partial(_always, refused), tmp_path / name)
        assert not has_key(str(outcome) if isinstance(outcome, ExternalError) else outcome.texts), name
        assert not any(map(has_key, notes)), name
        assert files_with_key(tmp_path) == []


def _well(request: Request) -> str:
    """A good reply to any of the commands, by the schema that they ask for."""
    schema = request.body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    parts: dict[str, Any] = {
        "grade": 2,
        "reason": "on pies",
        "answer": "a pie",
        "sources": [1],
        "query": "how long is a pie baked",
        "claims": ["Pie is hot."],
        "nuggets": [{"text": "Pie is hot.", "importance": "vital"}],
        "verdicts": [{"claim": at, "evidence": ["1.1"], "verdict": "supported"} for at in range(1, _claims(request) + 1)],
    }
    return json.dumps({name: parts[name] for name in schema["properties"]}) if schema else "Yes"


def _claims(request: Request) -> int:
    text = request.body["messages"][-1]["content"]
    return len(text.partition("<<<claims>>>\n")[2].partition("\n<<<end of claims>>>")[0].splitlines())


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A language model and a search engine that return the key in each spelling in turn."""
    spellings = cycle([spell(KEY) for spell in KEY_SPELLINGS.values()])

    def answer(request: Request) -> Sent:
        spelled = next(spellings)
        if "messages" in request.body:
            return completion(leaking(_well(request), spelled))
        rows = [{"id": "d1"}, {"id": "d2"}, {"id": spelled, "t": f"{'x' * 1990} {spelled}"}]
        return Sent(body=json.dumps({"hits": rows}).encode())

    with ChatServer(answer) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a dataset of twelve documents and queries, and a log of answers."""
    data = tmp_path / "data"
    data.mkdir()
    documents = {f"d{at}": f"pie number {at} is baked for {at} hours at home and then cut in pieces" for at in range(12)}
    queries = {f"q{at}": f"how long is pie {at} baked" for at in range(12)}
    for name, texts in (("corpus", documents), ("queries", queries)):
        (data / f"{name}.jsonl").write_text("".join(f"{json.dumps({'_id': key, 'text': text})}\n" for key, text in texts.items()))
    rows = "".join(f"q{at}\td{at}\t1\n" for at in range(12))
    (data / "qrels.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    log = ({"user_input": text, "response": f"Pie {key} is hot.", "retrieved_contexts": [f"Pie {key} is hot."]}
           for key, text in queries.items())  # fmt: skip
    (tmp_path / "log.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in log))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return tmp_path


def check(folder: Path, capsys: pytest.CaptureFixture[str], *commands: list[str]) -> None:
    """Runs the commands; nothing that they write or show has the key, and they say that it was masked."""
    for command in commands:
        assert main(command) == 0, capsys.readouterr().err
    shown = capsys.readouterr()
    assert not has_key(shown.out)
    assert not has_key(shown.err)
    assert "masked as ***" in " ".join(f"{shown.out} {shown.err}".split())
    assert list((folder / "cache").rglob("*.journal"))
    assert files_with_key(folder) == []


@pytest.mark.slow
def test_no_file_of_a_run_has_a_key(server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = f'model = {{name = "openai", model = "m", base_url = "{server.address}", api_key_env = "CHAT_KEY"}}\n'
    (folder / "experiment.toml").write_text(
        'dataset = "data"\n[systems.bm25]\nstage = "bm25"\n'
        f'[systems.rewritten]\nstage = "rewrite"\nof = "bm25"\n{model}'
        f'[systems.reranked]\nstage = "rerank"\nof = "bm25"\nby = "pointwise"\ntop = 2\n{model}'
        f'[systems.answered]\nstage = "answer"\nof = "bm25"\ntop = 2\n{model}'
        f'[systems.engine]\nstage = "http"\nurl = "{server.address}/s?q={{query}}&k=${{CHAT_KEY}}"\nids = "hits[].id"\n'
        'texts = "hits[].t"\nheaders = {X-Api-Key = "${CHAT_KEY}"}\n'
    )
    check(folder, capsys, ["run", "experiment.toml", "-o", "out", "-v"], ["report", "out", "-o", "report.html"])
    remarks = {one["name"]: one["remarks"] for one in json.loads((folder / "out" / "result.json").read_text())["systems"]}
    noted = {name for name, notes in remarks.items() if any("masked as ***" in note for note in notes)}
    assert noted == {"rewritten", "reranked", "answered", "engine"}
    names = {path.name for path in (folder / "out").rglob("*")} | {path.name for path in folder.iterdir()}
    assert {"result.json", "answers.jsonl", "engine.jsonl", "report.html"} <= names


@pytest.mark.slow
def test_no_file_of_other_commands_has_a_key(server: ChatServer, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chat = ["--model", "m", "--base-url", server.address, "--api-key-env", "CHAT_KEY"]
    (folder / "a.run").write_text(
        "".join(f"q{at} Q0 d{(at + more) % 12} {more} {9 - more} a\n" for at in range(12) for more in (1, 2))
    )
    check(folder, capsys, ["judge", "data", "--runs", "a.run", "-o", "llm.qrels", *chat])
    check(folder, capsys, ["generate", "data", "-o", "generated", "--count", "12", *chat])
    judge = ["--judge", "m", *chat[2:]]
    check(folder, capsys, ["answers", "log.jsonl", "-m", "Faithfulness", "-o", "judged", *judge])
    check(folder, capsys, ["answers", "log.jsonl", "--draft-nuggets", "nuggets.jsonl", *judge])
