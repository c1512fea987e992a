"""The service of the how-to, with a real HTTP server and a scripted population of users."""

from __future__ import annotations

import http.client
import json
import random
import threading
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import rankproof as rp
from support.live_traffic import clicks_on, ranking
from support.paths import DOCS

_QUALITIES = {"bm25": 0.1, "hybrid": 0.95}


def _service_of_the_page() -> dict[str, Any]:
    """The names of the program that the page shows."""
    page = (DOCS / "how-to/live-traffic.md").read_text(encoding="utf-8")
    program = page.partition('```python title="search_service.py"\n')[2].partition("\n```")[0]
    assert len(program.split("\n")) <= 30
    names: dict[str, Any] = {}
    exec(compile(program, "search_service.py", "exec"), names)
    return names


def _asked(connection: http.client.HTTPConnection, path: str, **values: str) -> Any:
    connection.request("GET", f"{path}?{urlencode(values)}")
    return json.load(connection.getresponse())


@pytest.mark.slow
def test_a_population_that_asks_the_service_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, log = random.Random(4), tmp_path / "ubi.jsonl"
    rankings = {name: [ranking(rng, quality) for _ in range(60)] for name, quality in _QUALITIES.items()}
    engines = {name: lambda text, own=own: own[int(text)] for name, own in rankings.items()}
    server = _service_of_the_page()["service"](engines, log)
    monkeypatch.setattr(server.RequestHandlerClass, "log_message", lambda *about: None)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=60)
        for number in range(400):
            who = {"id": f"s{number}", "user": f"u{rng.randrange(300)}"}
            docs = _asked(connection, "/search", q=str(rng.randrange(60)), **who)
            for doc in clicks_on(docs, rng):
                _asked(connection, "/click", doc=doc, **who)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    result = rp.online(str(log))
    assert result.decision is not None
    assert (result.facts["sessions"], result.facts["experiment"]) == (400, "2026-11-hybrid")
    assert (result.decision.outcome, result.decision.systems) == ("ship", ("hybrid",))
    assert rp.online(str(log), baseline="hybrid").decision.outcome == "keep"  # type: ignore[union-attr]
