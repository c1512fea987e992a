"""ByT5 and CANINE give the hidden states of transformers, for any text and in any store."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof import Dataset, Experiment, ExperimentResult, _extras, read_experiment
from rankproof._analysis.doctor.check import doctor_input_from_analysis
from rankproof._analysis.doctor.doctor import run_checks
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.main import main
from rankproof._cli.options import read_dataset_or_sample
from rankproof._data.arrays import Matrix
from rankproof._data.identity import identity_key
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.run import run_experiment
from rankproof.errors import ExternalError, MissingExtraError, UsageError
from rankproof.models._base import TokenEncoder
from rankproof.models._transformers import ByT5, Canine, TransformersModel, byte_ids, character_ids
from rankproof.stages import BM25, Dense
from rankproof.stores import Memory, PgVector
from rankproof.stores._base import Store
from rankproof.stores._postgres import EmbeddedPostgres
from rankproof.types import RunOptions
from support.small_datasets import ASKED, PAGES, small_dataset
from support.tiny_bert import write_modules
from support.torch_oracle import oracle
from support.untrained_byt5_canine import BYT5_SMALL, TINY_BYT5, TINY_CANINE, change_config, write_net
from support.vector_stores import require

TEXTS = ["how to clean a steel pan", "The OVEN, and the bread!", "köttbullar 鍋 🍲 \u200b x", "butter " * 60, "  baking  soups "]
STRANGE = [
    *("", " ", "\n\t ", "\0", "a\0b", "\ud800", "x\udfffy", "a", "\U0010ffff"),
    *("🍲" * 40, "</s> <pad> <extra_id_0>", "\ue000\ue001"),
]
MEAN = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
Made = Callable[..., TransformersModel]


@pytest.fixture(params=["byt5", "canine"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    if request.param == "byt5":
        folder = write_net(tmp_path / "m", "t5", TINY_BYT5)
        return lambda source=folder, max_tokens=300: ByT5(str(source), max_tokens)
    folder = write_net(tmp_path / "m", "canine", TINY_CANINE)
    return lambda source=folder, max_tokens=300: Canine(str(source), max_tokens)


@cache
def their_tokenizer(name: str) -> Any:
    """The library's own, which takes seconds to be made."""
    return getattr(oracle("transformers"), name)()


def by_hand(model: TransformersModel, texts: list[str]) -> Matrix:
    """The library's own tokenizer and net, with padding as in a batch: the mean of the last hidden states over the tokens."""
    torch, transformers = oracle("torch"), oracle("transformers")
    is_byt5 = isinstance(model, ByT5)
    tokenizer = their_tokenizer("ByT5Tokenizer" if is_byt5 else "CanineTokenizer")
    kind = transformers.T5EncoderModel if is_byt5 else transformers.CanineModel
    net = kind.from_pretrained(model.source, dtype=torch.float32).eval()
    rows = []
    for text in texts:
        ids = tokenizer(text, truncation=True, max_length=model.max_tokens)["input_ids"]
        mask = torch.tensor([[1] * len(ids) + [0] * 40])
        with torch.inference_mode():
            states = net(input_ids=torch.tensor([ids + [0] * 40]), attention_mask=mask).last_hidden_state
        mean = (states * mask[..., None]).sum(1)[0] / mask.sum()
        rows.append((mean / mean.norm()).numpy())
    return np.array(rows)


@pytest.mark.torch
def test_a_vector_is_the_mean_that_is_computed_by_hand(made: Made) -> None:
    model = made()
    encoder = model.load()
    texts = [*TEXTS, *("steel pan"[:length] for length in range(10))]
    np.testing.assert_allclose(encoder.encode(texts), by_hand(model, texts), atol=1e-6)
    assert isinstance(encoder, TokenEncoder)
    for rows, vector in zip(encoder.tokens(TEXTS), encoder.encode(TEXTS), strict=True):
        assert rows.shape[1] == 32
        assert float(rows.mean(axis=0) @ vector) > 0


