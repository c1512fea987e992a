"""Results, notes and tables on standard output or in a file."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankproof._cli.terminal import STDOUT, Terminal
from rankproof.errors import UsageError

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result


_FOLDER_FILES = (
    *("result.json", "summary.csv", "per_query.csv", "answers.*", "experiment.toml", "snippets.jsonl*", "runs/*"),
    *("corpus.jsonl*", "queries*.jsonl*", "qrels*", "qrels/*"),
)
"""The files of results folders and datasets."""


def check_output(output: str | None, inputs: Iterable[str | None]) -> None:
    """Refuses an output without a name, a pipe, and a file that is an input or in an input folder."""
    if output in STDOUT:
        return
    if not output:
        raise UsageError("the output has no name", fix="specify a file, or use - for standard output")
    target = _regular_file(output)
    if target is None:
        if os.path.exists(output):
            from rankproof._io.files import check_output_kind

            check_output_kind(output)
        return
    for path in (part for input_ in inputs if input_ is not None for part in _input_files(input_)):
        source = _regular_file(path)
        if source is not None and os.path.samestat(target, source):
            name = "standard input" if path == "-" else path
            raise UsageError(f"{output} would overwrite {name}, which is an input", fix="write to another file")


def _input_files(path: str) -> Iterator[str]:
    """The path, or the files in it if it is a folder."""
    if not os.path.isdir(path):
        yield path
        return
    from glob import glob

    for pattern in _FOLDER_FILES:
        yield from (os.path.join(path, name) for name in glob(pattern, root_dir=path))


def write_or_show(text: str, output: str | None, terminal: Terminal) -> None:
    """Shows a result on standard output, or writes it to a file."""
    if output is None or output in STDOUT:
        terminal.show(text)
        return
    from rankproof._io.files import write_blocks

    write_blocks(output, [text.encode(errors="backslashreplace")])


def _regular_file(path: str) -> os.stat_result | None:
    """The status of a file that could be overwritten, None if there is none."""
    try:
        status = os.fstat(0) if path == "-" else os.stat(path)
    except (OSError, ValueError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


MACHINE_JUDGEMENTS = "machine-judgements"


def show_result(result: Result, args: argparse.Namespace, terminal: Terminal) -> None:
    """Writes the result to standard output or a file, then shows its notes."""
    from rankproof._render.formats import RESULT_FORMATS

    to_file, summary = args.output not in STDOUT, not args.no_summary
    options = terminal.render_options(per_query=args.per_query, to_file=to_file, rel=args.rel, summary=summary)
    if args.format == "trec":
        from rankproof.measures._trec_names import spelled_names

        options = replace(options, trec_names=spelled_names(args.measures or (), args.rel))
    write_or_show(RESULT_FORMATS.load(args.format)(result, options), args.output, terminal)
    terminal.notes(note_lines(result))


def note_lines(result: Result) -> list[str]:
    """Each note once, after the names of its systems."""
    from rankproof._evaluation.notes import joined_notes

    return joined_notes(result.systems)


def show_value_notes(result: Result, terminal: Terminal, *, bounds: bool = True) -> None:
    """Shows the notes on how far the values can be trusted, which every command with values has."""
    from rankproof._evaluation.notes import value_notes

    terminal.notes(value_notes(result.systems, bounds=bounds))


def machine_judgement_notes(result: Result) -> list[str]:
    """The notes on machine judgements, each once."""
    notes = (note for system in result.systems for note in system.notes if note.code == MACHINE_JUDGEMENTS)
    return list(dict.fromkeys(note.text for note in notes))


FORMATS = ("table", "json", "csv", "markdown", "latex")


def add_output_option(
    group: argparse._ActionsContainer, about: str = "write to a file instead of standard output", *, metavar: str = "FILE"
) -> None:
    """Adds the option that names the output."""
    group.add_argument("-o", "--output", metavar=metavar, help=about)


def add_measures_option(group: argparse._ArgumentGroup, examples: str = "nDCG@10,RR,P@5") -> None:
    """Adds the option that names measures."""
    group.add_argument("-m", "--measures", action="append", metavar="MEASURES", help=f"comma separated, repeatable: {examples}")


def add_name_option(group: argparse._ArgumentGroup, about: str) -> None:
    """Adds the option that names systems."""
    group.add_argument("--name", action="append", default=[], metavar="NAME", help=about)


def add_format_option(
    group: argparse._ArgumentGroup,
    about: str = "output format",
    *,
    formats: Sequence[str] = FORMATS,
    default: str | None = "table",
) -> None:
    """Adds the option that chooses how tables are shown."""
    usual = "" if default is None else f" (default: {default})"
    group.add_argument("--format", choices=formats, default=default, help=f"{about}{usual}")


_MORE = "this is a summary; --details, --format json and --format csv have every row and column"


def add_details_option(group: argparse._ArgumentGroup) -> None:
    """Adds the option that shows everything."""
    group.add_argument("--details", action="store_true", help="show all tables, rows and columns, as JSON and CSV do")


def is_summary_view(args: argparse.Namespace) -> bool:
    """Whether only a summary is shown."""
    return args.format == "table" and not args.details


def summary_tables(tables: Sequence[Table]) -> list[Table]:
    """The summary of each table, with a note that there is more."""
    brief = [table.summarised() for table in tables]
    kept = [table for table in brief if table is not None]
    return [replace(kept[0], notes=(*kept[0].notes, _MORE)), *kept[1:]] if kept else []
