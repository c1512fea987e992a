"""`rankproof convert`: converts a run, judgements or a dataset to another format."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rankproof._cli.flags import GRADES, add_flags
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, check_output
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._formats.write import ConvertResult


USAGE = "IN OUT [--kind K] [--from F] [--to F] [options]"
EXAMPLES = """\
examples:
  rankproof convert bm25.run bm25.parquet
  rankproof convert esci.csv esci.qrels --grade-map E=3,S=2,C=1,I=0
  rankproof convert run.json - --to trec | head
  rankproof convert beir/scifact scifact.qrels

The format and kind of the input are detected from its content, the format of the output from its
suffix; .gz and .zst compress"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the input, the output and their formats."""
    from rankproof._api.datasets import convert

    parser.add_argument("source", metavar="IN", help="a file, a dataset folder, irds:NAME, sample, or - for standard input")
    parser.add_argument("target", metavar="OUT", help="a file or folder, or - for standard output")
    add_flags(parser, convert, ("kind", "source_format", "target_format", "delimiter", "encoding", *GRADES, "on_duplicate"))


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Converts the input and shows what was written."""
    check_output(args.target, [args.source])
    if args.target != "-":
        done = _convert(args, args.target)
    elif args.target_format is None or args.kind == "dataset":
        raise UsageError("standard output needs a format and takes one file", fix="specify the format, such as --to trec")
    else:
        with _folder() as folder:
            path = os.path.join(folder, "out")
            done = _convert(args, path)
            terminal.show_bytes(_blocks(path))
    for note in (done.summary, *done.notes):
        terminal.note(note)
    return 0


def _convert(args: argparse.Namespace, target: str) -> ConvertResult:
    from rankproof._api.datasets import convert

    return convert(
        args.source,
        target,
        kind=args.kind,
        source_format=args.source_format,
        target_format=args.target_format,
        delimiter=args.delimiter,
        encoding=args.encoding,
        grade_map=args.grade_map,
        on_conflict=args.on_conflict,
        on_duplicate=args.on_duplicate,
    )


@contextmanager
def _folder() -> Iterator[str]:
    from rankproof._io.paths import working_folder

    with working_folder() as folder:
        yield folder.path


def _blocks(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            yield block


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