@pytest.mark.torch
@pytest.mark.parametrize("text", [*TEXTS, "", "\0 x", "ß\u0301é"])
def test_ids_are_those_of_the_libraries_own_tokenizers(text: str) -> None:
    for name, ids in (("ByT5Tokenizer", byte_ids), ("CanineTokenizer", character_ids)):
        theirs = their_tokenizer(name)
        assert ids(text, 10_000) == theirs(text)["input_ids"]
        assert ids(text, 8) == theirs(text, truncation=True, max_length=8)["input_ids"]


def test_a_special_token_in_a_text_is_read_as_plain_text() -> None:
    assert byte_ids("</s>", 9) == [ord(letter) + 3 for letter in "</s>"] + [1]
    assert byte_ids("\ud83c\udf72", 9) == byte_ids("🍲", 9)
    assert character_ids("\ud800", 9) == [0xE000, 0xFFFD, 0xE001]


@pytest.mark.torch
def test_unusual_texts_have_vectors_and_do_not_change_others(made: Made) -> None:
    encoder = made().load()
    rows = encoder.encode([*STRANGE, *TEXTS, "long " * 200_000])
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert rows[len(STRANGE) : -1].tobytes() == encoder.encode(TEXTS).tobytes()
    assert [one.shape[1] for one in encoder.tokens(STRANGE)] == [32] * len(STRANGE)
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.tokens([]) == []


@pytest.mark.torch
def test_neither_order_nor_neighbours_nor_threads_change_a_bit(made: Made) -> None:
    model = made()
    first = model.load().encode(TEXTS)
    assert model.load(threads=2).encode(TEXTS).tobytes() == first.tobytes()
    assert model.load().encode(TEXTS[::-1])[::-1].tobytes() == first.tobytes()
    assert model.load().encode(TEXTS[2:3]).tobytes() == first[2:3].tobytes()


@pytest.mark.torch
@pytest.mark.parametrize(("model", "longest"), [(ByT5, "köö12"), (Canine, "köö123")])
def test_truncated_texts_are_counted(model: Made, longest: str, tmp_path: Path) -> None:
    kind, settings = ("t5", TINY_BYT5) if model is ByT5 else ("canine", TINY_CANINE)
    encoder = model(str(write_net(tmp_path / "m", kind, settings)), 8).load()
    assert encoder.cut([longest, f"{longest}!", "", "x" * 9]) == 2
    assert encoder.cut([]) == 0
    assert encoder.lengths(["", longest, f"{longest}!"])[1:] == [8, 8]
    assert encoder.unknown([longest, "\ud800"])[0] == 0
    cut = encoder.encode([f"{longest}!", f"{longest}?"])
    assert cut[0].tobytes() == cut[1].tobytes()
    assert [len(rows) for rows in encoder.tokens([longest, f"{longest}!"])] == [8, 8]


