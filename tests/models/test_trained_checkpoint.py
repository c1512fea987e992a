"""Checkpoints of trained encoders: written atomically, read or refused, and loaded as models."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load, save

from rankproof._data.identity import identity
from rankproof._io import files
from rankproof.errors import ExternalError, InputError, MissingExtraError, RankproofError, UsageError
from rankproof.models import BpeEncoder, TrainedEncoder
from rankproof.models._trained.checkpoint import Prompts, is_complete_checkpoint, open_checkpoint, save_checkpoint
from rankproof.models._trained.encoder import batches_by_length, pad_ids
from rankproof.models._trained.shape import ARCHITECTURES, Architecture, NetShape, parameter_count
from support.missing_libraries import block
from support.paths import TESTS
from support.trained_encoders import ENGLISH, HOSTILE, KINDS, shape_of, tokenizer_of

pytestmark = pytest.mark.torch

CARD = {"trained": True, "steps": 12, "seed": 3, "data": {"name": "ä\u2028\ud800", "queries": ["q1"]}}
TEXTS = [*ENGLISH, *HOSTILE.values(), "y" * 513]


@pytest.fixture(autouse=True)
def _torch_is_installed() -> None:
    pytest.importorskip("torch", reason="the extra torch brings it")


def initialise_network(shape: NetShape, seed: int) -> Any:
    """The network; imported late, because to import torch takes seconds."""
    from rankproof.models._trained import torch_net

    return torch_net.initialise_network(shape, seed)


def saved(
    folder: Path,
    kind: str = "bytes",
    architecture: Architecture = "transformer",
    seed: int = 3,
    metadata: Mapping[str, Any] = CARD,
) -> Path:
    shape = shape_of(kind, architecture)
    save_checkpoint(folder, initialise_network(shape, seed), shape, tokenizer_of(kind), metadata)
    return folder


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_loaded_checkpoint_gives_the_same_vectors(kind: str, architecture: Architecture, tmp_path: Path) -> None:
    import torch

    opened = open_checkpoint(saved(tmp_path / "one", kind, architecture))
    assert (opened.shape, opened.tokenizer, opened.metadata) == (shape_of(kind, architecture), tokenizer_of(kind), CARD)
    rows = TrainedEncoder(str(tmp_path / "one")).load().encode(TEXTS)
    net = initialise_network(opened.shape, 3).eval()
    for text, row in zip(TEXTS, rows, strict=True):
        with torch.no_grad():
            wanted = net(torch.from_numpy(pad_ids(opened.tokenizer.ids([opened.shape.read(text)]))))[0].numpy()
        np.testing.assert_allclose(row, wanted, atol=1e-5)


def test_the_same_list_gives_the_same_bits_and_rows_of_length_one(tmp_path: Path) -> None:
    encoder = TrainedEncoder(str(saved(tmp_path / "one", "characters"))).load()
    rows, again = encoder.encode(TEXTS), encoder.encode(TEXTS)
    assert rows.tobytes() == again.tobytes()
    assert rows.dtype == np.float32
    assert not rows.flags.writeable
    lengths = np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(lengths, [float(bool(text)) for text in TEXTS], atol=1e-5)
    assert encoder.encode([]).shape == (0, 32)


def test_batches_have_every_text_that_has_tokens_once_and_stay_within_the_bound() -> None:
    lengths = [0, 5, 20_000, 3, 0, *range(1, 600)]
    found = list(batches_by_length(lengths))
    assert sorted(place for batch in found for place in batch) == [place for place, length in enumerate(lengths) if length]
    assert all(len(batch) == 1 or len(batch) * max(lengths[place] for place in batch) <= 16_384 for batch in found)


def test_the_facts_describe_the_model(tmp_path: Path) -> None:
    model = BpeEncoder(str(saved(tmp_path / "one", "bpe-300")))
    facts = model.load().facts()
    assert {name: facts[name] for name in ("dimensions", "max_characters", "precision", "tokenizer", "training")} == {
        "dimensions": 32,
        "max_characters": 512,
        "precision": "fp32",
        "tokenizer": "bpe-300",
        "training": "contrastive, 12 steps",
    }
    assert facts["parameters"] == parameter_count(shape_of("bpe-300"))
    assert model.revision() == f"{facts['revision']}, {facts['library']}, cpu fp32"
    assert "torch " in facts["library"]
    assert model.load().cut(["y" * 512, "y" * 513, ""]) == 1


def test_untrained_weights_are_reported(tmp_path: Path) -> None:
    assert TrainedEncoder(str(saved(tmp_path / "one", metadata={"trained": False}))).load().facts()["training"] == "none"


def test_the_weights_and_not_their_place_are_the_identity(tmp_path: Path) -> None:
    one, copy = (TrainedEncoder(str(saved(tmp_path / name))) for name in ("one", "copy"))
    other = TrainedEncoder(str(saved(tmp_path / "other", seed=4)))
    assert identity(one) == identity(copy) != identity(other)
    assert str(tmp_path) not in json.dumps(identity(one))


def test_a_bpe_model_refuses_another_tokenizers_folder(tmp_path: Path) -> None:
    model = BpeEncoder(str(saved(tmp_path / "one", "wordpiece-300")))
    for use in (model.load, model.revision):
        with pytest.raises(InputError, match="its tokenizer is wordpiece-300; write trained:FOLDER"):
            use()


def test_a_model_is_ready_if_its_folder_exists(tmp_path: Path) -> None:
    assert TrainedEncoder(str(saved(tmp_path / "one"))).is_ready()
    assert not TrainedEncoder(str(tmp_path / "none")).is_ready()
    for source in ("", "a\0b", 7):
        with pytest.raises(UsageError, match="is not a checkpoint"):
            TrainedEncoder(source)  # type: ignore[arg-type]


def test_without_torch_a_model_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TrainedEncoder(str(saved(tmp_path / "one")))
    block(monkeypatch, "torch")
    with pytest.raises(MissingExtraError, match=r"rankproof\[torch\]"):
        model.load()


def test_an_existing_checkpoint_is_never_replaced(tmp_path: Path) -> None:
    before = TrainedEncoder(str(saved(tmp_path / "one", "bpe-300"))).revision()
    with pytest.raises(UsageError, match="already exists; specify another folder, or remove this one"):
        saved(tmp_path / "one", "bytes")
    assert TrainedEncoder(str(tmp_path / "one")).revision() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "checkpoint.json",
        "model.safetensors",
        "tokenizer.json",
    ]


@pytest.mark.parametrize("failing", range(1, 7))
def test_a_disk_that_fails_at_any_step_leaves_nothing(failing: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three files are synced and renamed."""
    steps = 0

    def broken(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == failing:
                raise OSError(28, "No space left on device")
            return real(*arguments)

        return step

    monkeypatch.setattr(os, "fsync", broken(os.fsync))
    monkeypatch.setattr(os, "replace", broken(os.replace))
    monkeypatch.setattr(files, "sync_folder", lambda folder: None)
    with pytest.raises(ExternalError, match="No space left on device"):
        saved(tmp_path / "one", "bpe-300")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("after", range(1, 4))
def test_a_kill_at_any_file_leaves_no_checkpoint_and_the_next_write_is_complete(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends as by SIGKILL: nothing is tidied up; only with the last file, the card, is there a checkpoint."""
    saved(tmp_path / "whole", "bpe-300")
    code = KILLED.format(folder=str(tmp_path / "one"), after=after)
    command = [sys.executable, "-c", code, str(TESTS)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 9
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert "checkpoint.json" not in left
    assert any(name.endswith(".tmp") for name in left)
    with pytest.raises(InputError, match=r"no checkpoint\.json"):
        open_checkpoint(tmp_path / "one")
    assert (
        TrainedEncoder(str(saved(tmp_path / "one", "bpe-300"))).revision() == TrainedEncoder(str(tmp_path / "whole")).revision()
    )
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == [
        "checkpoint.json",
        "model.safetensors",
        "tokenizer.json",
    ]


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from models.test_trained_checkpoint import saved
real, seen = os.replace, 0
def replace(*arguments):
    global seen
    seen += 1
    if seen == {after}:
        os._exit(9)
    real(*arguments)
os.replace = replace
saved(Path({folder!r}), "bpe-300")
"""


def test_an_interrupt_after_the_metadata_file_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(folder: str) -> None:
        if Path(folder) == tmp_path:
            raise KeyboardInterrupt

    monkeypatch.setattr(files, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        saved(tmp_path / "one")
    assert open_checkpoint(tmp_path / "one").metadata == CARD


def test_a_folder_with_other_things_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="contains other files; specify another folder"):
        saved(tmp_path)
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RankproofError):
            saved(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "thesis.tex"]


def test_weights_that_are_not_finite_and_metadata_that_is_not_json_are_not_written(tmp_path: Path) -> None:
    shape = shape_of("bytes")
    net = initialise_network(shape, 0)
    for card in ({"losses": [[1, math.nan]]}, {"path": tmp_path}):
        with pytest.raises(UsageError, match="the metadata cannot be written as JSON"):
            save_checkpoint(tmp_path / "one", net, shape, tokenizer_of("bytes"), card)
    net.norm.weight.data[0] = math.nan
    with pytest.raises(ExternalError, match="weights are not finite, so nothing was written"):
        save_checkpoint(tmp_path / "one", net, shape, tokenizer_of("bytes"), CARD)
    assert not list(tmp_path.iterdir())


def _told(folder: Path, **parts: Any) -> None:
    told = json.loads((folder / "checkpoint.json").read_text())
    (folder / "checkpoint.json").write_text(json.dumps({**told, **parts}))


def _shape(folder: Path, **parts: Any) -> None:
    told = json.loads((folder / "checkpoint.json").read_text())
    _told(folder, shape={**told["shape"], **parts})


def _weights(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    state = {name: values.copy() for name, values in load((folder / "model.safetensors").read_bytes()).items()}
    change(state)
    (folder / "model.safetensors").write_bytes(save(state))


def _cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


TRAIN_AGAIN = "train it again with: rankproof tokenizers train"
WRONG_FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no metadata file": (
        lambda f: (f / "checkpoint.json").unlink(),
        ": no checkpoint.json; specify a folder written by rankproof tokenizers train",
    ),
    "no weights": (
        lambda f: (f / "model.safetensors").unlink(),
        ": no model.safetensors; specify a folder written by rankproof tokenizers train",
    ),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), ": tokenizer.json: file not found"),
    "truncated metadata": (lambda f: _cut(f / "checkpoint.json", 0.5), "/checkpoint.json: not JSON"),
    "empty metadata": (lambda f: _cut(f / "checkpoint.json", 0), "/checkpoint.json: not JSON"),
    "deep metadata": (lambda f: (f / "checkpoint.json").write_text("[" * 100_000), "/checkpoint.json: not JSON"),
    "list as metadata": (lambda f: (f / "checkpoint.json").write_text("[]"), "/checkpoint.json: not a JSON object"),
    "truncated tokenizer": (lambda f: _cut(f / "tokenizer.json", 0.9), ": tokenizer.json: not a tokenizer"),
    "truncated weights": (lambda f: _cut(f / "model.safetensors", 0.9), "/model.safetensors: not a complete safetensors file"),
    "empty weights": (lambda f: _cut(f / "model.safetensors", 0), "/model.safetensors: not a complete safetensors file"),
    "other tokenizer": (lambda f: _shape(f, kind="wordpiece-300"), "wordpiece-300 is expected"),
    "large sizes": (
        lambda f: _shape(f, width=8192, hidden=65_536, depth=64),
        "but checkpoint.json gives 300 x 8192; use weights and settings of the same model",
    ),
    "other hidden": (lambda f: _shape(f, hidden=16), "but checkpoint.json gives 16 x 32; use weights and settings"),
    "deeper": (lambda f: _shape(f, depth=3), "/model.safetensors: no tensor layers.2.attend.weight; use complete weights"),
    "NaN": (lambda f: _weights(f, lambda state: state["norm.bias"].fill(math.nan)), "norm.bias has NaN or infinite values"),
    "infinite": (lambda f: _weights(f, lambda state: state["norm.bias"].fill(math.inf)), "norm.bias has NaN or infinite"),
    "one tensor less": (lambda f: _weights(f, lambda state: state.pop("norm.bias")), "no tensor norm.bias; use complete weights"),
    "integers": (
        lambda f: _weights(f, lambda state: state.update({"norm.bias": np.zeros(32, dtype=np.int64)})),
        "norm.bias has type I64; convert it to F32 or F16 or BF16",
    ),
}


