"""The stage `http`: requests and replies of every preset, settings, keys, and a server with every fault."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.dataset import Query
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._io.retry import RetryPolicy
from rankproof._llm.session import LLMSession
from rankproof.errors import UsageError
from rankproof.stages import Http
from rankproof.stages._base import BuildContext, QueryTimer
from rankproof.stages._engines.base import EngineError, EngineReply
from rankproof.stages._engines.request import presets
from support.chat_faults import FAULTS, FAULTS_BY_KIND
from support.chat_server import ChatServer
from support.preset_replies import CASES, KEYS, QUERY, SIZE, VECTOR, Case
from support.scripted_server import Request, Sent
from support.small_models import HashedWords
from support.stage_building import context_of, corpus_of

KEY = "CANARY-HTTP-0123456789"
DOCS = {"d1": "one", "d2": "two", "d3": "three"}


@dataclass(frozen=True)
class OneVector:
    """An encoder with the same vector for every text, zero for a blank one."""

    def load(self, *, threads: int = 1) -> OneVector:
        return self

    def encode(self, texts: list[str]) -> Any:
        return np.array([VECTOR if text.strip() else [0.0] * 3 for text in texts], dtype=np.float32)

    def revision(self) -> str:
        return "1"

    def facts(self) -> Mapping[str, Any]:
        return {}

    def cut(self, texts: list[str]) -> int:
        return 0


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**KEYS, "SEARCH_KEY": KEY}.items():
        monkeypatch.setenv(name, value)


def hits(*docs: str, **more: Any) -> bytes:
    return json.dumps({"hits": [{"id": doc, "score": 1.0} for doc in docs], **more}).encode()


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(lambda request: Sent(body=hits("d2", "d1"))) as found:
        yield found


def root(server: ChatServer) -> str:
    return server.address.removesuffix("/v1")


def plain(server: ChatServer, **settings: Any) -> Http:
    given = {"url": f"{root(server)}/search", "body": {"q": "{query}", "n": "{size}"}, "ids": "hits[].id", "depth": SIZE}
    return Http(**{**given, "retries": 0, **settings})


def context(max_requests: int = 2) -> BuildContext:
    session = LLMSession(retry_policy=RetryPolicy(max_requests=max_requests, sleep=lambda seconds: None))
    return replace(context_of(corpus_of(DOCS)), session=session)


def asked(stage: Http, text: str = QUERY, *, within: BuildContext | None = None) -> EngineReply | EngineError:
    used = within or context()
    with used.session:
        return stage.client(used).ask(Query("q", text))


def reply(stage: Http, text: str = QUERY) -> EngineReply:
    found = asked(stage, text)
    assert isinstance(found, EngineReply), found
    return found


def failure(stage: Http, text: str = QUERY) -> EngineError:
    found = asked(stage, text)
    assert isinstance(found, EngineError), found
    return found


def of_preset(name: str, server: ChatServer, **settings: Any) -> Http:
    model: Any = OneVector() if presets()[name].needs_vector else None
    values = {"server": root(server), **CASES[name].values}
    return Http(preset=name, values=values, model=model, depth=SIZE, retries=0, **settings)


def answering(case: Case, content: Mapping[str, Any]) -> Callable[[Request], Sent]:
    return lambda request: Sent(body=json.dumps(content).encode(), headers=case.headers)


def test_every_preset_has_a_case() -> None:
    assert CASES.keys() == presets().keys()


@pytest.mark.parametrize("name", CASES)
def test_a_preset_sends_its_request_and_reads_its_reply(name: str, server: ChatServer) -> None:
    case = CASES[name]
    server.answer = answering(case, case.reply)
    found = reply(of_preset(name, server))
    (request,) = server.requests
    assert request.path == case.path
    assert request.body == case.body
    assert {key: value for key, value in request.headers.items() if key in case.sent} == case.sent
    assert found.docs == ("d2", "d1")
    assert found.scores == case.scores
    assert found.server_ms == (None if case.server_ms is None else pytest.approx(min(case.server_ms, found.seconds * 1000)))
    assert found.seconds > 0
    assert not [note for note in found.notes if "the reply has no" in note]


@pytest.mark.parametrize("name", CASES)
def test_a_reply_without_documents_is_no_failure(name: str, server: ChatServer) -> None:
    server.answer = answering(CASES[name], CASES[name].empty)
    assert reply(of_preset(name, server)).docs == ()


@pytest.mark.parametrize(("name", "at"), [(name, at) for name, case in CASES.items() for at in range(len(case.errors))])
def test_an_error_inside_a_success_is_a_failure_with_its_reason(name: str, at: int, server: ChatServer) -> None:
    server.answer = answering(CASES[name], CASES[name].errors[at])
    assert "the reply has" in failure(of_preset(name, server)).what


@pytest.mark.parametrize("name", CASES)
def test_a_preset_that_was_never_run_against_a_server_says_so(name: str, server: ChatServer) -> None:
    said = of_preset(name, server).about()
    assert said == () if name in ("chroma", "groonga", "arcadedb") else "not tested against a server" in said[0]


@pytest.mark.parametrize(
    ("server_url", "headers", "is_noted"),
    [
        ("http://search.example", {"Authorization": "ApiKey ${SEARCH_KEY}"}, True),
        ("https://search.example", {"Authorization": "ApiKey ${SEARCH_KEY}"}, False),
        ("http://127.0.0.1:9200", {"Authorization": "ApiKey ${SEARCH_KEY}"}, False),
        ("http://search.example", {}, False),
    ],
)
def test_keys_that_anyone_on_the_network_can_read_are_noted(server_url: str, headers: dict[str, str], is_noted: bool) -> None:
    stage = Http(preset="groonga", values={"server": server_url, "table": "Docs"}, headers=headers)
    assert bool(stage.about()) == is_noted
    unset = Http(preset="groonga", values={"server": "${NO_SUCH_URL}", "table": "Docs"}, headers=headers)
    assert unset.about() == (), "recorded replies need no address"


@pytest.mark.parametrize("name", [name for name, preset in presets().items() if "max_size" in preset.settings])
def test_a_depth_above_the_limit_of_the_engine_is_refused(name: str, server: ChatServer) -> None:
    most = presets()[name].settings["max_size"]
    stage = of_preset(name, server)
    with pytest.raises(UsageError, match=f"at most {most}"):
        replace(stage, depth=most + 1)
    assert replace(stage, depth=most + 1, max_size=most + 1).depth == most + 1


@pytest.mark.parametrize("name", CASES)
def test_the_file_of_init_is_read_as_the_preset(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "shop.toml", "--preset", name]) == 0
    stage = read_experiment("shop.toml").systems[name]
    assert isinstance(stage, Http)
    assert stage.preset == name


def test_settings_replace_those_of_the_preset_and_tables_add_to_them(server: ChatServer) -> None:
    found = {"hits": {"hits": [{"_source": {"sku": 7}}]}, "timed_out": True}
    server.answer = lambda request: Sent(body=json.dumps(found).encode())
    changed = of_preset(
        "elasticsearch",
        server,
        ids="hits.hits[]._source.sku",
        body={"query": {"query_string": {"query": "{query}"}}, "size": "{size}"},
        escape="lucene",
        headers={"X-Shop": "de"},
        expect={"timed_out": "any"},
        max_size=10,
    )
    assert reply(changed).docs == ("7",)
    (request,) = server.requests
    assert request.body == {"query": {"query_string": {"query": r"is \"A\+B\" \-ok\?"}}, "size": SIZE}
    assert request.headers["X-Shop"] == "de"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"url": None}, "url is missing"),
        ({"url": "ftp://host/{query}"}, "url must be an http or https address"),
        ({"url": "https://user:hunter2@host/{query}"}, "url must be an http or https address"),
        ({"url": "https://host/?q={query}&api_key=hunter2"}, "url must be an http or https address"),
        ({"url": "https://host/{indx}"}, "values has no indx"),
        ({"values": {"index": "a"}}, "values has index, which the request does not use"),
        ({"body": {"q": "cats"}}, "hold no {query}"),
        ({"body": {"q": "{vector}"}}, "model is missing"),
        ({"model": OneVector()}, "model has no effect"),
        ({"query_prompt": "query: "}, "query_prompt has no effect"),
        ({"method": "GET"}, "method is GET, but there is a body"),
        ({"method": "PUT"}, "method is PUT"),
        ({"ids": None}, "ids is missing"),
        ({"ids": "hits.id"}, "where one is needed"),
        ({"scores": "hits[].a[].b"}, "where one is needed"),
        ({"escape": "sql"}, "escape is sql"),
        ({"headers": {"Authorization": "Bearer hunter2"}}, "in plain text"),
        ({"headers": {"x-api-key": "hunter2"}}, "in plain text"),
        ({"headers": {"X-Auth": "hunter2"}}, "in plain text"),
        ({"headers": {"X-Auth": "Bearer {it}"}, "values": {"it": "hunter2"}}, "headers has the value of X-Auth in plain text"),
        ({"body": {"q": "{query}", "auth": [{"api_key": "hunter2"}]}}, "body has the value of api_key in plain text"),
        (
            {"body": {"q": "{query}", "password": "{word}"}, "values": {"word": "hunter2"}},
            "the value of password in plain",
        ),
        ({"expect": {"hits[].error": "absent"}}, "expect is hits[].error, which has [] although it stands for one value"),
        ({"total": "hits[].total"}, "total is hits[].total, which has []"),
        ({"url": "http://127.0.0.1:99999/{query}"}, "url must be an http or https address"),
        ({"url": "http://127.0.0.1:0/{query}"}, "url must be an http or https address"),
        ({"url": "http://exa mple/{query}"}, "url must be an http or https address"),
        ({"headers": {"X Shop": "de"}}, "not a header"),
        ({"headers": {"X-Shop": 3}}, "not a header"),
        ({"headers": "X-Shop: de"}, "headers is"),
        ({"login_env": "root:hunter2"}, "login_env is not the name"),
        ({"body": {"q": "{query}", "a": None}}, "body has"),
        ({"preset": "elasticsaerch"}, "did you mean elasticsearch"),
        ({"server_time_unit": "min"}, "server_time_unit is min"),
        ({"url": "http://[::1/{query}"}, "url must be an http or https address"),
        (
            {"preset": "solr", "values": {"server": "localhost:8983", "collection": "c"}, "url": None},
            "server in values must be an",
        ),
        ({"ids": "{list}[].id", "values": {"list": "${LIST}"}}, "ids has an environment variable"),
    ],
)
def test_settings_that_do_not_fit_are_refused_without_showing_a_key(
    settings: dict[str, Any], message: str, server: ChatServer
) -> None:
    with pytest.raises(UsageError) as caught:
        plain(server, **settings)
    assert message in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_request_without_a_body_is_a_get(server: ChatServer) -> None:
    stage = plain(server, url=f"{root(server)}/s?q={{query}}&n={{size}}", body=None)
    assert reply(stage, "a&b=c/ü {size}").docs == ("d2", "d1")
    assert server.requests[0].path == "/s?q=a%26b%3Dc%2F%C3%BC%20%7Bsize%7D&n=3"
    assert server.requests[0].body == {}


def test_the_order_of_the_reply_is_the_ranking(server: ChatServer) -> None:
    rows = [{"id": "d1", "score": 0.1}, {"id": "d3", "score": 0.9}, {"id": "d2", "score": 0.9}]
    server.answer = lambda request: Sent(body=json.dumps({"hits": rows}).encode())
    searcher = plain(server, scores="hits[].score").build(context())
    docs, scores = searcher.search(Query("q", "a"), (), QueryTimer())
    searcher.close()
    assert docs == ["d1", "d3", "d2"]
    assert list(scores) == sorted(set(scores), reverse=True)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (hits("d2", "d1"), "fewer documents than the 3 requested"),
        (hits("d2", "d1", total=9), "fewer documents than the 3 requested, though more match"),
        (hits("d2", "d1", total=2), None),
        (hits("d2", "d1", "d3", total=9), None),
    ],
)
def test_fewer_documents_than_requested_are_noted(content: bytes, note: str | None, server: ChatServer) -> None:
    server.answer = lambda request: Sent(body=content)
    stage = plain(server, total="total" if b"total" in content else None)
    assert reply(stage).notes == (() if note is None else (note,))


def test_a_path_that_finds_nothing_is_noted(server: ChatServer) -> None:
    wrong = {"scores": "hits[].scoer", "texts": "hits[].text", "total": "found", "server_time": "header:took", "depth": 2}
    assert set(reply(plain(server, **wrong)).notes) == {
        "the reply has no scores at hits[].scoer",
        "the reply has no texts at hits[].text",
        "the reply has no total at found",
        "the reply has no server_time at header:took",
    }


@pytest.mark.parametrize("text", ["???", " ", ""])
def test_a_query_without_words_is_not_sent(text: str, server: ChatServer) -> None:
    found = reply(plain(server, escape="words"), text)
    assert (found.docs, found.notes) == ((), ("the query has no words: not sent",))
    assert server.requests == []


def test_the_time_of_encoding_is_not_part_of_the_round_trip(server: ChatServer) -> None:
    found = reply(plain(server, body={"v": "{vector}"}, model=OneVector()))
    assert server.requests[0].body == {"v": VECTOR}
    assert found.embed_seconds > 0
    assert found.seconds > 0


def test_a_query_that_the_encoder_truncates_is_noted(server: ChatServer) -> None:
    stage = plain(server, body={"v": "{vector}"}, model=HashedWords(max_words=2), depth=2)
    assert reply(stage, "one two").notes == ()
    assert reply(stage, "one two three").notes == ("the query is longer than the model's limit and was truncated",)


def test_a_header_that_http_cannot_send_is_refused(server: ChatServer) -> None:
    with pytest.raises(UsageError, match="headers has a value of X-Shop that is empty or not ASCII"):
        asked(plain(server, headers={"X-Shop": "{shop}"}, values={"shop": "Käse"}))


def test_a_request_without_a_size_is_noted(server: ChatServer) -> None:
    assert plain(server, body={"q": "{query}"}).about() == (
        "the request has no {size}, so the engine decides how many documents it returns",
    )
    assert plain(server).about() == ()


def test_keys_come_from_the_environment_and_a_missing_one_is_named(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = plain(server, headers={"Authorization": "ApiKey ${SEARCH_KEY}"}, url="${SEARCH_URL}/search")
    with pytest.raises(UsageError, match="SEARCH_URL is not set"):
        asked(stage)
    monkeypatch.setenv("SEARCH_URL", root(server))
    assert reply(stage).docs == ("d2", "d1")
    assert server.requests[0].headers["Authorization"] == f"ApiKey {KEY}"


def test_recorded_replies_belong_to_the_address_and_not_to_the_key(server: ChatServer, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = plain(server, headers={"Authorization": "ApiKey ${SEARCH_KEY}"}, url="${SEARCH_URL}/search")
    monkeypatch.setenv("SEARCH_URL", "http://one.example")
    first = stage.revision()
    monkeypatch.setenv("SEARCH_KEY", "another key")
    assert stage.revision() == first
    monkeypatch.setenv("SEARCH_URL", "http://two.example")
    assert stage.revision() != first


def test_recorded_replies_belong_to_a_name_that_comes_from_the_environment(
    server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = of_preset("elasticsearch", server)
    stage = replace(stage, values={**stage.values, "index": "${SEARCH_INDEX}"})
    found = []
    for name in ("products-1", "products-2", "products-1"):
        monkeypatch.setenv("SEARCH_INDEX", name)
        found.append(stage.revision())
    assert found[0] == found[2] != found[1]


@pytest.mark.parametrize("status", [200, 400, 401, 403, 404, 422, 429, 500, 503])
def test_a_server_that_echoes_keys_leaks_none(
    status: int, server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SEARCH_LOGIN", "root:pass word/7")
    monkeypatch.setenv("URL_KEY", "in url+1")

    def echo(request: Request) -> Sent:
        said = f"{request.path} {dict(request.headers)} root:pass word/7 in url+1"
        content = {"error": {"reason": said}, "message": said}
        return Sent(status, json.dumps({**content, "hits": [{"id": said, "t": said}]} if status == 200 else content).encode())

    server.answer = echo
    (tmp_path / "data" / "qrels").mkdir(parents=True)
    (tmp_path / "data" / "queries.jsonl").write_text('{"_id": "q1", "text": "a"}\n')
    (tmp_path / "data" / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    (tmp_path / "shop.toml").write_text(
        f'dataset = "data"\n[systems.prod]\nstage = "http"\nurl = "{root(server)}/s?q={{query}}&k=${{URL_KEY}}"\nretries = 0\n'
        'headers = {X-Api-Key = "${SEARCH_KEY}"}\nlogin_env = "SEARCH_LOGIN"\nids = "hits[].id"\ntexts = "hits[].t"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    assert main(["run", "shop.toml", "-o", "out", "-v"]) == (0 if status == 200 else 1)
    assert server.requests
    shown = "".join(capsys.readouterr())
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"result.json", "experiment.toml", "prod.jsonl"} <= {path.name for path in written}
    for secret in (KEY, "pass word/7", "pass%20word", "in url+1", "in%20url", "cm9vdDpwYXNzIHdvcmQvNw=="):
        assert secret not in shown
        assert [path for path, content in written.items() if secret.encode() in content] == []


RIGHT = hits("d2", "d1").decode()
_OF_CHATS = [*FAULTS_BY_KIND["log-probabilities"], *(name for name in FAULTS if name.startswith("role "))]
_SLOW_BOMBS = ("deflate bomb", "Zstandard bomb")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in _SLOW_BOMBS else []) for name in FAULTS if name not in _OF_CHATS],
)
def test_no_fault_of_a_server_gives_a_wrong_ranking_or_goes_unreported(name: str, server: ChatServer) -> None:
    fault = FAULTS[name]

    def answer(request: Request) -> Sent:
        sent = fault.answer(request, RIGHT)
        if not sent.is_completion:
            return sent
        content = json.loads(sent.body)["choices"][0]["message"]["content"]
        return replace(sent, body=json.dumps(None).encode() if content is None else content.encode())

    server.answer = answer
    found = asked(plain(server, headers={"Authorization": "Bearer ${SEARCH_KEY}"}, timeout=fault.timeout, retries=1))
    assert server.requests
    if isinstance(found, EngineReply):
        assert found.docs == ("d2", "d1")
        assert fault.ending in ("healed", "accepted")
        assert found.requests == (2 if fault.ending == "healed" else 1)
    else:
        assert fault.ending != "healed"
        assert found.what.startswith(root(server) + ": ")
        assert len(found.what) > len(root(server)) + 10
        assert KEY not in found.what
        waits_too_long = name in ("429 until 2037", "429 for a number of 10,000 digits")
        assert found.requests == (2 if found.retryable and not waits_too_long else 1)


def test_a_redirect_of_a_preset_names_the_value_with_the_address(server: ChatServer) -> None:
    server.answer = lambda request: Sent(302, b"")
    stage = Http(preset="solr", values={"server": root(server), "collection": "c"}, retries=0)
    assert failure(stage).what.endswith("the server redirects (status 302); set server in values to the final address")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (206, "status 206, which is not a complete reply"),
        (302, "the server redirects (status 302); set url to the final address"),
        (401, "the server rejected the login (status 401)"),
        (404, "status 404: no such index [a]"),
        (429, "status 429: no such index [a]"),
        (503, "status 503: no such index [a]"),
    ],
)
def test_each_status_is_a_failure_that_says_what_to_do(status: int, message: str, server: ChatServer) -> None:
    server.answer = lambda request: Sent(status, b'{"error": {"reason": "no such index [a]"}}')
    found = failure(plain(server))
    assert found.what.startswith(f"{root(server)}: {message}")
    assert found.retryable == (status in (206, 429, 503))


def test_a_header_of_the_user_replaces_one_of_the_client_in_any_case(server: ChatServer) -> None:
    reply(plain(server, headers={"content-type": "application/x-search+json", "user-agent": "shop"}))
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert (sent["content-type"], sent["user-agent"]) == ("application/x-search+json", "shop")


def test_the_pause_that_a_server_demands_is_kept(server: ChatServer) -> None:
    server.answer = lambda request: Sent(429, b"{}", {"Retry-After": "7"})
    found = failure(plain(server))
    assert (found.retryable, found.wait) == (True, 7.0)


def test_a_table_of_an_experiment_file_is_the_stage(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text(
        '[systems.prod]\nstage = "http"\nurl = "https://h/{index}?n={size}"\nvalues = {index = "a b"}\nids = "r[].id"\n'
        'body = {q = "{query}", deep = [{a = 1}]}\nheaders = {Authorization = "Bearer ${KEY}"}\nrate = 5\n'
    )
    stage = read_experiment(tmp_path / "shop.toml").systems["prod"]
    settings: dict[str, Any] = {
        "values": {"index": "a b"},
        "ids": "r[].id",
        "headers": {"Authorization": "Bearer ${KEY}"},
        "rate": 5.0,
    }
    same = Http(url="https://h/{index}?n={size}", body={"q": "{query}", "deep": [{"a": 1}]}, **settings)
    assert stage == same
    assert hash(stage) == hash(same)


def test_an_experiment_is_written_without_the_values_of_variables(server: ChatServer, tmp_path: Path) -> None:
    stage = plain(server, headers={"Authorization": "Bearer ${SEARCH_KEY}"})
    text = experiment_toml(Experiment({"prod": stage}))
    assert KEY not in text
    (tmp_path / "again.toml").write_text(text)
    assert read_experiment(tmp_path / "again.toml").systems["prod"] == stage


def test_an_error_of_a_setting_has_the_line_of_its_key(tmp_path: Path) -> None:
    (tmp_path / "shop.toml").write_text('[systems.prod]\nstage = "http"\nids = "r[].id"\nurl = "ftp://h/{query}"\n')
    with pytest.raises(rp.errors.InputError, match=r"shop\.toml:4: url must be"):
        read_experiment(tmp_path / "shop.toml")