@pytest.mark.torch
def test_batches_of_texts_of_equal_length_give_the_same_vectors(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a pan", "a pot", "", "the oven", "hot oven", "x" * 400]
    single = made().load().encode(texts)
    monkeypatch.setattr("rankproof.models._device.Placement.on_gpu", True)
    monkeypatch.setattr("rankproof.models._device.Placement.facts", lambda self: {})
    batched = made().load()
    np.testing.assert_allclose(batched.encode(texts), single, atol=1e-5)
    assert [len(rows) for rows in batched.tokens(texts)] == batched.lengths(texts)


@pytest.mark.torch
def test_facts_name_weights_tokenizer_and_training(made: Made) -> None:
    model = made()
    facts = model.load().facts()
    assert facts["tokenizer"] == ("bytes" if isinstance(model, ByT5) else "characters")
    assert (facts["dimensions"], facts["max_tokens"], facts["pooling"], facts["precision"]) == (32, 300, "mean", "fp32")
    assert model.revision() == f"{facts['revision']}, {facts['library']}, cpu fp32"
    assert facts["training"] == "none"
    assert facts["parameters"] > 10_000
    assert facts["source"] == model.source


def trained(folder: Path) -> Path:
    """The weights with one norm that a step of training has moved."""
    torch, files = oracle("torch"), oracle("safetensors.torch")
    tensors = files.load_file(folder / "model.safetensors")
    name = min(name for name, one in tensors.items() if one.ndim == 1)
    tensors[name] = tensors[name] * torch.linspace(0.9, 1.1, len(tensors[name])) + 0.01
    files.save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.torch
def test_trained_weights_are_from_a_language_model_or_from_sentence_transformers(made: Made) -> None:
    model = made()
    folder = trained(Path(model.source))
    assert model.load().facts()["training"] == "language model"
    write_modules(folder, pooling=MEAN)
    assert model.load().facts()["training"] == "sentence-transformers"
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_cls_token": True})
    with pytest.raises(
        ExternalError, match=r"its pooling is not the mean; install rankproof\[torch\] and prefix its name with torch:"
    ):
        model.load()


@pytest.mark.torch
def test_a_whole_byt5_with_its_decoder_gives_what_its_encoder_gives(tmp_path: Path) -> None:
    whole = write_net(tmp_path / "whole", "whole t5", TINY_BYT5)
    files = oracle("safetensors.torch")
    tensors = files.load_file(whole / "model.safetensors")
    encoder = write_net(tmp_path / "encoder", "t5", TINY_BYT5)
    kept = {name: one for name, one in tensors.items() if name.startswith(("shared", "encoder"))}
    files.save_file(kept, encoder / "model.safetensors", metadata={"format": "pt"})
    assert len(kept) < len(tensors)
    assert ByT5(str(whole)).load().encode(TEXTS).tobytes() == ByT5(str(encoder)).load().encode(TEXTS).tobytes()


@pytest.mark.torch
def test_the_place_of_the_weights_is_not_part_of_the_identity(made: Made, tmp_path: Path) -> None:
    model = made()
    (tmp_path / "m").rename(tmp_path / "other")
    moved = made(source=tmp_path / "other")
    key = identity_key(moved)
    (tmp_path / "other").rename(tmp_path / "m")
    assert identity_key(model) == key
    assert identity_key(made(max_tokens=99)) != key
    change_config(tmp_path / "m", dropout_rate=0.2)
    assert identity_key(model) != key


def damaged(folder: Path, how: str) -> None:
    weights = folder / "model.safetensors"
    files = oracle("safetensors.torch")
    if how == "cut":
        weights.write_bytes(weights.read_bytes()[:-100])
    if how == "no weights":
        weights.unlink()
    if how in ("lacks", "not finite"):
        tensors = files.load_file(weights)
        name = max(name for name, one in tensors.items() if one.ndim == 2 and "pooler" not in name)
        changed = {**tensors, name: tensors[name] * math.nan} if how == "not finite" else {**tensors}
        if how == "lacks":
            del changed[name]
        files.save_file(changed, weights, metadata={"format": "pt"})
    if how == "pickle":
        weights.unlink()
        (folder / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'true'\ntR.")


DAMAGES = {
    "cut": "transformers cannot load it",
    "no weights": "transformers cannot load it",
    "lacks": r"the weights lack \d tensors that config.json requires, such as .*; use weights and config.json",
    "pickle": "transformers cannot load it",
}


@pytest.mark.torch
@pytest.mark.parametrize("how", DAMAGES)
def test_incomplete_weights_are_refused(made: Made, how: str) -> None:
    model = made()
    damaged(Path(model.source), how)
    with pytest.raises(ExternalError, match=DAMAGES[how]):
        model.load()


@pytest.mark.torch
def test_weights_that_are_not_finite_are_refused_at_the_first_text(made: Made) -> None:
    model = made()
    damaged(Path(model.source), "not finite")
    with pytest.raises(ExternalError, match="NaN or infinite values"):
        model.load().encode(TEXTS)


def deeper_or_wider(model: TransformersModel, key: str) -> str:
    names = {"layers": ("num_layers", "num_hidden_layers"), "width": ("d_model", "hidden_size")}
    return names[key][0 if isinstance(model, ByT5) else 1]


@pytest.mark.torch
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("layers", 3, "the weights lack"),
        ("layers", 1, "tensors that config.json does not use"),
        ("width", 64, "transformers cannot load it"),
    ],
)
def test_a_config_of_other_weights_is_refused(made: Made, key: str, value: int, words: str) -> None:
    model = made()
    change_config(Path(model.source), **{deeper_or_wider(model, key): value})
    with pytest.raises(ExternalError, match=words):
        model.load()


