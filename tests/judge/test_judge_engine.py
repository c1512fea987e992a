"""Queries alone and engines behind HTTP: rankings are judged by the texts of the replies, and decided without another request."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from rankproof._cli.main import main
from rankproof._formats.read import read_qrels
from rankproof._results.folder import load_results

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


class Engine(BaseHTTPRequestHandler):
    """The old engine finds nothing about the query, the new one a page with its words."""

    asked = 0

    def do_GET(self) -> None:
        type(self).asked += 1
        split = urlsplit(self.path)
        (query,) = parse_qs(split.query)["q"]
        texts = {"other": "a descaler of citric acid"} | ({query: f"all about {query}"} if split.path == "/new" else {})
        hits = [{"id": name.replace(" ", "-"), "text": text} for name, text in reversed(texts.items())]
        body = json.dumps({"hits": hits}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """The test says what is wrong."""


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_engines_are_judged_by_the_texts_of_their_replies_and_never_asked_again(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    Path("log").mkdir()
    lines = (json.dumps({"_id": f"q{at}", "text": text}) + "\n" for at, text in enumerate(QUERIES))
    Path("log/queries.jsonl").write_text("".join(lines))
    Path("experiment.toml").write_text(EXPERIMENT.format(address=address))
    assert main(["run", "experiment.toml", "-o", "out"]) == 0
    asked = Engine.asked
    assert asked >= 2 * len(QUERIES)
    capsys.readouterr()
    assert main(["judge", "out", "--by", "keywords"]) == 0
    shown, said = capsys.readouterr()
    assert "\nBy keywords (not checked by people), new leads: 1.000 nDCG@10" in shown
    assert "the dataset has no documents: the first 300 characters of the texts in the results are judged" in said
    assert read_qrels("out.keywords.qrels")["q3"] == {"other": 0, "kettle-3": 3}
    assert main(said.splitlines()[-1].split()[1:]) == 0
    assert load_results("out").result.means["old"]["nDCG@10"] == 0
    assert Engine.asked == asked
