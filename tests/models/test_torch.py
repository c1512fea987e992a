"""Models by sentence-transformers: the values of the ONNX graph, and no remote code."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankproof import _extras
from rankproof._data.identity import identity_key
from rankproof.errors import ExternalError, MissingExtraError, UsageError
from rankproof.models._base import TokenEncoder, remote_code_note
from rankproof.models._bert import Bert, CrossEncoder
from rankproof.models._torch import SentenceTransformer, TorchCrossEncoder
from support.tiny_bert import TEXTS, bert_tensors, write_bert, write_modules
from support.torch_oracle import oracle


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    oracle("sentence_transformers")
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    return write_bert(tmp_path / "m", labels=1)


@pytest.mark.torch
def test_an_encoder_gives_what_the_written_graph_gives(folder: Path) -> None:
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    theirs, ours = SentenceTransformer(str(folder)).load(), Bert(str(folder), precision="fp32").load()
    np.testing.assert_allclose(theirs.encode(TEXTS), ours.encode(TEXTS), atol=1e-4)
    for left, right in zip(theirs.tokens(TEXTS), ours.tokens(TEXTS), strict=True):
        np.testing.assert_allclose(left, right, atol=1e-4)
    assert isinstance(theirs, TokenEncoder)
    assert theirs.encode([]).shape == (0, 32)
    assert theirs.tokens([]) == []
    facts = theirs.facts()
    assert (facts["dimensions"], facts["max_tokens"]) == (32, 32)
    assert theirs.cut(TEXTS) == ours.cut(TEXTS) == 1
    assert theirs.cut([]) == 0
    assert SentenceTransformer(str(folder)).revision() == f"{facts['revision']}, {facts['library']}, cpu fp32"
    assert "torch" in facts["library"]


@pytest.mark.torch
def test_a_given_length_is_used(folder: Path) -> None:
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    encoder = SentenceTransformer(str(folder), max_tokens=6).load()
    assert [len(rows) for rows in encoder.tokens(["a pan", "a pan of steel and salt"])] == [4, 6]


@pytest.mark.torch
def test_a_cross_encoder_gives_what_the_written_graph_gives(folder: Path) -> None:
    theirs, ours = TorchCrossEncoder(str(folder), max_tokens=32).load(), CrossEncoder(str(folder), max_tokens=32).load()
    np.testing.assert_allclose(theirs.scores("bake bread", TEXTS), ours.scores("bake bread", TEXTS), atol=1e-4)
    assert theirs.scores("bake bread", []).shape == (0,)
    assert theirs.cut("bake bread", TEXTS) == ours.cut("bake bread", TEXTS) == 1
    assert theirs.cut("bake bread", []) == 0
    assert theirs.facts()["max_tokens"] == 32


@pytest.mark.torch
def test_of_two_labels_the_score_is_the_difference(folder: Path) -> None:
    write_bert(folder, labels=2)
    theirs, ours = TorchCrossEncoder(str(folder), max_tokens=32).load(), CrossEncoder(str(folder), max_tokens=32).load()
    np.testing.assert_allclose(theirs.scores("bake bread", TEXTS), ours.scores("bake bread", TEXTS), atol=1e-4)


@pytest.mark.torch
def test_the_revision_follows_the_files_and_not_the_place(folder: Path, tmp_path: Path) -> None:
    other = write_bert(tmp_path / "other", labels=1)
    assert identity_key(SentenceTransformer(str(folder))) == identity_key(SentenceTransformer(str(other)))
    (other / "config.json").write_text((other / "config.json").read_text() + " ")
    assert identity_key(SentenceTransformer(str(folder))) != identity_key(SentenceTransformer(str(other)))


@pytest.mark.torch
def test_a_folder_may_be_named_from_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    oracle("sentence_transformers")
    write_bert(tmp_path / "m")
    monkeypatch.setenv("HOME", str(tmp_path))
    model = SentenceTransformer("~/m")
    assert model.is_ready()
    assert model.revision() == SentenceTransformer(str(tmp_path / "m")).revision()


@pytest.mark.parametrize("missing", ["torch", "sentence_transformers"])
def test_without_the_extra_it_is_named(missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_extras, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(MissingExtraError, match=r"pip install 'rankproof\[torch\]'"):
        SentenceTransformer("acme/any").load()
    with pytest.raises(MissingExtraError):
        TorchCrossEncoder(str(tmp_path)).load()


@pytest.mark.torch
def test_code_that_comes_with_a_model_is_not_run(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    stranger = {"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}, "model_type": "evil"}
    (folder / "config.json").write_text(json.dumps({**config, **stranger}))
    (folder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\nclass Model: pass\n")
    with pytest.raises(ExternalError, match="sentence-transformers cannot load it"):
        SentenceTransformer(str(folder)).load()
    assert not (tmp_path / "ran").exists()


@pytest.mark.torch
def test_code_that_comes_with_a_model_runs_if_it_is_trusted_and_the_results_say_so(folder: Path, tmp_path: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    own = {"auto_map": {"AutoConfig": "own_code.OwnConfig", "AutoModel": "own_code.OwnModel"}, "model_type": "own"}
    (folder / "config.json").write_text(json.dumps({**config, **own}))
    code = f"""\
