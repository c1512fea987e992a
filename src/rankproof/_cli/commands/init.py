"""`rankproof init`: writes an example experiment file."""

from __future__ import annotations

import argparse
import os

from rankproof._cli.parser import Command
from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError
from rankproof.stages._engines.request import presets

USAGE = "[FILE] [--preset NAME] [--force]"
EXAMPLES = f"""\
examples:
  rankproof init                       write experiment.toml
  rankproof init shop.toml --force
  rankproof init -                     show it on standard output
  rankproof init --preset solr         measure a Solr server

The file holds the default systems and describes every setting, or with --preset BM25 and a search engine behind HTTP.
Change it, then run: rankproof run experiment.toml

Presets: {", ".join(presets())}"""
FILE = "experiment.toml"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the file and the preset."""
    parser.add_argument(
        "file",
        nargs="?",
        default=FILE,
        metavar="FILE",
        help="the file to write, - for standard output (default: experiment.toml)",
    )
    parser.add_argument(
        "--preset", choices=tuple(presets()), metavar="NAME", help="write a file that measures this search engine behind HTTP"
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Writes the default systems, or BM25 and an engine, as a commented file."""
    from rankproof._experiment.config_write import preset_toml, starter_toml
    from rankproof._io.files import write_blocks

    text = preset_toml(presets()[args.preset]) if args.preset else starter_toml()
    if args.file in STDOUT:
        terminal.show(text)
        return 0
    if os.path.lexists(args.file) and not args.force:
        raise UsageError(f"{args.file} exists", fix="specify another file, or overwrite it with --force")
    write_blocks(args.file, [text.encode()])
    terminal.note(f"{args.file} written; change it, then: rankproof run {args.file}")
    return 0


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run)
