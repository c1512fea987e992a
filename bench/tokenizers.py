"""`python -m bench.tokenizers strategies | tables FOLDER…`: what docs/tokenizers.md shows.

`strategies` times ByT5-small and CANINE-s of the real configurations with random weights, and a BPE with an untrained LSTM, in
memory and in pgvector, on a part of XQuAD: weights do not change how long a text takes. `tables` prints the Markdown of folders
that `rankproof tokenizers compare` wrote, and puts their charts into docs/img.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankproof import Settings
from rankproof.cli.main import main as rankproof
from rankproof.data.corpus import Corpus
from rankproof.data.dataset import Dataset
from rankproof.data.qrels import Qrels
from rankproof.data.queries import Queries
from rankproof.experiment.draw import drawn_queries
from rankproof.formats import read_dataset
from rankproof.formats.folder import write_folder
from rankproof.lab.comparing.compare import compare
from rankproof.lab.comparing.comparison import Comparison
from rankproof.lab.comparing.contestants import encoder, lexical
from rankproof.lab.comparing.entry import SLOW_MS, Entry
from rankproof.lab.comparing.folder import CHARTS, CONCLUSION, is_comparison, save_comparison
from rankproof.lab.comparing.plan import Plan
from rankproof.lab.comparing.standing import remarks
from rankproof.lab.lessons.languages import OWN
from rankproof.stores.registry import store_named

HERE = Path(__file__).parent
DATA = HERE.parents[1] / "shared" / "data" / "xquad-en"
WORK = HERE / "work" / "strategies"
IMAGES = HERE.parent / "docs" / "img"
BYT5_SMALL = {"vocab_size": 384, "d_model": 1472, "d_kv": 64, "d_ff": 3584, "num_layers": 12, "num_decoder_layers": 4} | {
    "num_heads": 6,
    "feed_forward_proj": "gated-gelu",
    "tie_word_embeddings": False,
    "tokenizer_class": "ByT5Tokenizer",
}
"""Of google/byt5-small; CANINE-s has the defaults of its configuration."""
LSTM = ("--kinds", "bpe-4000", "--body", "lstm", "--steps", "0", "--width", "768", "--depth", "2", "--parameters", "12000000")


def main() -> None:
    """Does one of the two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("strategies", "tables"))
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--documents", type=int, default=60)
    args = parser.parse_args()
    if args.what == "tables":
        for folder in args.folders:
            show_folder(folder)
    elif DATA.is_dir():
        strategies(args.queries, args.documents)
    else:
        print("there is no xquad-en beside the project: skipped", file=sys.stderr)


def strategies(queries: int, documents: int) -> None:
    """Compares the three in both stores and prints what the seed guessed beside what was found."""
    folder = _data(queries, documents)
    byt5, canine = _nets()
    trials = WORK / f"lstm-{queries}-{documents}"
    if not trials.is_dir() and rankproof(
        ["tokenizers", "train", str(folder), "--split", "test", "--repeats", "1", *LSTM, "-o", str(trials)]
    ):
        raise SystemExit("the LSTM could not be made")
    lstm = next(path.parent for path in trials.rglob("trial.json"))
    specs = (f"byt5:{byt5}", f"canine:{canine}", f"bpe:{lstm}")
    for name in ("memory", "pgvector"):
        systems = [*(encoder(spec, store_named(name)) for spec in specs), lexical("words")]
        plan = Plan(
            f"{queries} queries of xquad-en", systems, {OWN: read_dataset(str(folder))}, measures=["RR", "nDCG@10"], store=name
        )
        found = compare(plan, Settings(cache=WORK / "cache"))
        save_comparison(found, WORK / f"in-{name}", conclusion="")
        print("\n".join([f"\n**{name}**\n", *table(found), "", *answers(found)]))


def table(found: Comparison) -> list[str]:
    """A row a strategy."""
    head = ["strategy", "parameters", "tokens/query", "ms/document", "embed ms", "retrieval ms", "total ms", "p95", "over 100 ms"]
    head += ["recall@1", "recall@10", "MRR"]
    rows = [_row(entry) for entry in found.under(found.first)]
    return [f"| {' | '.join(row)} |" for row in (head, [":---", *["---:"] * (len(head) - 1)], *rows)]


def _row(entry: Entry) -> list[str]:
    counts = entry.counts
    times = [float(np.median(entry.ms(part))) for part in ("embed", "search", "total")]
    return [
        entry.system,
        "–" if counts.parameters is None else f"{counts.parameters:,}",
        "–" if counts.query_tokens is None else f"{counts.query_tokens.mean:.1f}",
        "–" if entry.encode_ms is None else f"{entry.encode_ms:.0f}",
        *(f"{time:.2f}" for time in (*times, float(np.percentile(entry.ms("total"), 95)))),
        f"{int(entry.slow.sum())} of {len(entry.queries)}",
        *(f"{entry.mean(name):.3f}" for name in ("R@1", "R@10", "RR")),
    ]


def answers(found: Comparison) -> list[str]:
    """The guesses, answered by the numbers."""
    dense = [entry for entry in found.under(found.first) if entry.family == "encoder"]
    order = sorted(dense, key=lambda entry: -float(np.median(entry.ms("total"))))
    slow = [f"{entry.system} {int(entry.slow.sum())} of {len(entry.queries)}" for entry in dense if entry.slow.any()]
    chance = "unknown" if found.chance is None else f"{found.chance:.3f}"
    mrr = ", ".join(f"{entry.system} {entry.mean('RR'):.3f}" for entry in dense)
    said = [
        f"slowest first: {', '.join(entry.system for entry in order)}",
        f"queries over {SLOW_MS:.0f} ms: {', '.join(slow) if slow else 'none'}",
        f"MRR with random weights: {mrr}; of a random ranking of the {found.documents} documents: {chance}",
        "a guess at the MRR of trained weights, CANINE's .05 to .10, cannot be answered without those weights",
        *remarks(dense, found.main, found.chance),
    ]
    return [f"- {sentence}" for sentence in said]


def show_folder(folder: Path) -> None:
    """The tables of one comparison, and its charts as pictures of the docs."""
    if not is_comparison(str(folder)):
        raise SystemExit(f"{folder} is no comparison: write it with rankproof tokenizers compare -o")
    print(f"## {folder.name}\n\n{(folder / CONCLUSION).read_text()}")
    for name in CHARTS:
        if (folder / f"{name}.png").is_file():
            target = IMAGES / f"tokenizers-{folder.name}-{name}.png"
            shutil.copyfile(folder / f"{name}.png", target)
            print(f"![{name} on {folder.name}](img/{target.name})")


def _data(queries: int, documents: int) -> Path:
    """Drawn queries, the documents that answer them, and others up to so many."""
    folder = WORK / f"data-{queries}-{documents}"
    if not folder.is_dir():
        whole = read_dataset(str(DATA))
        drawn = drawn_queries(whole, queries, 0)
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


def _nets() -> Sequence[Path]:
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


if __name__ == "__main__":
    main()