def test_a_tokenizer_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, read = saved(tmp_path / "one", "bpe-300"), Path.read_bytes

    def read_others(path: Path) -> bytes:
        if path.name == "tokenizer.json":
            raise PermissionError(13, "Permission denied", str(path))
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", read_others)
    with pytest.raises(ExternalError, match=r"one/tokenizer\.json: cannot be read \(Permission denied\); check the disk"):
        open_checkpoint(folder)


def test_invisible_characters_of_a_folder_are_escaped_in_the_error(tmp_path: Path) -> None:
    folder = saved(tmp_path / "one\u202e", "bpe-300")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ExternalError, match=r"one\\u202e: tokenizer\.json: file not found"):
        open_checkpoint(folder)


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_missing_or_damaged_file_is_named_with_the_reason_and_the_fix(name: str, tmp_path: Path) -> None:
    folder, (damage, message) = saved(tmp_path / "one", "bpe-300"), WRONG_FILES[name]
    damage(folder)
    with pytest.raises((InputError, ExternalError)) as refused:
        TrainedEncoder(str(folder)).load()
    assert str(refused.value).startswith(f"{folder}{message if message[0] in ':/' else ''}")
    assert message in str(refused.value)
    assert "; " in str(refused.value)


WRONG_METADATA: dict[str, tuple[Any, str]] = {
    "negative count": ({"seed": -1}, "seed"),
    "list as count": ({"seed": [1]}, "seed"),
    "boolean as count": ({"steps": True}, "steps"),
    "float as count": ({"examples": 1.0}, "examples"),
    "text as number": ({"flops": "1e15"}, "flops"),
    "boolean as number": ({"tokens_per_document": True}, "tokens_per_document"),
    "infinite number": ({"seconds": math.inf}, "seconds"),
    "NaN": ({"seconds": math.nan}, "seconds"),
    "number as boolean": ({"trained": 1}, "trained"),
    "list as object": ({"training_config": []}, "training_config"),
    "number as prompt": ({"training_config": {"query_prompt": 5}}, "training_config.query_prompt"),
    "list as data": ({"data": []}, "data"),
    "numbers as texts": ({"data": {"texts": ["one", 1]}}, "data.texts"),
    "text as list": ({"data": {"queries": "q1"}}, "data.queries"),
    "text as losses": ({"losses": "abc"}, "losses"),
    "loss without a step": ({"losses": [[1]]}, "losses"),
    "three values for a loss": ({"losses": [[1, 0.5, 2]]}, "losses"),
    "text as loss": ({"losses": [[1, 0.5], [2, "0.4"]]}, "losses"),
    "second key wrong": ({"trained": True, "seed": None}, "seed"),
}


