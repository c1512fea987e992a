"""Models by name."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from rankproof.errors import ExternalError, UsageError
from rankproof.models._bert import Bert, CrossEncoder, MiniLM
from rankproof.models._registry import ENCODERS, cross_encoder_by_name, encoder_by_name, is_ready
from rankproof.models._torch import SentenceTransformer, TorchCrossEncoder
from rankproof.models._trained.checkpoint import BpeEncoder, TrainedEncoder
from rankproof.models._transformers import ByT5, Canine
from rankproof.models._wordllama import WordLlama
from support.tiny_bert import write_bert


@dataclass(frozen=True)
class Outside:
    """A model of another package."""

    size: int = 3


@pytest.mark.parametrize(
    ("name", "settings", "value"),
    [
        ("wordllama", {}, WordLlama()),
        ("wordllama", {"dimensions": 64}, WordLlama(64)),
        ("minilm", {}, MiniLM("auto", 256)),
        ("minilm", {"precision": "fp32"}, MiniLM(precision="fp32")),
        ("byt5", {}, ByT5("google/byt5-small", 1024)),
        ("byt5", {"source": "./folder", "max_tokens": 64}, ByT5("./folder", 64)),
        ("canine", {}, Canine("google/canine-s", 2048)),
        ("trained", {"source": "./folder"}, TrainedEncoder("./folder")),
        ("bpe", {"source": "./folder"}, BpeEncoder("./folder")),
        ("byt5:./folder", {"max_tokens": 64}, ByT5("./folder", 64)),
        ("canine:acme/canine", {}, Canine("acme/canine", 2048)),
        ("trained:./folder", {}, TrainedEncoder("./folder")),
        ("bpe:./folder", {"device": "cuda"}, BpeEncoder("./folder", "cuda")),
        ("acme/tiny", {"pooling": "cls"}, Bert("acme/tiny", pooling="cls")),
        ("./folder", {"max_tokens": 64}, Bert("./folder", max_tokens=64)),
        ("torch:acme/any", {"max_tokens": 9}, SentenceTransformer("acme/any", max_tokens=9)),
    ],
)
def test_an_encoder_is_found_by_name(name: str, settings: dict[str, Any], value: object) -> None:
    assert encoder_by_name(name, **settings) == value
    assert hash(encoder_by_name(name, **settings)) == hash(value)


def test_a_cross_encoder_is_found_by_name() -> None:
    assert cross_encoder_by_name("acme/cross", precision="int8") == CrossEncoder("acme/cross", "int8")
    assert cross_encoder_by_name("torch:acme/cross") == TorchCrossEncoder("acme/cross")


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        ("minilm", {"precison": "fp32"}, "the model minilm has no setting precison; choose among precision, max_tokens"),
        ("acme/tiny", {"source": "x"}, "has no setting source; choose among precision, max_tokens, pooling"),
        (
            "minlm",
            {},
            "no model is called minlm; known: wordllama, .*, openai-embeddings, ollama, tei, cohere, voyage, gemini, NAME",
        ),
        ("", {}, "the model's name is empty; known: wordllama"),
        (" ", {}, "the model's name is empty"),
        ("torch:", {}, "is not a model"),
        ("minilm", {"max_tokens": "many"}, "max_tokens is many; choose a whole number of at least 4"),
        ("byt5", {"source": ""}, "is not a model"),
        ("canine", {"max_tokens": 3}, "max_tokens is 3; choose a whole number of at least 4"),
        ("byt5", {"pooling": "cls"}, "the model byt5 has no setting pooling; choose among source, max_tokens"),
        ("trained", {}, "the model trained lacks its source; write trained:FOLDER"),
        ("bpe:", {}, "is not a checkpoint"),
        ("byt5:", {}, "is not a model"),
        ("trained:./folder", {"source": "./other"}, "has no setting source"),
        (3, {}, "3 is not the name of a model"),
    ],
)
def test_an_unknown_name_or_setting_is_refused(name: Any, settings: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        encoder_by_name(name, **settings)


def test_outside_packages_offer_models_by_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", f"{__name__}:Outside", "rankproof.models")
    monkeypatch.setattr("rankproof._registry._installed", lambda group, paths: EntryPoints([entry]).select(group=group))
    found: object = encoder_by_name("mine", size=5)
    assert found == Outside(5)
    with pytest.raises(UsageError, match="no model is called mine"):
        cross_encoder_by_name("mine")


def test_a_broken_package_affects_only_its_own_model(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = EntryPoint("broken", "no_such_package_anywhere:Model", "rankproof.models")
    mine = EntryPoint("mine", f"{__name__}:Outside", "rankproof.models")
    monkeypatch.setattr("rankproof._registry._installed", lambda group, paths: EntryPoints([broken, mine]).select(group=group))
    found: object = encoder_by_name("mine")
    assert (encoder_by_name("minilm"), found) == (MiniLM(), Outside())
    assert (ENCODERS.name_of(Outside), ENCODERS.name_of(MiniLM)) == ("mine", "minilm")
    assert ENCODERS.name_of(Bert) is None
    with pytest.raises(ExternalError, match="the package no_such_package_anywhere offers broken, which cannot be loaded"):
        encoder_by_name("broken")
    with pytest.raises(
        UsageError, match="torch, openai-embeddings, ollama, tei, cohere, voyage, gemini, broken, mine, NAME:SOURCE"
    ):
        encoder_by_name("nobody")


def test_a_ready_model_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    write_bert(tmp_path / "m", labels=1)
    assert not is_ready(WordLlama())
    assert is_ready(Bert(str(tmp_path / "m")))
    assert is_ready(CrossEncoder(str(tmp_path / "m")))
    assert not is_ready(MiniLM())
    assert not is_ready(Bert("acme/tiny"))
    assert not is_ready(SentenceTransformer("acme/tiny"))
    assert is_ready(Outside())  # type: ignore[arg-type]
