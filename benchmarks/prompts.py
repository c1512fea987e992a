"""Do query and passage prompts help? Trains encoders with and without prompts and uses each with and without them.

    python -m benchmarks.prompts prepare              # copies the collections and makes the training data
    python -m benchmarks.prompts train --device cuda  # trains and evaluates; needs no network and nothing beside the project
    python -m benchmarks.prompts tables               # the tables of docs/models.md

All encoders of a collection have the same tokenizer, network, data, seeds and initial weights. `train` writes a line for each
training to prompts.jsonl.gz in the folder of the variable OUT, or where `tables` reads it; with --seconds it starts no training
after that time. The jobs are in the order of their seeds, so that the seeds that are complete are those of every training.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple

from tools import shared_folder

from rankproof import Dataset, read_dataset
from rankproof._experiment.run import RunOptions
from rankproof._tokenizer_lab.compare import ComparisonPlan, compare_tokenizers
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.measured import MeasuredSystem
from rankproof._tokenizer_lab.splits import OWN_LANGUAGE, find_other_split_queries, read_languages
from rankproof._tokenizer_lab.systems import trained_system
from rankproof._tokenizer_lab.train import plan_steps, train
from rankproof._tokenizer_lab.training_config import TokenizedData, TrainingConfig, batches, tokenize_data
from rankproof._tokenizer_lab.training_data import TrainingData, cached_training_data
from rankproof.models._trained.checkpoint import Prompts, save_checkpoint
from rankproof.stores._memory import Memory

HERE = Path(__file__).parent
WORK = HERE / "work" / "prompts"
DATA, RESULTS = WORK / "data", WORK / "results"
FILE = "prompts.jsonl.gz"
MEASURES = ("nDCG@10", "R@10", "RR")


class Collection(NamedTuple):
    """The split that encoders are trained on, the share of documents whose queries are held out, and the languages."""

    split: str
    holdout: float = 0.0
    languages: tuple[str, ...] = (OWN_LANGUAGE,)


COLLECTIONS = {
    "scifact": Collection("train"),
    "cosqa": Collection("dev"),
    "xquad-en": Collection("test", 0.5, ("all",)),
}
Style = Literal["none", "short", "long"]
STYLES: dict[Style, Prompts] = {
    "none": Prompts(),
    "short": Prompts("query: ", "passage: "),
    "long": Prompts("Represent this query for retrieving relevant documents: ", ""),
}
Budget = Literal["steps", "FLOPs"]


class Training(NamedTuple):
    """The prompts of a training, and what it has in common with the training without prompts: its steps or its FLOPs."""

    style: Style
    budget: Budget = "steps"

    def used_with(self) -> list[Style]:
        """The prompts that the encoder is used with: its own and none; every kind if it was trained without."""
        return list(STYLES) if self.style == "none" else [self.style, "none"]


TRAININGS = [Training("none"), *(Training(style, budget) for style in ("short", "long") for budget in ("steps", "FLOPs"))]


@dataclass(frozen=True, slots=True)
class Sizes:
    """The tokenizer and the config of all trainings."""

    tokenizer: str
    config: TrainingConfig


FULL = Sizes(
    "bpe-16000",
    TrainingConfig(flops=None, steps=2000, parameters=4_000_000, width=192, characters=384, batch=64, learning_rate=5e-4),
)
TINY = Sizes(
    "bpe-1000",
    TrainingConfig(flops=None, steps=4, parameters=100_000, width=32, depth=2, characters=384, batch=8, learning_rate=5e-4),
)


class Job(NamedTuple):
    """One training with its evaluation."""

    collection: str
    training: Training
    seed: int
    sizes: Sizes
    device: Literal["cpu", "cuda"]


def main() -> None:
    """Does one of the three."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.prompts", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("prepare", "train", "tables"))
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder that `tables` reads")
    parser.add_argument("--collections", nargs="+", choices=tuple(COLLECTIONS), default=list(COLLECTIONS))
    parser.add_argument("--repeats", type=int, default=3, help="seeds")
    parser.add_argument("--seed", type=int, default=1, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="trainings at once")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no training starts after this time")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--tiny", action="store_true", help="train tiny networks for a few steps")
    args = parser.parse_args()
    if args.what == "prepare":
        prepare(args.collections)
    elif args.what == "train":
        train_all(args)
    else:
        from .prompt_tables import print_tables

        print_tables(args.results / FILE)


def prepare(names: Sequence[str]) -> None:
    """Copies the collections and makes their training data, which needs BM25."""
    for name in names:
        if reason := shared_folder.missing_data(name):
            raise SystemExit(reason)
        shutil.copytree(shared_folder.DATA / name, DATA / name, copy_function=shutil.copyfile, dirs_exist_ok=True)
        found = training_data(name)
        print(f"{name}: {found.judged_count} judged pairs, {len(found.queries) - found.judged_count} crops", file=sys.stderr)