CONFIGS = {
    '{"model_type": "bert"}': "model_type is bert, but .* needs .*; prefix the name .*with torch:",
    '{"model_type": "evil", "auto_map": {"AutoModel": "evil.Model"}}': "model_type is evil",
    "{}": "model_type is None",
    "[]": "not a JSON object",
    "{": "not JSON",
}


@pytest.mark.torch
@pytest.mark.parametrize("text", CONFIGS)
def test_another_architecture_is_refused(made: Made, text: str) -> None:
    model = made()
    (Path(model.source) / "config.json").write_text(text)
    with pytest.raises(ExternalError, match=CONFIGS[text]):
        model.load()


@pytest.mark.torch
def test_a_folder_without_a_config_is_an_error(made: Made) -> None:
    model = made()
    (Path(model.source) / "config.json").unlink()
    with pytest.raises(ExternalError, match=r"no config\.json; a model's folder has config\.json and model\.safetensors"):
        model.load()


@pytest.mark.torch
def test_a_t5_that_reads_words_is_not_byt5(tmp_path: Path) -> None:
    folder = write_net(tmp_path / "m", "t5", {**TINY_BYT5, "vocab_size": 32128})
    with pytest.raises(ExternalError, match="vocab_size 32128, but ByT5 has 384: this T5 does not read bytes"):
        ByT5(str(folder)).load()


@pytest.mark.torch
def test_more_characters_than_there_are_positions_for_are_refused(tmp_path: Path) -> None:
    folder = write_net(tmp_path / "m", "canine", TINY_CANINE)
    with pytest.raises(UsageError, match="has 512 positions, but max_tokens 512 takes 520; lower it to 504"):
        Canine(str(folder), 512).load()
    assert Canine(str(folder), 504).load().encode(["x" * 900]).shape == (1, 32)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("source", "said"),
    [("./nowhere", r"^\./nowhere: folder not found; give"), ("acme/nothing/here", "transformers cannot load it")],
)
def test_a_source_that_does_not_exist_is_an_error(source: str, said: str) -> None:
    oracle("transformers")
    with pytest.raises(ExternalError, match=said):
        ByT5(source).load()
    assert not Canine(source).is_ready()


@pytest.mark.parametrize("missing", ["torch", "transformers"])
def test_without_the_extra_it_is_named(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == missing else object())
    (tmp_path / "config.json").write_text('{"model_type": "canine"}')
    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[torch\]'"):
        Canine(str(tmp_path)).load()
    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[torch\]'"):
        ByT5("acme/any").load()


@pytest.fixture(scope="module")
def dsn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    require("pgvector")
    server = EmbeddedPostgres(str(tmp_path_factory.mktemp("server")))
    yield server.dsn()
    server.close()


def in_both_stores(model: TransformersModel, dataset: Dataset, dsn: str) -> ExperimentResult:
    """The model as a dense stage; PostgreSQL and memory must give the same documents and scores, in the same order."""
    stores: dict[str, Store] = {"memory": Memory(), "pgvector": PgVector(dsn=dsn)}
    dense = {name: Dense(model, store=store, depth=20) for name, store in stores.items()}
    found = run_experiment(Experiment({"bm25": BM25(), **dense}, dataset), RunOptions(cache=None))
    memory, pgvector = (list(system_run.run.rows()) for system_run in found.system_runs[1:])
    np.testing.assert_allclose([row.score for row in memory], [row.score for row in pgvector], atol=1e-6)
    gaps = np.diff([row.score for row in memory], prepend=math.inf, append=math.inf)
    told_apart = (np.abs(gaps[1:]) > 1e-5) & (np.abs(gaps[:-1]) > 1e-5)
    pairs = [(ours.doc, theirs.doc) for ours, theirs in zip(memory, pgvector, strict=True)]
    assert [pair for pair, clear in zip(pairs, told_apart, strict=True) if clear and pair[0] != pair[1]] == []
    assert told_apart.any()
    return found