@pytest.mark.parametrize("name", WRONG_METADATA)
def test_a_wrong_metadata_value_is_refused_with_file_and_key(name: str, tmp_path: Path) -> None:
    folder, (metadata, key) = saved(tmp_path / "one"), WRONG_METADATA[name]
    _told(folder, metadata=metadata)
    with pytest.raises(InputError) as refused:
        open_checkpoint(folder)
    assert str(refused.value) == f"{folder / 'checkpoint.json'}: the value of metadata.{key} is not valid; {TRAIN_AGAIN}"


def test_metadata_of_every_type_is_accepted(tmp_path: Path) -> None:
    metadata = {
        **{"trained": False, "steps": 0, "seed": 1, "examples": 2, "flops": 1, "tokens_per_document": 1.5, "seconds": 0.0},
        **{"training_config": {"batch": 4}, "data": {"queries": ["q1"], "texts": [], "name": "small"}},
        **{"losses": [[1, 0.5], [2, 1]], "device": "cpu"},
    }
    assert open_checkpoint(saved(tmp_path / "one", metadata=metadata)).metadata == metadata
    assert open_checkpoint(saved(tmp_path / "two", metadata={})).metadata == {}


def test_a_checkpoint_of_version_2_is_read_without_prompts(tmp_path: Path) -> None:
    folder = saved(tmp_path / "one", metadata={**CARD, "training_config": {"batch": 4}})
    _told(folder, format=2)
    assert open_checkpoint(folder).prompts == Prompts("", "")


