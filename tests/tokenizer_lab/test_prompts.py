"""Prompts in training and in use: before queries and passages, within the budget and the characters, and noted if they differ."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rankproof._cli.main import main
from rankproof._cli.options import read_dataset_or_sample
from rankproof._data.dataset import Query
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._tokenizer_lab.systems import encoder_system, find_trained_systems
from rankproof._tokenizer_lab.token_counts import document_counts
from rankproof._tokenizer_lab.train import plan_steps
from rankproof._tokenizer_lab.training_config import TrainingConfig, batches, tokenize_data
from rankproof._tokenizer_lab.training_data import TrainingData, TrainingDataConfig, build_training_data
from rankproof.errors import UsageError
from rankproof.models import TrainedEncoder
from rankproof.models._trained.checkpoint import Prompts, open_checkpoint
from rankproof.stages import BM25, BiEncoderScorer, Dense, Rerank
from rankproof.stages._text_vectors import add_prompt
from rankproof.stores._memory import Memory
from support.small_datasets import ASKED, small_dataset
from support.tokenizer_comparisons import compared, save_tiny_checkpoint

PLAIN = TrainingConfig(flops=None, steps=3, parameters=80_000, batch=8, characters=64, width=32, depth=2, crops=4, negatives=3)
PROMPTED = replace(PLAIN, query_prompt="Query: ", passage_prompt="Passage: ")
PROMPTS = {"query_prompt": "query: ", "passage_prompt": "passage: "}
KINDS = ("bytes", "bpe-300", "wordpiece-300")


@pytest.fixture(scope="module")
def training_data() -> TrainingData:
    config = TrainingDataConfig(holdout=0.5, crops=4, characters=64, negatives=3)
    return build_training_data({"own": read_dataset_or_sample("sample")}, config)


def words(ids: np.ndarray) -> str:
    """The text of bytes."""
    return bytes((ids[ids != 0] - 1).astype(np.uint8)).decode(errors="replace")


def test_prompts_come_before_queries_and_passages_and_count_towards_the_characters(training_data: TrainingData) -> None:
    made = tokenize_data(training_data, "bytes", PROMPTED)
    for row, text in zip(made.queries.ids, training_data.queries, strict=True):
        assert words(row).startswith("query: " + text[:10].lower())
    assert all(words(row).startswith("passage: ") for row in made.documents.ids)
    assert max(len(words(row)) for row in made.documents.ids) == PROMPTED.characters


@pytest.mark.parametrize("kind", KINDS)
def test_training_reads_the_ids_that_the_encoder_reads_in_search(training_data: TrainingData, kind: str) -> None:
    made = tokenize_data(training_data, kind, PROMPTED)
    for prompt, texts, table in (
        (PROMPTED.query_prompt, training_data.queries, made.queries),
        (PROMPTED.passage_prompt, training_data.documents, made.documents),
    ):
        searched = made.tokenizer.ids([made.shape.read(add_prompt(prompt, text)) for text in texts])
        assert all(np.array_equal(ids, row[: len(ids)]) for ids, row in zip(searched, table.ids, strict=True))
        assert table.lengths.tolist() == [len(ids) for ids in searched]


@pytest.mark.parametrize("kind", KINDS)
def test_prompts_change_neither_the_tokenizer_nor_the_network(training_data: TrainingData, kind: str) -> None:
    with_prompts, without = (tokenize_data(training_data, kind, config) for config in (PROMPTED, PLAIN))
    assert with_prompts.tokenizer == without.tokenizer
    assert with_prompts.shape == without.shape


def test_the_tokens_of_prompts_cost_flops(training_data: TrainingData) -> None:
    def spent(config: TrainingConfig) -> tuple[int, float]:
        made = tokenize_data(training_data, "bpe-300", config)
        steps, flops = plan_steps(batches(training_data, config, 1), config, made.shape, made.queries, made.documents)
        return len(steps), flops

    steps, flops = spent(replace(PLAIN, steps=30))
    more = spent(replace(PROMPTED, steps=30))
    assert more[0] == steps
    assert more[1] > 1.05 * flops
    same = spent(replace(PROMPTED, steps=30, flops=flops))
    assert same[0] < steps
    assert 0.9 * flops < same[1] <= flops


def test_a_config_without_prompts_is_described_as_before_there_were_prompts() -> None:
    assert "query_prompt" not in PLAIN.describe()
    assert "passage_prompt" not in replace(PLAIN, query_prompt="q ").describe()
    assert {**PLAIN.describe(), "query_prompt": "Query: ", "passage_prompt": "Passage: "} == PROMPTED.describe()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"query_prompt": "x" * 64}, "query_prompt has 64 characters, and the network reads 64 of each text"),
        ({"passage_prompt": None}, "passage_prompt is a NoneType; pass text"),
    ],
)
def test_a_prompt_that_leaves_no_text_to_read_is_refused(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        replace(PLAIN, **wrong)  # type: ignore[arg-type]
    replace(PLAIN, query_prompt="x" * 63)


@pytest.mark.torch
def test_a_checkpoint_is_compared_with_its_prompts_each_in_its_role(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1, prompts=PROMPTS)
    for system in (*find_trained_systems(str(tmp_path), Memory()).systems, encoder_system(str(tmp_path / "bytes-1"), Memory())):
        (stage,) = system.stages("own").values()
        assert isinstance(stage, Dense)
        assert (stage.query_prompt, stage.passage_prompt) == ("query: ", "passage: ")


@pytest.mark.torch
def test_all_prompts_give_the_four_combinations_of_training_and_use(tmp_path: Path) -> None:
    for seed in (1, 2):
        save_tiny_checkpoint(tmp_path / "plain" / f"bytes-{seed}", "bytes", seed)
        save_tiny_checkpoint(tmp_path / "prompts" / f"bytes-{seed}", "bytes", seed, prompts=PROMPTS)
    found = find_trained_systems(str(tmp_path), Memory(), prompts="all")
    uses = {
        system.name: {(stage.query_prompt, stage.passage_prompt) for stage in system.stages("own").values()}  # type: ignore[attr-defined]
        for system in found.systems
    }
    assert uses == {
        "plain/bytes": {("", "")},
        "plain/bytes, prompts of prompts/bytes": {("query: ", "passage: ")},
        "prompts/bytes": {("query: ", "passage: ")},
        "prompts/bytes, no prompts": {("", "")},
    }
    assert all(len(system.repeats) == 2 for system in found.systems)
    assert found.notes == ()


@pytest.mark.torch
def test_only_what_differs_besides_the_comparison_is_noted(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "plain" / "bytes-1", "bytes", 1)
    save_tiny_checkpoint(tmp_path / "e5-style" / "bytes-4-1", "bytes-4", 1, prompts=PROMPTS)
    alone = "their differences are not due to the tokenizer alone"
    assert find_trained_systems(str(tmp_path), Memory()).notes == (f"the encoders were trained with different prompts: {alone}",)


@pytest.mark.torch
def test_repeats_with_different_prompts_are_an_error(tmp_path: Path) -> None:
    save_tiny_checkpoint(tmp_path / "bytes-1", "bytes", 1)
    save_tiny_checkpoint(tmp_path / "bytes-2", "bytes", 2, prompts=PROMPTS)
    with pytest.raises(UsageError, match="differ in more than their seed"):
        find_trained_systems(str(tmp_path), Memory())


NOTES = {
    ("plain", "", ""): [],
    ("prompted", "query: ", "passage: "): [],
    ("prompted", "", "passage: "): ["the encoder was trained with the query prompt 'query: ' and is used with no query prompt"],
    ("prompted", "query: ", "text: "): [
        "the encoder was trained with the passage prompt 'passage: ' and is used with the passage prompt 'text: '"
    ],
    ("plain", "query: ", ""): ["the encoder was trained with no query prompt and is used with the query prompt 'query: '"],
}


@pytest.mark.torch
@pytest.mark.parametrize(("trained", "query", "passage"), NOTES)
def test_other_prompts_than_in_training_are_noted(tmp_path: Path, trained: str, query: str, passage: str) -> None:
    source = str(save_tiny_checkpoint(tmp_path / "one", "bytes", 1, prompts=PROMPTS if trained == "prompted" else None))
    model = TrainedEncoder(source, "cpu")
    dense = Dense(model, query, passage)
    reranked = Rerank(BM25(), BiEncoderScorer(model, query, passage))
    found = run_experiment(Experiment({"dense": dense, "reranked": reranked}, small_dataset()), RunOptions(cache=None))
    for name in ("dense", "reranked"):
        notes = [note for note in found.system_run(name).notes if "the encoder was trained" in note]
        assert notes == NOTES[trained, query, passage]


@pytest.mark.torch
def test_facts_have_the_prompts_of_the_training(tmp_path: Path) -> None:
    prompted = save_tiny_checkpoint(tmp_path / "prompted", "bytes", 1, prompts={"query_prompt": "q: "})
    plain = save_tiny_checkpoint(tmp_path / "plain", "bytes", 1)
    assert open_checkpoint(prompted).prompts == Prompts("q: ", "")
    assert TrainedEncoder(str(prompted), "cpu").load().facts()["prompts"] == {"query": "q: "}
    assert "prompts" not in TrainedEncoder(str(plain), "cpu").load().facts()


@pytest.mark.torch
def test_token_counts_have_the_prompts_in_them(tmp_path: Path) -> None:
    source = str(save_tiny_checkpoint(tmp_path / "one", "bytes", 1))
    corpus, texts = small_dataset().corpus, [Query(query, text).text for query, text in ASKED.items()]
    plain, prompted = (
        document_counts(stage, corpus).with_queries(texts, {})
        for stage in (Dense(TrainedEncoder(source)), Dense(TrainedEncoder(source), "query: ", "passage: "))
    )
    for name, added in (("document_tokens", 9), ("query_tokens", 7), ("document_read", 9), ("query_read", 7)):
        assert getattr(prompted, name).mean == pytest.approx(getattr(plain, name).mean + added)


@pytest.mark.torch
def test_encoders_trained_with_and_without_prompts_are_compared_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("torch", reason="the extra torch is not installed")
    small = ("--width", "32", "--depth", "2", "--parameters", "30000", "--batch", "8", "--characters", "64", "--crops", "2")
    data = ("--split", "test", "--holdout", "0.5", "--device", "cpu", "--threads", "1", "--tokenizers", "bytes-4", *small)
    told = (*data, "--steps", "1", "--repeats", "2")
    prompts = ("--query-prompt", "query: ", "--passage-prompt", "passage: ")
    assert main(["tokenizers", "train", "sample", *told, "-o", str(tmp_path / "e" / "plain")]) == 0
    assert main(["tokenizers", "train", "sample", *told, *prompts, "-o", str(tmp_path / "e" / "prompts")]) == 0
    assert open_checkpoint(tmp_path / "e" / "prompts" / "bytes-4-1").prompts == Prompts("query: ", "passage: ")
    assert main(["tokenizers", "train", "sample", *told, "-o", str(tmp_path / "e" / "prompts")]) == 2
    assert "was trained with another config" in capsys.readouterr().err
    cache = str(tmp_path / "cache")
    asked = ("sample", "--checkpoints", str(tmp_path / "e"), "--lexical", "none", "--format", "csv", "--cache", cache)
    assert compared(*asked, "--prompts", "all", "--limit", "5", "--notes") == 0
    shown = capsys.readouterr()
    names = [row.split(",trained,")[0].strip('"') for row in shown.out.splitlines()[1:]]
    assert names == [
        "plain/bytes-4",
        "plain/bytes-4, prompts of prompts/bytes-4",
        "prompts/bytes-4",
        "prompts/bytes-4, no prompts",
    ]
    assert "prompts/bytes-4, no prompts: the encoder was trained with the query prompt 'query: '" in shown.err


def test_prompts_without_checkpoints_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert compared("sample", "--prompts", "all") == 2
    assert "--prompts is for checkpoints, and there are none" in capsys.readouterr().err