REAL = {
    "byt5-small": (ByT5, "t5", BYT5_SMALL, 1472, 217_657_472),
    "canine-s": (Canine, "canine", {}, 768, 131_492_352),
}


@pytest.mark.torch
@pytest.mark.release
@pytest.mark.parametrize("name", REAL)
def test_the_real_configurations_load_by_path_and_search_in_postgresql(name: str, tmp_path: Path, dsn: str) -> None:
    model, kind, settings, dimensions, parameters = REAL[name]
    stage = Dense(model(str(write_net(tmp_path / "m", kind, settings)), 16), store=PgVector(dsn=dsn, index="hnsw"))
    (system_run,) = run_experiment(Experiment({"real": stage}, small_dataset()), RunOptions(cache=None)).system_runs
    facts = system_run.facts["model"]
    assert (facts["dimensions"], facts["parameters"], facts["training"]) == (dimensions, parameters, "none")
    assert len(system_run.run.scores) == len(ASKED) * len(PAGES)
    assert np.abs(system_run.run.scores).max() <= 1 + 1e-6
    assert len(set(system_run.run.scores.tolist())) > len(ASKED)


@pytest.mark.torch
@pytest.mark.release
def test_untrained_weights_rank_the_sample_alike_in_any_store_and_doctor_reports_them(made: Made, dsn: str) -> None:
    found = in_both_stores(made(), read_dataset_or_sample("sample"), dsn)
    table = run_checks(doctor_input_from_analysis(input_from_results(found)))
    said = {one["check"]: one["sentence"] for one in table.facts["findings"]}
    assert "memory 252 passages in 32 dimensions; pgvector 252 passages" in said["untrained-encoder"]
    assert "memory mean cosine 0.9" in said["embedding-collapse"]
    assert "bm25" not in said["untrained-encoder"] + said["embedding-collapse"] + said.get("random-level", "")


@pytest.mark.torch
def test_an_experiment_file_names_folder_and_length(made: Made, tmp_path: Path) -> None:
    name = "byt5" if isinstance(made(), ByT5) else "canine"
    text = f'dataset = "sample"\n[systems.own]\nstage = "dense"\nmodel = {{name = "{name}", source = "m", max_tokens = 64}}\n'
    (tmp_path / "e.toml").write_text(text)
    experiment = read_experiment(tmp_path / "e.toml")
    stage: Any = experiment.systems["own"]
    assert stage.model == made(max_tokens=64)
    (tmp_path / "again").mkdir()
    (tmp_path / "again" / "e.toml").write_text(experiment_toml(experiment))
    again: Any = read_experiment(tmp_path / "again" / "e.toml").systems["own"]
    assert again.model == stage.model


@pytest.mark.torch
def test_a_run_by_a_file_saves_what_doctor_needs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_net(tmp_path / "m", "t5", TINY_BYT5)
    stage = '[systems.own]\nstage = "dense"\nmodel = {name = "byt5", source = "./m", max_tokens = 16}\n'
    (tmp_path / "e.toml").write_text(f'dataset = "sample"\n{stage}')
    assert main(["run", str(tmp_path / "e.toml"), "-o", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["doctor", str(tmp_path / "out"), "--strict"]) == 3
    assert "untrained-encoder" in capsys.readouterr().out


@pytest.mark.parametrize("source", ["./nowhere", "nowhere", "a/b/c"])
def test_an_experiment_file_with_a_source_that_is_not_there_is_refused(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stage = f'[systems.own]\nstage = "dense"\nmodel = {{name = "byt5", source = "{source}"}}\n'
    (tmp_path / "e.toml").write_text(f'dataset = "sample"\n{stage}')
    assert main(["run", str(tmp_path / "e.toml"), "-o", str(tmp_path / "out")]) == 2
    assert "folder not found" in capsys.readouterr().err
