"""Checkpoints of the trial: written whole or not at all, opened or refused, and the models that they are."""

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
from rankproof._io import folders as folder_file
from rankproof.errors import ExternalError, InputError, MissingExtraError, RankproofError, UsageError
from rankproof.models import BpeEncoder, TrainedEncoder
from rankproof.models._trained.checkpoint import initialise_network, open_checkpoint, save_checkpoint
from rankproof.models._trained.encoder import batches_by_length, pad_ids
from rankproof.models._trained.shape import ARCHITECTURES, Architecture, parameter_count
from support.missing_libraries import block
from support.paths import TESTS
from support.trained_encoders import ENGLISH, HOSTILE, KINDS, shape_of, tokenizer_of

torch = pytest.importorskip("torch", reason="the extra torch brings it")
CARD = {"trained": True, "steps": 12, "seed": 3, "data": {"name": "ä\u2028\ud800", "queries": ["q1"]}}
TEXTS = [*ENGLISH, *HOSTILE.values(), "y" * 513]


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
def test_what_comes_back_from_a_folder_gives_the_same_vectors(kind: str, architecture: Architecture, tmp_path: Path) -> None:
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


def test_the_facts_say_what_a_reader_should_know(tmp_path: Path) -> None:
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
    assert model.revision() == f"{facts['revision']}, {facts['library']}"
    assert "torch " in facts["library"]
    assert model.load().cut(["y" * 512, "y" * 513, ""]) == 1


def test_untrained_weights_say_so(tmp_path: Path) -> None:
    assert TrainedEncoder(str(saved(tmp_path / "one", metadata={"trained": False}))).load().facts()["training"] == "none"


def test_the_weights_and_not_their_place_are_the_identity(tmp_path: Path) -> None:
    one, copy = (TrainedEncoder(str(saved(tmp_path / name))) for name in ("one", "copy"))
    other = TrainedEncoder(str(saved(tmp_path / "other", seed=4)))
    assert identity(one) == identity(copy) != identity(other)
    assert str(tmp_path) not in json.dumps(identity(one))


def test_a_bpe_model_refuses_another_tokenizers_folder(tmp_path: Path) -> None:
    model = BpeEncoder(str(saved(tmp_path / "one", "wordpiece-300")))
    for use in (model.load, model.revision):
        with pytest.raises(InputError, match="its tokenizer is wordpiece-300; name the model as trial"):
            use()


def test_a_model_is_ready_where_its_folder_is(tmp_path: Path) -> None:
    assert TrainedEncoder(str(saved(tmp_path / "one"))).is_ready()
    assert not TrainedEncoder(str(tmp_path / "none")).is_ready()
    for source in ("", "a\0b", 7):
        with pytest.raises(UsageError, match="is no checkpoint"):
            TrainedEncoder(source)  # type: ignore[arg-type]


def test_without_torch_a_model_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = TrainedEncoder(str(saved(tmp_path / "one")))
    block(monkeypatch, "torch")
    with pytest.raises(MissingExtraError, match=r"rankproof\[torch\]"):
        model.load()


