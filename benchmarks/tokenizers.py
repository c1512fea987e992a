"""The tables of docs/tokenizers.md: `python -m benchmarks.tokenizers strategies | tables FOLDER…`.

`strategies` times ByT5-small and CANINE-s in their real configurations with random weights, and BPE with an untrained LSTM, in
memory and in pgvector, on a part of XQuAD; weights do not change the time. `tables` prints the Markdown of folders that
`rankproof tokenizers compare` wrote, and copies their charts to docs/img.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tools.shared_folder import missing_data

from rankproof._data.text import pluralise
from rankproof._importers.registry import read_dataset
from rankproof._tokenizer_lab.compare import ComparisonPlan, compare_tokenizers
from rankproof._tokenizer_lab.comparison import TokenizerComparison
from rankproof._tokenizer_lab.files import CHART_NAMES, CONCLUSION_FILE, is_comparison_folder, save_comparison
from rankproof._tokenizer_lab.measured import SLOW_MS, MeasuredSystem, system_notes
from rankproof._tokenizer_lab.splits import OWN_LANGUAGE
from rankproof._tokenizer_lab.systems import encoder_system, lexical_system
from rankproof.stores._registry import store_by_name
from rankproof.types import RunOptions

from .bm25_tokens import markdown
from .untrained_encoders import WORK, data, lstm, nets

HERE = Path(__file__).parent
IMAGES = HERE.parent / "docs" / "img"


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
    elif reason := missing_data("xquad-en"):
        print(f"{reason}: skipped", file=sys.stderr)
    else:
        strategies(args.queries, args.documents)


def strategies(queries: int, documents: int) -> None:
    """Compares the three in both stores and prints what the seed guessed beside what was found."""
    folder = data(queries, documents)
    byt5, canine = nets()
    specs = (f"byt5:{byt5}", f"canine:{canine}", f"bpe:{lstm(folder)}")
    for name in ("memory", "pgvector"):
        systems = [*(encoder_system(spec, store_by_name(name)) for spec in specs), lexical_system("words")]
        plan = ComparisonPlan(
            f"{queries} queries of xquad-en",
            systems,
            {OWN_LANGUAGE: read_dataset(str(folder))},
            measures=["RR", "nDCG@10"],
            store=name,
        )
        found = compare_tokenizers(plan, RunOptions(cache=WORK / "cache"))
        save_comparison(found, WORK / f"in-{name}", conclusion="")
        print("\n".join([f"\n**{name}**\n", *table(found), "", *answers(found)]))


def table(found: TokenizerComparison) -> list[str]:
    """A row a strategy."""
    head = ["strategy", "parameters", "tokens/query", "ms/document", "embed ms", "retrieval ms", "total ms", "p95", "over 100 ms"]
    head += ["recall@1", "recall@10", "MRR"]
    rows = [_row(entry) for entry in found.at_condition(found.base_condition)]
    return markdown([head, *rows])


def _row(entry: MeasuredSystem) -> list[str]:
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


def answers(found: TokenizerComparison) -> list[str]:
    """Sentences about speed and quality."""
    dense = [entry for entry in found.at_condition(found.base_condition) if entry.family == "encoder"]
    order = sorted(dense, key=lambda entry: -float(np.median(entry.ms("total"))))
    slow = [f"{entry.system} {int(entry.slow.sum())} of {len(entry.queries)}" for entry in dense if entry.slow.any()]
    chance = "unknown" if found.chance is None else f"{found.chance:.3f}"
    mrr = ", ".join(f"{entry.system} {entry.mean('RR'):.3f}" for entry in dense)
    sentences = [
        f"slowest first: {', '.join(entry.system for entry in order)}",
        f"queries over {SLOW_MS:.0f} ms: {', '.join(slow) if slow else 'none'}",
        f"MRR with random weights: {mrr}; of a random ranking of the {found.documents} documents: {chance}",
        "a guess at the MRR of trained weights, CANINE's .05 to .10, cannot be answered without those weights",
        *system_notes(dense, found.main, found.chance),
    ]
    return [f"- {sentence}" for sentence in sentences]


def summary(folder: Path) -> list[str]:
    """A row a system in its own language: what docs/tokenizers.md shows of a collection."""
    with open(folder / "comparison.csv", encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["language"] == OWN_LANGUAGE]
    edits = sorted({row["edits"] for row in rows} - {"0"})
    head = ["system", "steps", "read/document", "tokens/query", "unknown", "nDCG@10 [95 %]", "seeds", "R@10", "MRR"]
    changed = {(row["system"], row["edits"]): f"{float(row['nDCG@10']):.3f}" for row in rows}
    plain = [[*_summed(row), *(changed[row["system"], one] for one in edits)] for row in rows if row["edits"] == "0"]
    return markdown([[*head, *(pluralise(int(one), "edit") for one in edits)], *plain])


def _summed(row: Mapping[str, str]) -> list[str]:
    mean, low, high, least, most = (float(row[f"nDCG@10{part}"]) for part in ("", " low", " high", " min", " max"))
    steps = re.search(r"(\d+) steps", row["training"])
    read = row["sequence_document_mean"] or row["tokens_document_mean"]
    return [
        row["system"],
        f"{int(steps[1]):,}" if steps else "–",
        f"{float(read):.0f}",
        f"{float(row['tokens_query_mean']):.0f}",
        f"{float(row['unknown_share']):.1%}",
        f"**{mean:.3f}** [{low:.3f}, {high:.3f}]",
        f"{least:.3f}–{most:.3f}" if int(row["repeats"]) > 1 else "–",
        *(f"{float(row[name]):.3f}" for name in ("recall@10", "mrr")),
    ]


def show_folder(folder: Path) -> None:
    """The tables of one comparison, and its charts as pictures of the docs."""
    if not is_comparison_folder(str(folder)):
        raise SystemExit(f"{folder} is no comparison: write it with rankproof tokenizers compare -o")
    print("\n".join([f"## {folder.name}\n", *summary(folder), "", (folder / CONCLUSION_FILE).read_text()]))
    for name in CHART_NAMES:
        if (folder / f"{name}.png").is_file():
            target = IMAGES / f"tokenizers-{folder.name}-{name}.png"
            shutil.copyfile(folder / f"{name}.png", target)
            print(f"![{name} on {folder.name}](img/{target.name})")


if __name__ == "__main__":
    main()