from transformers import BertConfig, BertModel
open({str(tmp_path / "ran")!r}, "w").close()
class OwnConfig(BertConfig):
    model_type = "own"
class OwnModel(BertModel):
    config_class = OwnConfig
"""
    (folder / "own_code.py").write_text(code)
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    with pytest.raises(ExternalError, match="sentence-transformers cannot load it"):
        SentenceTransformer(str(folder)).load()
    assert not (tmp_path / "ran").exists()
    model = SentenceTransformer(str(folder), trust_remote_code=True)
    loaded = model.load()
    assert (tmp_path / "ran").exists()
    assert loaded.encode(["bread"]).shape == (1, 32)
    assert loaded.facts()["trust_remote_code"] is True
    assert remote_code_note(model) == ("Python code that came with the model was run (trust_remote_code)",)
    assert identity_key(model) != identity_key(SentenceTransformer(str(folder)))


@pytest.mark.torch
def test_the_named_prompts_of_a_model_go_before_queries_and_passages(folder: Path) -> None:
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    named = {"prompts": {"query": "bake ", "passage": "salt "}, "default_prompt_name": None}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(named))
    plain = SentenceTransformer(str(folder)).load()
    model = SentenceTransformer(str(folder), query_prompt_name="query", passage_prompt_name="passage")
    prompted = model.load()
    np.testing.assert_allclose(prompted.encode_queries(["bread"]), plain.encode(["bake bread"]), atol=1e-6)
    np.testing.assert_allclose(prompted.encode(["bread"]), plain.encode(["salt bread"]), atol=1e-6)
    np.testing.assert_allclose(plain.encode_queries(["bread"]), plain.encode(["bread"]), atol=1e-6)
    assert not np.allclose(prompted.encode(["bread"]), prompted.encode_queries(["bread"]))
    assert (prompted.facts()["query_prompt_name"], prompted.facts()["passage_prompt_name"]) == ("query", "passage")
    assert identity_key(model) != identity_key(SentenceTransformer(str(folder)))
    with pytest.raises(UsageError, match="token vectors are encoded without"):
        prompted.tokens(["bread"])


@pytest.mark.torch
def test_an_unknown_prompt_name_lists_the_known_ones(folder: Path) -> None:
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    with pytest.raises(UsageError, match="no prompt called questions; leave it out: the model has no prompts"):
        SentenceTransformer(str(folder), query_prompt_name="questions").load()
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "q: ", "passage": "p: "}}))
    with pytest.raises(UsageError, match="no prompt called questions; choose one of query, passage"):
        SentenceTransformer(str(folder), query_prompt_name="questions").load()


@pytest.mark.torch
def test_a_pickle_that_runs_code_is_not_loaded(folder: Path, tmp_path: Path) -> None:
    torch = oracle("torch")
    write_modules(folder, pooling={"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True})
    (folder / "model.safetensors").unlink()
    torch.save({"x": Runs(str(tmp_path / "ran"))}, folder / "pytorch_model.bin")
    with pytest.raises(ExternalError, match="sentence-transformers cannot load it"):
        SentenceTransformer(str(folder)).load()
    assert not (tmp_path / "ran").exists()


class Runs:
    """What a pickle can do: a folder is made when it is read."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (self.path,)


NOWHERE = {"./nowhere": r"^\./nowhere: folder not found; give", "acme/nothing/here": "sentence-transformers cannot load it"}


@pytest.mark.torch
@pytest.mark.parametrize("name", NOWHERE)
def test_a_name_that_does_not_exist_is_an_error(name: str) -> None:
    oracle("sentence_transformers")
    with pytest.raises(ExternalError, match=NOWHERE[name]):
        SentenceTransformer(name).load()


@pytest.mark.torch
def test_a_folder_without_a_model_is_an_error(tmp_path: Path) -> None:
    oracle("sentence_transformers")
    with pytest.raises(ExternalError, match="sentence-transformers cannot load it"):
        TorchCrossEncoder(str(tmp_path)).load()


@pytest.mark.torch
@pytest.mark.parametrize("kind", [SentenceTransformer, TorchCrossEncoder])
def test_weights_that_lack_a_tensor_are_rejected_and_not_filled_at_random(kind: type[Any], tmp_path: Path) -> None:
    oracle("sentence_transformers")
    from safetensors.numpy import save_file

    folder = write_bert(tmp_path / "m", labels=1)
    tensors = bert_tensors(labels=1)
    save_file(
        {name: tensors[name] for name in tensors if name != "encoder.layer.1.output.dense.weight"}, folder / "model.safetensors"
    )
    with pytest.raises(ExternalError, match=r"the weights lack tensors .* such as .*layer\.1\.output\.dense\.weight"):
        kind(str(folder), device="cpu").load()


@pytest.mark.torch
def test_an_encoder_without_a_pooler_is_loaded_without_a_word_on_standard_error(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    oracle("sentence_transformers")
    folder = write_bert(tmp_path / "m")
    assert SentenceTransformer(str(folder), device="cpu").load().encode(["a pan"]).shape == (1, 32)
    assert "pooler" not in capfd.readouterr().err
