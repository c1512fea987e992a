"""The values that the functions return: tables with their sentences and notes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankproof._data.dataset import Dataset, Queries
from rankproof._data.qrels import Qrels
from rankproof._data.table import Table
from rankproof._data.view import View, Viewed, ViewedTables
from rankproof._results.experiment_result import ExperimentResult
from rankproof.errors import UsageError, for_message

if TYPE_CHECKING:
    from rankproof._report.summary import ReportSummary


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Analysis(ViewedTables):
    """The tables of an analysis; the first table is the answer. `to_pandas` and `to_polars` return its rows."""

    tables: tuple[Table, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """The findings in words."""
        return tuple(dict.fromkeys(sentence for table in self.tables for sentence in table.sentences))

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of all tables, each once."""
        return tuple(dict.fromkeys(note for table in self.tables for note in table.notes))

    def table(self, name: str) -> Table:
        """The first table of that name."""
        for table in self.tables:
            if table.name == name:
                return table
        names = ", ".join(dict.fromkeys(table.name for table in self.tables))
        raise UsageError(f"no table is called {for_message(str(name))}", fix=f"choose from: {names}")

    def records(self, name: str | None = None) -> list[dict[str, Any]]:
        """The rows of the first table, or of the table of that name, each as column to cell."""
        table = self.tables[0] if name is None else self.table(name)
        return [*table.records()]

    def _tables(self) -> tuple[Table, ...]:
        return self.tables

    def _view(self) -> View:
        name = type(self).__name__
        if not self.tables:
            return View(name)
        first, *others = self.tables
        return View(f"{name}: {first.title}", (replace(first, title=""), *others), notes=self.notes)


class Explanation(Analysis):
    """The parts that add up to a value: queries, ranks, rankings or terms."""

    __slots__ = ()


class Audit(Analysis):
    """How conventions of other tools, ties and unjudged documents change the values."""

    __slots__ = ()


class Segments(Analysis):
    """The values of groups of queries, with the groups in which a system is weaker."""

    __slots__ = ()


class Diagnosis(Analysis):
    """Weak systems, stages and groups of queries, and the queries that fail."""

    __slots__ = ()


class Baselines(Analysis):
    """The values compared with random, simple and best possible rankings, and their bands."""

    __slots__ = ()


class Correlation(Analysis):
    """How much rankings, or orders of systems, agree."""

    __slots__ = ()


class RaterAgreement(Analysis):
    """How far people, and machines that judge, agree on the grades of the same pairs."""

    __slots__ = ()


class Stability(Analysis):
    """Whether a decision stands with half of the queries, changed grades, other judges and a shallower pool."""

    __slots__ = ()