def test_a_checkpoint_that_is_there_is_never_replaced(tmp_path: Path) -> None:
    before = TrainedEncoder(str(saved(tmp_path / "one", "bpe-300"))).revision()
    with pytest.raises(UsageError, match="is there already; name another folder, or remove it"):
        saved(tmp_path / "one", "bytes")
    assert TrainedEncoder(str(tmp_path / "one")).revision() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one"]
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["model.safetensors", "tokenizer.json", "trial.json"]


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
def test_a_kill_at_any_file_leaves_no_checkpoint_and_the_next_writing_is_whole(
    after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process ends as by SIGKILL: nothing is tidied up; only with the last file, the card, is there a checkpoint."""
    saved(tmp_path / "whole", "bpe-300")
    code = KILLED.format(folder=str(tmp_path / "one"), after=after)
    command = [sys.executable, "-c", code, str(TESTS)]
    assert subprocess.run(command, capture_output=True, text=True, check=False).returncode == 9
    left = {path.name for path in (tmp_path / "one").iterdir()}
    assert "trial.json" not in left
    assert any(name.endswith(".tmp") for name in left)
    with pytest.raises(InputError, match=r"no trial\.json"):
        open_checkpoint(tmp_path / "one")
    assert (
        TrainedEncoder(str(saved(tmp_path / "one", "bpe-300"))).revision() == TrainedEncoder(str(tmp_path / "whole")).revision()
    )
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == ["model.safetensors", "tokenizer.json", "trial.json"]


KILLED = """
import os, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_trial_checkpoint
real, seen = os.replace, 0
def replace(*arguments):
    global seen
    seen += 1
    if seen == {after}:
        os._exit(9)
    real(*arguments)
os.replace = replace
test_trial_checkpoint.saved(Path({folder!r}), "bpe-300")
"""


def test_an_interrupt_after_the_card_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(folder: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(folder_file, "sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        saved(tmp_path / "one")
    assert open_checkpoint(tmp_path / "one").metadata == CARD


def test_a_folder_with_other_things_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(UsageError, match="has other files in it; name another folder"):
        saved(tmp_path)
    (tmp_path / "file").write_text("")
    for target in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(RankproofError):
            saved(target)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "thesis.tex"]


def test_weights_that_are_not_finite_and_cards_that_are_no_json_are_not_written(tmp_path: Path) -> None:
    shape = shape_of("bytes")
    net = initialise_network(shape, 0)
    for card in ({"losses": [[1, math.nan]]}, {"path": tmp_path}):
        with pytest.raises(UsageError, match="the card cannot be written as JSON"):
            save_checkpoint(tmp_path / "one", net, shape, tokenizer_of("bytes"), card)
    net.norm.weight.data[0] = math.nan
    with pytest.raises(ExternalError, match="weights are not finite, so nothing was written"):
        save_checkpoint(tmp_path / "one", net, shape, tokenizer_of("bytes"), CARD)
    assert not list(tmp_path.iterdir())


def _told(folder: Path, **parts: Any) -> None:
    told = json.loads((folder / "trial.json").read_text())
    (folder / "trial.json").write_text(json.dumps({**told, **parts}))


def _shape(folder: Path, **parts: Any) -> None:
    told = json.loads((folder / "trial.json").read_text())
    _told(folder, shape={**told["shape"], **parts})


def _weights(folder: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    state = {name: values.copy() for name, values in load((folder / "model.safetensors").read_bytes()).items()}
    change(state)
    (folder / "model.safetensors").write_bytes(save(state))


def _cut(path: Path, share: float) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])


SPOILT: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no card file": (lambda f: (f / "trial.json").unlink(), "no trial.json; name a folder"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no model.safetensors; name a folder"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "tokenizer.json: not there"),
    "cut card": (lambda f: _cut(f / "trial.json", 0.5), "no JSON"),
    "empty card": (lambda f: _cut(f / "trial.json", 0), "no JSON"),
    "deep card": (lambda f: (f / "trial.json").write_text("[" * 100_000), "no JSON"),
    "list for card": (lambda f: (f / "trial.json").write_text("[]"), "no JSON object"),
    "cut tokenizer": (lambda f: _cut(f / "tokenizer.json", 0.9), "no tokenizer"),
    "cut weights": (lambda f: _cut(f / "model.safetensors", 0.9), "no whole safetensors file"),
    "empty weights": (lambda f: _cut(f / "model.safetensors", 0), "no whole safetensors file"),
    "other format": (lambda f: _told(f, format=1), "format 1, and this version reads 2"),
    "no card": (lambda f: _told(f, metadata=None), "there is no card"),
    "list for seed": (lambda f: _told(f, metadata={"seed": [1]}), "the card's part seed is not what training writes"),
    "text for losses": (lambda f: _told(f, metadata={"losses": "abc"}), "part losses is not"),
    "losses of one": (lambda f: _told(f, metadata={"losses": [[1]]}), "part losses is not"),
    "text for operations": (lambda f: _told(f, metadata={"operations": "1e15"}), "part operations is not"),
    "endless seconds": (lambda f: _told(f, metadata={"seconds": math.inf}), "part seconds is not"),
    "number for trained": (lambda f: _told(f, metadata={"trained": 1}), "part trained is not"),
    "list for data": (lambda f: _told(f, metadata={"data": []}), "part data is not"),
    "numbers for texts": (lambda f: _told(f, metadata={"data": {"texts": [1]}}), "part data.texts is not"),
    "text for queries": (lambda f: _told(f, metadata={"data": {"queries": "q1"}}), "part data.queries is not"),
    "no shape": (lambda f: _told(f, shape=[]), "there is no shape"),
    "unknown part": (lambda f: _shape(f, extra=1), "the shape has the parts"),
    "absurd width": (lambda f: _shape(f, width=10**9), "width is 1000000000"),
    "absurd depth": (lambda f: _shape(f, depth=10**9), "depth is 1000000000"),
    "absurd but allowed": (lambda f: _shape(f, width=8192, hidden=65_536, depth=64), "trial.json says"),
    "width as text": (lambda f: _shape(f, width="32"), "width is 32"),
    "other kind": (lambda f: _shape(f, kind="wordpiece-300"), "wordpiece-300 was wanted"),
    "kind without a name": (lambda f: _shape(f, kind="\x1b[31m"), "no tokenizer is called"),
    "kind of a list": (lambda f: _shape(f, kind=[]), "no tokenizer is called"),
    "other vocabulary": (lambda f: _shape(f, vocabulary=299), "the tokenizer has 300 tokens, and the shape says 299"),
    "other hidden": (lambda f: _shape(f, hidden=16), "trial.json says"),
    "other depth": (lambda f: _shape(f, depth=1), "is none of the shape in trial.json"),
    "deeper": (lambda f: _shape(f, depth=3), "there is no tensor layers.2"),
    "other body": (lambda f: _shape(f, architecture="lstm"), "is none of the shape"),
    "NaN": (lambda f: _weights(f, lambda state: state["norm.bias"].fill(math.nan)), "not finite"),
    "infinite": (lambda f: _weights(f, lambda state: state["norm.bias"].fill(math.inf)), "not finite"),
    "one tensor less": (lambda f: _weights(f, lambda state: state.pop("norm.bias")), "there is no tensor norm.bias"),
    "whole numbers": (
        lambda f: _weights(f, lambda state: state.update({"norm.bias": np.zeros(32, dtype=np.int64)})),
        "norm.bias is I64",
    ),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_folder_that_is_not_whole_is_refused_with_the_file_and_what_to_do(name: str, tmp_path: Path) -> None:
    folder, (spoil, message) = saved(tmp_path / "one", "bpe-300"), SPOILT[name]
    spoil(folder)
    with pytest.raises((InputError, ExternalError)) as refused:
        TrainedEncoder(str(folder)).load()
    assert message in str(refused.value)
    assert str(refused.value).startswith(f"{folder}")
    assert "; " in str(refused.value)
    assert "\x1b" not in str(refused.value)


def test_the_weights_are_not_read_before_they_are_asked_for(tmp_path: Path) -> None:
    folder = saved(tmp_path / "one")
    _cut(folder / "model.safetensors", 0.5)
    opened = open_checkpoint(folder)
    assert opened.metadata == CARD
    with pytest.raises(ExternalError, match="no whole safetensors file"):
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
