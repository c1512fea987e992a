"""Downloads from the hub, with a real server on loopback that also truncates, hangs and redirects."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from rankproof.errors import ExternalError, UsageError
from rankproof.models._bert import Bert, CrossEncoder
from rankproof.models._download.cached_folder import folder_facts
from rankproof.models._download.hub import HubClient, download_model, hub_folder
from support.hub_server import COMMIT, TOKEN, Hub
from support.tiny_bert import write_bert


def test_a_hub_name_is_downloaded_once_and_gives_the_same_as_its_folder(hub: Hub, tmp_path: Path) -> None:
    model = Bert("acme/tiny")
    assert not model.is_ready()
    rows = model.load().encode(["a pan"])
    asked = len(hub.requests)
    assert (Bert(str(tmp_path / "served")).load().encode(["a pan"]) == rows).all()
    assert model.load().facts()["pooling"] == "cls"
    assert model.is_ready()
    assert model.revision() == Bert(str(tmp_path / "served")).revision()
    assert len(hub.requests) == asked
    assert CrossEncoder("acme/tiny", max_tokens=32).load().scores("a pan", ["steel"]).shape == (1,)


def test_all_files_come_from_the_commit_of_the_first_response(hub: Hub) -> None:
    folder = download_model("acme/tiny")
    assert folder_facts(folder) == {"kind": "weights", "model": "acme/tiny", "revision": COMMIT}
    first, *others = [path for path, _ in hub.downloads]
    assert first == "/acme/tiny/resolve/main/config.json"
    assert all(path.startswith(f"/acme/tiny/resolve/{COMMIT}/") for path in others)
    assert (folder / "1_Pooling" / "config.json").is_file()


def test_progress_is_reported_in_bytes(hub: Hub, tmp_path: Path) -> None:
    heard: list[tuple[int, int | None]] = []
    download_model("acme/tiny", progress=lambda done, total: heard.append((done, total)))
    size = (tmp_path / "served" / "model.safetensors").stat().st_size
    assert heard[-1] == (size, size)


FAULTS = {
    ("config.json", "404"): r"acme/tiny on the hub has no config\.json; check the name",
    ("config.json", "401"): r"the hub denies access \(401\); check the name, or set HF_TOKEN",
    ("config.json", "500"): r"download failed \(status 500\); check the network",
    ("config.json", "hang"): r"download failed \(no response within 0\.3 s\)",
    ("tokenizer.json", "404"): r"acme/tiny on the hub has no tokenizer\.json",
    ("model.safetensors", "404"): r"no model\.safetensors: only safetensors are read, because \.bin files are pickles",
    ("model.safetensors", "403"): r"the hub denies access \(403\)",
    ("model.safetensors", "cut"): r"model\.safetensors: download failed \((after )?\d+ (of \d+ )?bytes",
    ("model.safetensors", "stall"): r"model\.safetensors: download failed \((after )?\d+ .*bytes.*timed out",
    ("model.safetensors", "wrong sum"): r"model\.safetensors: the checksum does not match the checksum on the hub; try again",
    ("1_Pooling/config.json", "503"): r"download failed \(status 503\)",
}
PATIENCE: dict[str, dict[str, Any]] = {"hang": {"first_response_timeout": 0.3, "timeout": 9.0}, "stall": {"timeout": 1.0}}


@pytest.mark.parametrize(("file", "fault"), FAULTS)
def test_a_misbehaving_hub_is_an_error_and_nothing_is_cached(file: str, fault: str, hub: Hub) -> None:
    hub.faults[file] = fault
    client = HubClient(hub.url, **PATIENCE.get(fault, {}))
    with pytest.raises(ExternalError, match=FAULTS[file, fault]):
        download_model("acme/tiny", client=client)
    assert list(hub_folder("acme/tiny").parent.iterdir()) == []
    hub.faults.clear()
    assert download_model("acme/tiny").is_dir()


def test_an_unsupported_model_is_refused_before_its_weights_are_downloaded(hub: Hub, tmp_path: Path) -> None:
    write_bert(tmp_path / "served", model_type="llama")
    with pytest.raises(ExternalError, match="acme/tiny on the hub: model_type llama is not of the BERT family"):
        download_model("acme/tiny")
    assert len(hub.requests) == 1


def test_the_token_is_sent_to_the_hub_only_and_never_written(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.faults["model.safetensors"] = "redirect"
    with Hub(tmp_path / "served") as other:
        hub.elsewhere = other.url
        folder = download_model("acme/tiny")
        assert other.downloads == [("/model.safetensors", None)]
    assert {token for _, token in hub.downloads} == {f"Bearer {TOKEN}"}
    assert TOKEN not in repr(HubClient.of_environment())
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) >= 2
    assert not [path for path in files if TOKEN.encode() in path.read_bytes()]


def test_the_token_follows_redirects_within_the_hub(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.faults["tokenizer.json"] = f"redirect {hub.url}/moved"
    (hub.folder / "moved").mkdir()
    shutil.copy(hub.folder / "tokenizer.json", hub.folder / "moved")
    download_model("acme/tiny")
    assert ("/moved/tokenizer.json", f"Bearer {TOKEN}") in hub.downloads


def test_the_token_is_not_sent_to_an_address_without_https() -> None:
    asked: list[str] = []
    with socket.create_server(("127.0.0.2", 0)) as server:
        server.settimeout(5)
        client = HubClient(f"http://127.0.0.2:{server.getsockname()[1]}", TOKEN, first_response_timeout=0.5, timeout=0.5)
        with pytest.raises(ExternalError, match="download failed"):
            client.request("a/b/resolve/main/config.json")
        connection, _ = server.accept()
        asked.append(connection.recv(4096).decode())
        connection.close()
    assert asked[0].startswith("GET /a/b/resolve/main/config.json")
    assert TOKEN not in asked[0]


def test_a_missing_server_is_reported_at_once(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{port}")
    with pytest.raises(ExternalError, match="check the network, or copy the model's folder here and give its path"):
        download_model("acme/tiny")


@pytest.mark.parametrize("endpoint", ["ftp://x", "huggingface.co", "https://", "https://me:secret@hub.example"])
def test_an_endpoint_that_is_not_a_plain_address_is_refused_and_not_shown(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    with pytest.raises(UsageError, match="HF_ENDPOINT is not a plain address") as refusal:
        HubClient.of_environment()
    assert "secret" not in str(refusal.value)


def test_a_redirect_away_from_https_is_refused() -> None:
    from email.message import Message
    from io import BytesIO
    from urllib.request import Request

    from rankproof.models._download.hub import _redirects

    with pytest.raises(ValueError, match="without HTTPS"):
        _redirects({}).redirect_request(Request("https://a.example/x"), BytesIO(), 302, "", Message(), "http://a.example/x")  # type: ignore[arg-type]
