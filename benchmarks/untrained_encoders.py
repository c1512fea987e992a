"""A part of XQuAD and untrained encoders of real size, for `python -m benchmarks.tokenizers strategies`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools import shared_folder

from rankproof._cli.main import main as rankproof
from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._experiment.queries import select_judged
from rankproof._formats.read import write_folder
from rankproof._importers.registry import read_dataset
from rankproof.models._trained.checkpoint import METADATA_FILE

HERE = Path(__file__).parent
DATA = shared_folder.DATA / "xquad-en"
WORK = HERE / "work" / "strategies"
BYT5_SMALL = {"vocab_size": 384, "d_model": 1472, "d_kv": 64, "d_ff": 3584, "num_layers": 12, "num_decoder_layers": 4} | {
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
    "tokenizer_class": "ByT5Tokenizer",
}
"""Of google/byt5-small; CANINE-s has the defaults of its configuration."""
LSTM = (
    "--tokenizers",
    "bpe-4000",
    "--architecture",
    "lstm",
    "--steps",
    "0",
    "--width",
    "768",
    "--depth",
    "2",
    "--parameters",
    "12000000",
)


def data(queries: int, documents: int) -> Path:
    """Drawn queries, the documents that answer them, and others up to so many."""
    folder = WORK / f"data-{queries}-{documents}"
    if not folder.is_dir():
        whole = read_dataset(str(DATA))
        drawn = select_judged(whole, queries, 0)
        wanted = dict.fromkeys(doc for query in drawn for doc in whole.qrels[query])
        kept = [*wanted, *(doc for doc in whole.corpus if doc not in wanted)][: max(documents, len(wanted))]
        part = Dataset(
            folder.name,
            Corpus(whole.corpus[doc] for doc in kept),
            Queries(whole.queries[query] for query in drawn),
            Qrels.from_dict({query: dict(whole.qrels[query]) for query in drawn}),
        )
        WORK.mkdir(parents=True, exist_ok=True)
        write_folder(part, str(folder))
    return folder


def nets() -> Sequence[Path]:
    """ByT5-small's encoder and CANINE-s, as large as the real ones, with random weights from a fixed seed."""
    import torch
    from transformers import CanineConfig, CanineModel, T5Config, T5EncoderModel

    made: dict[str, Any] = {
        "byt5-small": lambda: T5EncoderModel(T5Config(**BYT5_SMALL)),
        "canine-s": lambda: CanineModel(CanineConfig()),
    }
    for name, make in made.items():
        if not (WORK / name / "config.json").is_file():
            torch.manual_seed(0)
            make().save_pretrained(WORK / name)
    return [WORK / name for name in made]


def lstm(folder: Path) -> Path:
    """An untrained LSTM over a BPE of the folder's documents."""
    checkpoints = WORK / f"lstm-{folder.name}"
    if not checkpoints.is_dir() and rankproof(
        ["tokenizers", "train", str(folder), "--split", "test", "--repeats", "1", *LSTM, "-o", str(checkpoints)]
    ):
        raise SystemExit("the LSTM could not be written")
    return next(path.parent for path in checkpoints.rglob(METADATA_FILE))
