"""The terminal: results go to standard output or a file, notes and progress to standard error."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TextIO

from rankproof._data.text import MinorNote, pluralise
from rankproof._render.formats import RenderOptions
from rankproof.errors import ExternalError, UsageError, escape_invisible

if TYPE_CHECKING:
    from rankproof._data.table import Table
    from rankproof._evaluation.result import Result

STDOUT = (None, "-")
_LEAST_WIDTH = 40
_USUAL_WIDTH = 80
_DIGITS = 5
_NOTE = "note: "
_NOTE_LINES = 10


@dataclass(frozen=True, slots=True)
class Terminal:
    """Writes results to standard output and everything else to standard error; `quiet` leaves out notes.

    Minor notes, and others that do not fit in ten lines, are held back and counted unless `all_notes` is set.
    """

    quiet: bool = False
    verbose: bool = False
    all_notes: bool = False
    _held: dict[str, None] = field(default_factory=dict)

    def show(self, text: str) -> None:
        """Writes a result."""
        if sys.stdout is None:
            raise ExternalError("standard output is closed; open it, or write to a file with -o")
        sys.stdout.write(text)
        sys.stdout.flush()

    def show_bytes(self, blocks: Iterable[bytes]) -> None:
        """Writes a result in bytes."""
        self.show("")
        for block in blocks:
            sys.stdout.buffer.write(block)
        sys.stdout.buffer.flush()

    def note(self, text: str) -> None:
        """Writes a note."""
        if self.quiet or sys.stderr is None:
            return
        if isinstance(text, MinorNote) and not self.all_notes:
            self._held[text] = None
            return
        lines = [f"{_NOTE}{escape_invisible(text)}"]
        if _is_tty(sys.stderr) or os.environ.get("COLUMNS"):
            from rankproof._render.terminal import wrapped

            lines = wrapped(lines[0], stream_width(sys.stderr))
        if _is_tty(sys.stderr) and _wants_colour():
            lines[0] = f"\x1b[33m{_NOTE}\x1b[0m{lines[0].removeprefix(_NOTE)}"
        sys.stderr.writelines(f"{line}\n" for line in lines)

    def notes(self, texts: Iterable[str]) -> None:
        """Writes each note once; those that do not fit in ten lines are held back."""
        lines, width = 0, stream_width(sys.stderr)
        for text in dict.fromkeys(texts):
            lines += 0 if isinstance(text, MinorNote) else -(-len(text) // (width - len(_NOTE)))
            if lines > _NOTE_LINES and not self.all_notes:
                self._held[text] = None
            else:
                self.note(text)

    def count_held_notes(self) -> None:
        """Says how many notes were held back."""
        if self._held and not self.quiet:
            self.say(f"{_NOTE}{pluralise(len(self._held), 'more note')}, shown by --notes")

    def say(self, text: str) -> None:
        """Writes text that is neither a result nor a note."""
        if sys.stderr is not None:
            sys.stderr.write(f"{text}\n")

    def render_options(
        self, *, per_query: bool = False, to_file: bool = False, rel: int = 1, summary: bool = True
    ) -> RenderOptions:
        """How to render a table for its destination."""
        tty = not to_file and _is_tty(sys.stdout)
        colour = tty and _wants_colour()
        width = stream_width(sys.stdout)
        return RenderOptions(per_query, width, wrap=tty, colour=colour, verbose=self.verbose, rel=rel, summary=summary)


def stream_width(stream: TextIO | None) -> int:
    """The columns of the terminal: COLUMNS if it is a number, else as the terminal says, else 80."""
    asked = os.environ.get("COLUMNS", "")
    if asked.isascii() and asked.isdecimal() and len(asked) <= _DIGITS and int(asked):
        return max(int(asked), _LEAST_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno() if stream else 1).columns, _LEAST_WIDTH)
    except (OSError, ValueError):
        return _USUAL_WIDTH


def _is_tty(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _wants_colour() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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


_FORMAT_OF = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}


class _TableFile(argparse.Action):
    """The file of the tables; the end of its name chooses their format, as --format behind it does too."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None) -> None:
        namespace.output = values
        if namespace.format == FORMATS[0]:
            namespace.format = _FORMAT_OF.get(os.path.splitext(values)[1].lower(), FORMATS[0])


def add_table_file_option(group: argparse._ActionsContainer) -> None:
    """Adds the option that names a file for the tables."""
    about = "write to a file instead of standard output; .csv, .json, .md and .tex choose the format"
    group.add_argument("-o", "--output", metavar="FILE", action=_TableFile, help=about)


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