WRONG_DOCUMENTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "other format": (lambda f: _told(f, format=1), "format 1, this version reads 2 and 3"),
    "boolean as format": (lambda f: _told(f, format=True), "format True, this version reads 2 and 3"),
    "later format": (lambda f: _told(f, format=4), "format 4, this version reads 2 and 3"),
    "no format": (lambda f: _told(f, format=None), "format None, this version reads 2 and 3"),
    "no metadata": (lambda f: _told(f, metadata=None), "no metadata"),
    "list as metadata": (lambda f: _told(f, metadata=[]), "no metadata"),
    "no shape": (lambda f: _told(f, shape=[]), "no shape"),
    "unknown key": (
        lambda f: _told(f, shape={"extra": 1, "depth": 2}),
        "missing or unknown keys in shape: found depth, extra",
    ),
    "huge width": (lambda f: _shape(f, width=10**9), "width is 1000000000"),
    "huge depth": (lambda f: _shape(f, depth=10**9), "depth is 1000000000"),
    "width as text": (lambda f: _shape(f, width="32"), "width is 32"),
    "unknown tokenizer": (lambda f: _shape(f, kind="\x1b[31m"), "no tokenizer is called \\x1b[31m"),
    "list as tokenizer": (lambda f: _shape(f, kind=[]), "no tokenizer is called []"),
    "smaller vocabulary": (lambda f: _shape(f, vocabulary=299), "the tokenizer has 300 tokens, but the shape has 299"),
    "larger vocabulary": (lambda f: _shape(f, vocabulary=301), "the tokenizer has 300 tokens, but the shape has 301"),
}


