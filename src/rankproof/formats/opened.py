"""A file that is open and whose format is known, ready to be read by whichever way is shortest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.qrels import Qrels
from ..data.reading import Order, Reading
from ..data.run import Run
from ..data.source import Source
from .columns import Kind
from .delimited import checked_delimiter
from .detect import detect, is_split_by
from .grades import GradeMap
from .opening import StrPath, open_source, path_text
from .rows import Options
from .streams import Progress
from .table import format_named, system_name

if TYPE_CHECKING:
    from .arrow_stream import RowStream, StreamColumns


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A source, the name of its format, and what a run in it is called."""

    source: Source
    format: str
    name: str
    delimiter: str | None = None

    def qrels(self, *, grade_map: GradeMap | None = None) -> Qrels:
        """The judgements in it."""
        return format_named(self.format).read_qrels(self.source, Options(self.delimiter, grade_map))

    def run(self, *, name: str | None = None, reading: Reading | None = None) -> Run:
        """The run in it with every row it has, duplicates included: alignment settles and counts those."""
        options = Options(self.delimiter, reading=reading or Reading())
        return format_named(self.format).read_run(self.source, name or self.name, options)

    def run_stream(self, order: Order = "score") -> tuple[RowStream, StreamColumns] | None:
        """The run in it as an Arrow stream for alignment, where the format has one."""
        stream = getattr(format_named(self.format), "run_stream", None)
        return None if stream is None else stream(self.source, order)

    def kind(self) -> Kind | None:
        """Whether it holds a run or qrels, None where its content does not tell."""
        return format_named(self.format).kind(self.source, Options(self.delimiter))


def open_file(
    path: StrPath,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    progress: Progress | None = None,
) -> OpenedFile:
    """The file at the path, its format told by content unless it is named.

    A delimiter counts where the format is named or the first line is a header between such delimiters, so that one for a run does
    no harm to qrels of another format.
    """
    if format is not None:
        format_named(format)
    char = checked_delimiter(delimiter)
    source = open_source(path, encoding=encoding, progress=progress)
    name = system_name(path_text(path))
    if format is None and char is not None and is_split_by(source, char):
        return OpenedFile(source, "csv", name, char)
    return OpenedFile(source, format or detect(source), name, char if format is not None else None)
