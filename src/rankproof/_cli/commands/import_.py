"""`rankproof import`: turns a table or another tool's export into a dataset folder."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from rankproof._cli.flags import GRADES, add_flags, judgement_options
from rankproof._cli.inputs import show_tables
from rankproof._cli.options import without_repeats
from rankproof._cli.parser import Command
from rankproof._cli.terminal import Terminal, add_format_option, add_output_option
from rankproof.errors import UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._importers.base import ImportOptions


USAGE = "SOURCE… [-o FOLDER] [--from NAME] [options]"
EXAMPLES = """\
examples:
  rankproof import products.csv -o products
  rankproof import products.csv --query-column term --grade-map exact=3,partial=1,none=0 -o products
  rankproof import queries.csv documents.csv labels.csv -o shop
  rankproof import old.jsonl new.jsonl -o rag  # RAG logs: one file for each system
  rankproof run --dataset products

The kind of the source is detected from its content. Without -o nothing is written: the columns and
the counts are shown. FOLDER gets corpus.jsonl, queries.jsonl, qrels/test.tsv and import.json, and
for rankings and answers also runs, answers and experiment.toml"""


COLUMNS = ("query_column", "query_id_column", "doc_id_column", "title_column", "text_column", "grade_column", "weight_column")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the source, the columns, the judgements and the output."""
    from rankproof._api.datasets import import_dataset

    parser.add_argument("source", nargs="+", metavar="SOURCE", help="files or a folder; - is standard input")
    add_flags(parser, import_dataset, ("importer", "settings"))
    columns = parser.add_argument_group("columns of a table, if not recognised by name")
    add_flags(columns, import_dataset, COLUMNS)
    add_flags(parser.add_argument_group("judgements"), import_dataset, (*GRADES, "split"))
    add_flags(parser.add_argument_group("input files"), import_dataset, ("delimiter", "encoding"))
    out = parser.add_argument_group("output")
    add_output_option(out, "the dataset folder to write; an older import is replaced", metavar="FOLDER")
    add_format_option(out, "output format of the counts")


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Imports the source, writes the folder and shows what was read, kept and dropped."""
    from rankproof._cli.progress import RunProgress
    from rankproof._importers.folder import check_import_folder, next_commands, write_imported
    from rankproof._importers.registry import import_source
    from rankproof._io.corpus_store import CorpusStorage

    if args.output == "":
        raise UsageError("the folder to write has no name", fix="specify one, or leave out -o")
    if args.output is not None:
        check_import_folder(args.output)
    source = args.source[0] if len(args.source) == 1 else args.source
    with RunProgress(terminal) as progress:
        imported = import_source(
            source,
            _options(args),
            importer=args.importer,
            delimiter=args.delimiter,
            encoding=args.encoding,
            storage=CorpusStorage(progress=progress),
        )
    if args.output is not None:
        files = write_imported(imported, args.output)
    show_tables([imported.report.table()], _table_args(args), terminal)
    if args.output is None:
        terminal.note("nothing is written; add -o FOLDER")
    else:
        folder = escape_invisible(args.output)
        terminal.note(f"{folder}: {', '.join(files)}")
        for command in next_commands(imported, folder):
            terminal.note(f"next: {command}")
    return 0


def _table_args(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments of `show_tables`: the table goes to standard output."""
    return argparse.Namespace(**{**vars(args), "output": None})


def _options(args: argparse.Namespace) -> ImportOptions:
    from rankproof._importers.base import ImportOptions

    return ImportOptions(
        **{name: getattr(args, name) for name in COLUMNS if name != "text_column"},
        text_column=tuple(args.text_column or ()),
        split=args.split,
        settings=without_repeats("--set", args.settings or ()),
        **judgement_options(args),
    )


def _importers(everything: bool) -> str:
    """The importers, on request with their settings, for the help page."""
    from rankproof._importers.registry import IMPORTERS
    from rankproof.errors import ExternalError

    width = max(map(len, IMPORTERS))
    settings = ", with their settings (--set)" if everything else "; --help-all has their settings (--set)"
    lines = [f"importers (--from){settings}:"]
    for name in IMPORTERS:
        try:
            lines.append(f"  {name:<{width}}  {IMPORTERS.summary(name)}")
            if everything:
                lines += [f"  {'':<{width}}  {key}: {about}" for key, about in IMPORTERS[name].settings.items()]
        except ExternalError as error:
            lines.append(f"  {name:<{width}}  {error}")
    return "\n".join(lines)


COMMAND = Command(usage=USAGE, examples=EXAMPLES, add_arguments=add_arguments, run=run, help_tail=_importers)