class DoctorReport(Analysis):
    """The findings of the checks of data, runs and encoders; `is_severe` is True if a finding is severe."""

    __slots__ = ()

    @property
    def is_severe(self) -> bool:
        """Whether a finding is severe."""
        from rankproof._analysis.doctor.doctor import is_severe

        return is_severe(self.tables[0])


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Judging(Analysis):
    """Judgements by a model or by keywords, and tables of their agreement with people.

    `results` are the judged results, measured with these judgements; None where runs of a dataset were judged.
    """

    qrels: Qrels
    results: ExperimentResult | None = None


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Generated(Analysis):
    """Generated queries with their judgements, and tables of counts and examples."""

    queries: Queries
    qrels: Qrels
    dataset: Dataset


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Tuning(Analysis):
    """The chosen settings, their held-out gain over the default ones, and the trials.

    `toml` is the tuned system as an experiment file, None for runs without a dataset. `pays` says whether the 95% interval of the
    held-out gain is above no gain.
    """

    settings: Mapping[str, Any]
    gain: float
    interval: tuple[float, float] | None
    optimism: float
    pays: bool
    toml: str | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the tuned system as an experiment file, which `rankproof run` runs."""
        from rankproof._io.files import write_blocks
        from rankproof._io.open import path_text

        if self.toml is None:
            raise UsageError("an experiment file needs a dataset", fix="pass dataset= to tune")
        write_blocks(path_text(path, "path"), [self.toml.encode()])


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Report(Viewed):
    """The report: its HTML, its path if it was saved, and the sentences of the decision.

    `to_png` and `to_markdown` have the decision and the table of systems.
    """

    html: str
    path: str | None
    decision: tuple[str, ...] = ()
    _summary: Any = None

    def save(self, path: str | os.PathLike[str]) -> Report:
        """Writes the page to a file, atomically; with the suffix .png or .md, the decision and the table of systems."""
        from rankproof._io.files import write_blocks
        from rankproof._io.open import path_text
        from rankproof._report.summary_files import report_format

        target = path_text(path, "path")
        format = report_format(target)
        text = {"html": lambda: self.html, "markdown": self.to_markdown}
        content = self.to_png() if format == "png" else text[format]().encode(errors="backslashreplace")
        write_blocks(target, [content])
        return replace(self, path=target)

    def to_png(self) -> bytes:
        """The decision and the table of systems as a picture; needs the extra plot."""
        from rankproof._report.summary_chart import summary_png

        return summary_png(self._summarised())

    def to_markdown(self) -> str:
        """The decision, the table of systems and folded details, for a comment on a pull request."""
        from rankproof._report.summary_files import summary_markdown

        return summary_markdown(self._summarised())

    def _summarised(self) -> ReportSummary:
        from rankproof._report.summary import ReportSummary

        if not isinstance(self._summary, ReportSummary):
            raise UsageError("the report was made without its results", fix="use what rankproof.report returned")
        return self._summary

    def _view(self) -> View:
        where = f"in {self.path}" if self.path is not None else "in memory; save(path) writes it"
        return View(f"Report of {len(self.html):,} characters, {where}", sentences=self.decision)


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Export(Viewed):
    """Results in another format: its name, its content, and the path if it was saved.

    `logged` has the systems that MLflow got; its `content` is empty.
    """

    format: str
    content: bytes
    path: str | None = None
    logged: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The content as text; parquet has none."""
        try:
            return self.content.decode()
        except UnicodeDecodeError:
            raise UsageError(f"{self.format} is not text", fix="write it to a file: pass path=") from None

    def save(self, path: str | os.PathLike[str]) -> Export:
        """Writes the content to a file, atomically; .gz and .zst compress."""
        from rankproof._io.files import write_blocks
        from rankproof._io.open import path_text

        target = path_text(path, "path")
        write_blocks(target, [self.content])
        return replace(self, path=target)

    def _view(self) -> View:
        where = f"in {for_message(self.path)}" if self.path is not None else "in memory; save(path) writes it"
        logged = f"logged {', '.join(map(for_message, self.logged)) or 'nothing new'}"
        what = logged if self.format == "mlflow" else f"{len(self.content):,} bytes, {where}"
        return View(f"Export as {self.format}: {what}", notes=self.notes)


@dataclass(frozen=True, slots=True, repr=False)
class Plot(Viewed):
    """One chart as SVG; `missing` says why there was nothing to draw."""

    name: str
    svg: str
    missing: str = ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the SVG to a file."""
        from rankproof._io.files import write_blocks
        from rankproof._io.open import path_text

        write_blocks(path_text(path, "path"), [self.svg.encode()])

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        return self.svg[self.svg.index("<svg") :]

    def _view(self) -> View:
        return View(f"Plot {self.name}, SVG of {len(self.svg):,} characters", sentences=(self.missing,) if self.missing else ())


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Plots(Viewed):
    """Charts by name. Charts without data are left out; `notes` say why."""

    plots: tuple[Plot, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Plot:
        plots = {plot.name: plot for plot in self.plots}
        if name not in plots:
            raise UsageError(f"no chart is called {for_message(str(name))}", fix=f"choose from: {', '.join(plots)}")
        return plots[name]

    def __len__(self) -> int:
        return len(self.plots)

    def _repr_html_(self) -> str:
        return "".join(f"<div>{plot._repr_html_()}</div>" for plot in self.plots)

    def _view(self) -> View:
        return View(f"Plots: {', '.join(plot.name for plot in self.plots) or 'none'}", notes=self.notes)