@pytest.mark.parametrize("name", WRONG_DOCUMENTS)
def test_a_wrong_field_of_the_metadata_file_is_refused_with_file_reason_and_fix(name: str, tmp_path: Path) -> None:
    folder, (damage, message) = saved(tmp_path / "one", "bpe-300"), WRONG_DOCUMENTS[name]
    damage(folder)
    with pytest.raises(InputError) as refused:
        open_checkpoint(folder)
    assert str(refused.value) == f"{folder / 'checkpoint.json'}: {message}; {TRAIN_AGAIN}"


@pytest.mark.parametrize(("change", "tensor"), [({"depth": 1}, "layers.1.attend.bias"), ({"architecture": "lstm"}, "layers.0")])
def test_a_tensor_that_the_shape_does_not_have_is_refused(change: dict[str, Any], tensor: str, tmp_path: Path) -> None:
    folder = saved(tmp_path / "one", "bpe-300")
    _shape(folder, **change)
    with pytest.raises(InputError) as refused:
        open_checkpoint(folder).check_weights()
    assert str(refused.value).startswith(f"{folder / 'model.safetensors'}: tensor {tensor}")
    assert str(refused.value).endswith(f" does not belong to the shape in checkpoint.json; {TRAIN_AGAIN}")


def test_a_checkpoint_is_complete_when_its_metadata_file_exists(tmp_path: Path) -> None:
    folder = saved(tmp_path / "one")
    assert is_complete_checkpoint(folder)
    (folder / "checkpoint.json").unlink()
    assert not is_complete_checkpoint(folder)


def test_the_weights_are_read_on_first_use(tmp_path: Path) -> None:
    folder = saved(tmp_path / "one")
    _cut(folder / "model.safetensors", 0.5)
    opened = open_checkpoint(folder)
    assert opened.metadata == CARD
    with pytest.raises(ExternalError, match="not a complete safetensors file"):
        assert opened.state


def test_a_shape_with_another_length_of_texts_is_another_model(tmp_path: Path) -> None:
    shape = shape_of("bytes")
    for name, characters in (("short", 8), ("long", 512)):
        save_checkpoint(
            tmp_path / name,
            initialise_network(shape, 0),
            replace(shape, characters=characters),
            tokenizer_of("bytes"),
            {"trained": False},
        )
    short, long = (TrainedEncoder(str(tmp_path / name)) for name in ("short", "long"))
    assert short.revision() != long.revision()
    assert np.array_equal(short.load().encode(["12345678 and more"]), short.load().encode(["12345678"]))
    assert not np.array_equal(long.load().encode(["12345678 and more"]), long.load().encode(["12345678"]))