@cache
def training_data(name: str) -> TrainingData:
    """The training data of a collection, the same for all trainings."""
    folder, collection = str(DATA / name), COLLECTIONS[name]
    languages = read_languages(folder, read_dataset(folder, split=collection.split), collection.languages)
    others = find_other_split_queries(folder, split=collection.split)
    return cached_training_data(str(WORK / "training" / name), languages, FULL.config.data_config(collection.holdout), others)


@cache
def test_data(name: str) -> Dataset:
    """The test split of a collection; the comparison leaves out the queries of the training."""
    return read_dataset(str(DATA / name))


@cache
def tokenized(name: str, sizes: Sizes, style: Style) -> TokenizedData:
    """The training data after its prompts."""
    prompts = STYLES[style]
    config = replace(sizes.config, query_prompt=prompts.query, passage_prompt=prompts.passage)
    return tokenize_data(training_data(name), sizes.tokenizer, config)


@cache
def flops_without_prompts(name: str, sizes: Sizes, seed: int) -> float:
    """The FLOPs of the training without prompts."""
    made = tokenized(name, sizes, "none")
    order = batches(made.training_data, made.config, seed)
    return plan_steps(order, made.config, made.shape, made.queries, made.documents)[1]


def train_all(args: argparse.Namespace) -> None:
    """Trains and evaluates in several processes; a line is written when a training ends."""
    sizes, start = TINY if args.tiny else FULL, time.perf_counter()
    folder = Path(os.environ.get("OUT") or args.results)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).unlink(missing_ok=True)
    jobs = [
        Job(name, training, seed, sizes, args.device)
        for seed in range(args.seed, args.seed + args.repeats)
        for name in args.collections
        for training in TRAININGS
    ]
    with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(run_job, job, start_by=time.time() + args.seconds) for job in jobs]
        for done, future in enumerate(as_completed(waiting), start=1):
            if (error := future.exception()) is not None:
                print(f"a training failed: {error!r}", file=sys.stderr, flush=True)
                continue
            with gzip.open(folder / FILE, "at", encoding="utf-8") as out:
                out.writelines(f"{json.dumps(one)}\n" for one in future.result())
            print(f"{done} of {len(jobs)} after {time.perf_counter() - start:.0f} s", flush=True)
    if not (folder / FILE).is_file():
        raise SystemExit("every training failed")


def run_job(job: Job, *, start_by: float) -> list[dict[str, Any]]:
    """A line for each use of the trained encoder; none after the time."""
    if time.time() > start_by:
        return []
    made = tokenized(job.collection, job.sizes, job.training.style)
    if job.training.budget == "FLOPs":
        flops = flops_without_prompts(job.collection, job.sizes, job.seed)
        made = replace(made, config=replace(made.config, flops=flops))
    outcome = train(made, seed=job.seed, device=job.device, threads=2)
    with TemporaryDirectory() as folder:
        save_checkpoint(folder + "/one", outcome.net, outcome.shape, outcome.tokenizer, outcome.metadata)
        found = compare(job, folder + "/one")
    return [line(job, entry, found, outcome.metadata) for entry in found.entries]


def compare(job: Job, folder: str) -> TokenizerComparison:
    """The encoder with each of its prompts on the queries that it was not trained on."""
    systems = [trained_system(style, {style: folder}, Memory(), job.device, STYLES[style]) for style in job.training.used_with()]
    plan = ComparisonPlan(job.collection, systems, {OWN_LANGUAGE: test_data(job.collection)}, measures=MEASURES)
    return compare_tokenizers(plan, RunOptions(cache=None, latency_queries=1))


def line(job: Job, entry: MeasuredSystem, found: TokenizerComparison, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What `tables` needs of one use of an encoder."""
    counts = entry.counts
    assert counts.query_read is not None
    assert counts.document_read is not None
    return {
        "collection": job.collection,
        "style": job.training.style,
        "budget": job.training.budget,
        "used": entry.system,
        "seed": job.seed,
        "tokenizer": job.sizes.tokenizer,
        "parameters": counts.parameters,
        "documents": found.documents,
        "left_out": found.left_out,
        "judged_count": metadata["data"]["judged_count"],
        "query_tokens": counts.query_read.mean,
        "document_tokens": counts.document_read.mean,
        **{name: metadata[name] for name in ("steps", "flops", "seconds", "device", "library")},
        "loss": metadata["losses"][-1][1],
        "queries": entry.queries,
        "values": {name: entry.values[name][0].tolist() for name in MEASURES},
    }


if __name__ == "__main__":
    main()
