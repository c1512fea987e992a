"""Local language models that rerank, answer and judge.

`python -m benchmarks.language_models sample` runs SmolLM2 (135 million parameters) on the built-in sample; `… xquad` runs
Qwen2.5-Coder-1.5B-Instruct on the top 5 of BM25 for 30 questions of XQuAD. --gguf names its file, which is joined from the wheels
in --wheels. Replies are cached under benchmarks/work/llm.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from tools import shared_folder

from rankproof._data.identity import identity
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.judgements import load_dataset
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._judge.judges import Judge, KeywordOverlapJudge, LLMJudge
from rankproof._judge.pairs import pool_pairs
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.session import LLMSession
from rankproof._results.experiment_result import ExperimentResult
from rankproof.models._chat.base import ChatModel
from rankproof.models._chat.llama_cpp import Llama, SmolLM2
from rankproof.stages import BM25, ExtractAnswer, GenerateAnswer, Listwise, Pointwise, Rerank
from rankproof.stages._base import Stage

from .gguf_parts import joined
from .language_model_tables import MEASURES, answered, judged, reranked, separated
from .without_logprobs import WithoutLogprobs

WORK = Path(__file__).parent / "work" / "llm"
GGUF = WORK / "qwen2.5-coder-1.5b-instruct.gguf"
XQUAD = str(shared_folder.DATA / "xquad-en")
TOP = 5
ONCE = 1
"""One attempt, so that the tables show the first reply."""


def sample(limit: int, threads: int) -> None:
    """Reranking, answering and judging by SmolLM2, each beside its baseline."""
    model, below = SmolLM2(), BM25()
    systems: dict[str, Stage] = {
        "BM25": below,
        "pointwise": Rerank(below, Pointwise(model, attempts=ONCE), top=TOP),
        "listwise": Rerank(below, Listwise(model, attempts=ONCE), top=TOP),
        "the best sentence": ExtractAnswer(below, top=TOP),
        "SmolLM2": GenerateAnswer(below, model, top=TOP, attempts=ONCE),
    }
    found = run_systems(systems, "sample", limit, threads)
    print_model(model, found)
    reranked([found])
    answered(found)
    dataset = load_dataset(Experiment(systems))
    with LLMSession(ResponseCaches(WORK), threads=threads) as session:
        judges: dict[str, Judge] = {"shared words": KeywordOverlapJudge(), "SmolLM2": LLMJudge(model, attempts=ONCE)}
        judged(dataset, pool_pairs(found.system_run("BM25").run, TOP), judges, session)


def xquad(path: Path, limit: int, threads: int) -> None:
    """Reranking by a capable model: pointwise by log-probabilities and by text, and listwise."""
    model, below = Llama(str(path)), BM25()
    ways: dict[str, Stage] = {"pointwise, log-probabilities": Rerank(below, Pointwise(model, attempts=ONCE), top=TOP)}
    first = run_systems({"BM25": below, **ways}, XQUAD, limit, threads)
    by_text = Rerank(below, Pointwise(WithoutLogprobs(model, WORK), attempts=ONCE), top=TOP)
    second = run_systems({"pointwise, text": by_text}, XQUAD, limit, threads)
    third = run_systems({"listwise": Rerank(below, Listwise(model, attempts=ONCE), top=TOP)}, XQUAD, limit, threads)
    print_model(model, first)
    reranked([first, second, third])
    dataset = load_dataset(Experiment({"BM25": below}, XQUAD))
    with LLMSession(ResponseCaches(WORK), threads=threads) as session:
        separated(dataset, pool_pairs(first.system_run("BM25").run, TOP), Pointwise(model), session)


def run_systems(systems: dict[str, Stage], dataset: str, limit: int, threads: int) -> ExperimentResult:
    """The results; progress goes to standard error."""
    start = time.monotonic()

    def progress(label: str, done: int, total: int) -> None:
        print(f"{time.monotonic() - start:6.0f} s  {label} {done} of {total}", file=sys.stderr)

    return run_experiment(
        Experiment(systems, dataset, limit=limit, measures=MEASURES), RunOptions(WORK, threads=threads, progress=progress)
    )


def print_model(model: ChatModel, found: ExperimentResult) -> None:
    """Which model, on how many queries of what."""
    where, revision = found.provenance["dataset"], identity(model)["revision"]
    print(f"{len(found.queries)} queries of {where}, drawn by seed 0; the top {TOP} of BM25; {type(model).__name__} {revision}\n")


def main() -> None:
    """Prints Markdown tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language_models", description=__doc__)
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
