"""Keys of the servers of stores: sent in their header only, and never shown or written."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from rankproof._data.identity import identity, identity_key
from rankproof.errors import ExternalError, UsageError
from rankproof.stores import Elasticsearch, Milvus, OpenSearch, Qdrant
from support.key_spellings import KEY, KEY_SPELLINGS
from support.lucene_servers import ElasticsearchServer
from support.scripted_server import Sent
from support.server_stores import AXES, Kind
from support.vector_servers import VectorServer


@pytest.fixture
def key(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The setting that names the variable with the key."""
    login = kind.store is OpenSearch
    monkeypatch.setenv("CANARY_KEY", f"user:{KEY}" if login else KEY)
    return {"login_env" if login else "api_key_env": "CANARY_KEY"}


def _header(kind: Kind) -> dict[str, str]:
    login = "Basic " + b64encode(f"user:{KEY}".encode()).decode()
    return {
        Qdrant: {"api-key": KEY},
        Elasticsearch: {"authorization": f"ApiKey {KEY}"},
        OpenSearch: {"authorization": login},
    }[kind.store]  # type: ignore[index]


def test_the_key_is_sent_in_the_header_of_the_server(kind: Kind, server: VectorServer, key: dict[str, str]) -> None:
    server.authorization = _header(kind)
    with kind.store(url=server.url, **key).open("locked", 3, "") as held:
        held.add(["a"], AXES[:1])
        shown = f"{held.facts()} {held.search(AXES[:1], 1)} {held!r}"
    assert KEY not in shown + repr(kind.store(url=server.url, **key))
    assert KEY not in json.dumps(identity(kind.store(url=server.url, **key)))


def test_a_login_by_name_and_password_is_sent_to_elasticsearch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANARY_KEY", f"user:{KEY}")
    with ElasticsearchServer() as server:
        server.authorization = {"authorization": "Basic " + b64encode(f"user:{KEY}".encode()).decode()}
        with Elasticsearch(server.url, login_env="CANARY_KEY").open("x", 3, ""):
            assert server.collections() == ["rankproof_x"]
    monkeypatch.setenv("CANARY_KEY", KEY)
    with pytest.raises(UsageError, match="has no colon"):
        Elasticsearch(server.url, login_env="CANARY_KEY").open("x", 3, "")
    with pytest.raises(UsageError, match="both api_key_env and login_env"):
        Elasticsearch(server.url, login_env="CANARY_KEY", api_key_env="CANARY_KEY")


def test_a_short_key_that_is_an_ordinary_word_spoils_no_reply(
    kind: Kind, server: VectorServer, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CANARY_KEY", "user:made" if kind.store is OpenSearch else "made")
    with kind.store(url=server.url, **key).open("locked", 3, "") as held:
        held.add(["made"], AXES[:1])
        assert held.search(AXES[:1], 1)[0][0] == ["made"]
    assert server.collections() == []


def test_a_refused_key_is_an_error_without_the_key(kind: Kind, server: VectorServer, key: dict[str, str]) -> None:
    server.fault = lambda request, answered: Sent(401, {"status": {"error": f"bad {KEY}"}, "error": f"bad {KEY}"})
    with pytest.raises(ExternalError, match=r"rejected the key \(status 401\)") as raised:
        kind.store(url=server.url, **key).open("locked", 3, "")
    assert KEY not in str(raised.value)
    with pytest.raises(ExternalError, match=r"without a key .* name the environment variable with the key in the settings"):
        kind.store(url=server.url).open("locked", 3, "")


@pytest.mark.parametrize("spelling", list(KEY_SPELLINGS))
def test_a_key_that_the_server_echoes_is_masked(kind: Kind, server: VectorServer, key: dict[str, str], spelling: str) -> None:
    echoed = KEY_SPELLINGS[spelling](KEY)
    server.fault = lambda request, answered: Sent(400, {"status": {"error": echoed}, "error": {"reason": echoed}})
    with pytest.raises(ExternalError, match="status 400") as raised:
        kind.store(url=server.url, **key).open("locked", 3, "")
    assert KEY not in str(raised.value)
    assert echoed not in str(raised.value)


def test_a_key_is_not_sent_to_another_machine_over_plain_http(kind: Kind, key: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="could be read on the network"):
        kind.store(url="http://search.example:9200", **key)
    assert kind.store(url="https://search.example:9200", **key).exact
    assert kind.store(url="http://search.example:9200").exact


def test_a_key_in_place_of_its_variable_is_refused_and_not_shown(kind: Kind, key: dict[str, str]) -> None:
    setting = next(iter(key))
    with pytest.raises(UsageError, match=f"{setting} is not the name of an environment variable") as raised:
        kind.store(url="https://search.example", **{setting: KEY})
    assert KEY not in str(raised.value)


def test_a_variable_that_is_not_set_is_an_error_for_another_machine(
    kind: Kind, key: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANARY_KEY")
    with pytest.raises(UsageError, match=r"CANARY_KEY \((api_key|login)_env\) is not set"):
        kind.store(url="https://search.example", **key).open("x", 3, "")
    monkeypatch.setenv("CANARY_KEY", "two words")
    with pytest.raises(UsageError, match="characters that a key cannot have"):
        kind.store(url="https://search.example", **key).open("x", 3, "")


@pytest.mark.parametrize("url", ["", "localhost:9200", "ftp://h", "http://u:p@h", "http://h?key=1", "http://h:99999", 7])
def test_an_address_that_could_hold_a_secret_is_refused_and_not_shown(kind: Kind, url: str) -> None:
    if kind.store is Qdrant and not url:
        pytest.skip("without an address it is embedded")
    with pytest.raises(UsageError, match="url is not a plain http or https address") as raised:
        kind.store(url=url)
    assert "u:p" not in str(raised.value)


def test_another_address_is_another_key_of_the_cache_and_a_timeout_is_not(kind: Kind) -> None:
    one = identity_key(kind.store(url="http://127.0.0.1:1"))
    assert one != identity_key(kind.store(url="http://127.0.0.1:2"))
    assert one == identity_key(kind.store(url="http://127.0.0.1:1/", timeout=7, batch=3))
    assert "127.0.0.1" not in json.dumps(identity(kind.store(url="http://127.0.0.1:1")))


@pytest.mark.parametrize(
    ("store", "settings"), [(Qdrant, {"api_key_env": "K"}), (Milvus, {"api_key_env": "K"}), (Milvus, {"database": "K"})]
)
def test_settings_of_a_server_without_its_address_are_an_error(store: type[Qdrant | Milvus], settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(
        UsageError, match=f"^{name} is given without a url, so it would not be used; set url, or leave out {name}$"
    ):
        store(**settings)
