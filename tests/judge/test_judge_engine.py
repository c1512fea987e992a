"""Queries alone and engines behind HTTP: rankings are judged by the texts of the replies, and decided without another request."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import read_qrels
from rankproof._results.folder import load_results
from support.scripted_server import Request, ScriptedServer, Sent

pytest.importorskip("httpx")
QUERIES = [f"kettle {at}" for at in range(32)]
EXPERIMENT = """
dataset = "log"
[systems.old]
stage = "http"
url = "{address}/old?q={{query}}"
ids = "hits[].id"
texts = "hits[].text"
[systems.new]
stage = "http"
url = "{address}/new?q={{query}}"
ids = "hits[].id"
texts = "hits[].text"
"""


def answer(request: Request) -> Sent:
    """The old engine finds nothing about the query, the new one a page with its words."""
    query = request.options["q"]
    texts = {"other": "a descaler of citric acid"} | ({query: f"all about {query}"} if request.location == "/new" else {})
    return Sent(body={"hits": [{"id": name.replace(" ", "-"), "text": text} for name, text in reversed(texts.items())]})


@pytest.fixture
def engine() -> Iterator[ScriptedServer]:
    with ScriptedServer(answer) as server:
        yield server


def test_engines_are_judged_by_the_texts_of_their_replies_and_never_asked_again(
    engine: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    Path("log").mkdir()
    lines = (json.dumps({"_id": f"q{at}", "text": text}) + "\n" for at, text in enumerate(QUERIES))
    Path("log/queries.jsonl").write_text("".join(lines))
    Path("experiment.toml").write_text(EXPERIMENT.format(address=engine.url))
    assert main(["run", "experiment.toml", "-o", "out"]) == 0
    asked = len(engine.requests)
    assert asked >= 2 * len(QUERIES)
    capsys.readouterr()
    assert main(["judge", "out", "--by", "keywords"]) == 0
    shown, said = capsys.readouterr()
    assert "\nBy keywords (not checked by people), new leads: 1.000 nDCG@10" in shown
    assert "the dataset has no documents: the first 300 characters of the texts in the results are judged" in said
    assert read_qrels("out.keywords.qrels")["q3"] == {"other": 0, "kettle-3": 3}
    assert main(said.splitlines()[-1].split()[1:]) == 0
    assert load_results("out").result.means["old"]["nDCG@10"] == 0
    assert len(engine.requests) == asked
