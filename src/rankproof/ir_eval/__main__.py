"""The command `python -m rankproof.ir_eval`: ranks with a few systems and prints their measures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankproof._cli.flags import positive_int
from rankproof._cli.terminal import Terminal
from rankproof._version import __version__

if TYPE_CHECKING:
    from rankproof._data.dataset import Dataset
    from rankproof._data.table import Table
    from rankproof._evaluation.notes import Note


PROGRAM = "python -m rankproof.ir_eval"
SUMMARY = "rank by BM25, by an encoder, and by both with a keyword judge, and print precision, MRR and nDCG of each"
USAGE = "[--data FOLDER] [-k N] [options]"
EXAMPLES = f"""\
examples:
  {PROGRAM}
  {PROGRAM} --data my-folder -k 5 --method linear
  {PROGRAM} --model wordllama --format json

the folder has corpus.jsonl, queries.jsonl and qrels.jsonl (or the qrels of a BEIR folder); without
one, the built-in sample is ranked; rankings have 100 documents, all of which count for MRR; the judge
counts keywords and is not a language model"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    from rankproof._cli.main import exit_code_of

    return exit_code_of(_main, sys.argv[1:] if argv is None else argv)


def _main(argv: Sequence[str]) -> int:
    from rankproof._cli.parser import Command, Parser

    command = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
    args = Parser(PROGRAM, SUMMARY, command).parse(argv)
    return run(args, Terminal(quiet=args.quiet, verbose=args.verbose))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The data, the cutoff, the gain and the encoder."""
    parser.add_argument("--version", action="version", version=f"rankproof {__version__}", help="show the version and exit")
    parser.add_argument("--data", metavar="FOLDER", help="documents, queries and judgements (default: the built-in sample)")
    parser.add_argument("-k", type=positive_int, default=10, metavar="N", help="the cutoff of precision and nDCG (default: 10)")
    parser.add_argument(
        "--method", choices=("exponential", "linear"), default="exponential", help="nDCG's gain (default: exponential)"
    )
    parser.add_argument("--model", metavar="NAME", help="the encoder (default: minilm if it is in the cache, else wordllama)")
    parser.add_argument(
        "--format", choices=("table", "json", "csv", "markdown"), default="table", help="output format (default: table)"
    )


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Ranks, measures and prints."""
    from rankproof._render.table import TABLE_RENDERERS

    table = _table(args, _dataset(args.data))
    terminal.show(TABLE_RENDERERS[args.format]([table], terminal.render_options()))
    for note in table.notes:
        terminal.note(note)
    return 0


def _dataset(folder: str | None) -> Dataset:
    from rankproof._importers.registry import read_dataset
    from rankproof._sample import sample_folder

    if folder is not None:
        return read_dataset(folder).require("documents", "judgements")
    with sample_folder() as path:
        return read_dataset(path)


def _table(args: argparse.Namespace, dataset: Dataset) -> Table:
    from rankproof._data.table import Column, Table
    from rankproof._data.text import pluralise
    from rankproof.errors import for_message
    from rankproof.ir_eval._measures import evaluate_run
    from rankproof.ir_eval._retrievers import MODES, default_encoder, run_systems

    model = args.model or default_encoder()
    runs = run_systems(dataset.queries, dataset.corpus, MODES, max(args.k, 100), model=model)
    values = {mode: evaluate_run(run, dataset.qrels, args.k, args.method) for mode, run in runs.items()}
    names = tuple(values[MODES[0]][0])
    sizes = f"{pluralise(len(dataset.corpus), 'document')}, {pluralise(len(dataset.qrels), 'judged query', 'judged queries')}"
    return Table(
        "ir_eval",
        f"{for_message(dataset.name)}: {sizes}; encoder {for_message(model)}; {args.method} gain",
        (Column("system"), *(Column(name, "value") for name in names)),
        tuple((mode, *(means[name] for name in names)) for mode, (means, _) in values.items()),
        sentences=("To test these differences: rankproof run, then rankproof compare.",),
        notes=tuple(_notes(dataset, {mode: notes for mode, (_, notes) in values.items()})),
        facts={"encoder": model, "k": args.k, "method": args.method, "n": len(dataset.qrels)},
    )


def _notes(dataset: Dataset, by_mode: Mapping[str, Sequence[Note]]) -> Iterator[str]:
    """The notes on the dataset, on all systems, and on single systems."""
    from rankproof._experiment.levels import dataset_notes

    yield from dataset_notes(dataset, tuple(dataset.qrels))
    texts_by_mode = {mode: [note.text for note in notes if note.code != "missing-queries"] for mode, notes in by_mode.items()}
    shared = [text for text in next(iter(texts_by_mode.values())) if all(text in texts for texts in texts_by_mode.values())]
    yield from shared
    yield from (f"{mode}: {text}" for mode, texts in texts_by_mode.items() for text in texts if text not in shared)


if __name__ == "__main__":
    sys.exit(main())
