"""A format is one file and one line; a format of another package needs one entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rankproof import evaluate, read_qrels, read_run, write_qrels, write_run
from rankproof._cli.main import main
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run
from rankproof._formats import registry
from rankproof._formats.registry import FORMATS, FormatComponent, format_named, format_of_suffix, system_name
from rankproof.errors import ExternalError, UsageError

TOY = """
from rankproof._data.grades import GradeReader
from rankproof._data.qrels import Judgement
from rankproof._data.run import RunRow
from rankproof._formats.rows import build_qrels, build_run, ranked_rows
from rankproof._formats.trec import numbered_lines

def rows(source):
    for line, text in numbered_lines(source):
        yield (line, *text.decode().split("::"))

class Colons:
    keeps_judge_labels = keeps_empty_queries = False
    suffixes = (".colons",)

    def read_qrels(self, source, options):
        grades = GradeReader(source.name, options.grade_map)
        found = (Judgement(query, doc, grades.of_text(value, line=line), line) for line, query, doc, value in rows(source))
        return build_qrels(found, grades, options.on_conflict)

    def read_run(self, source, name, options):
        found = (RunRow(query, doc, float(value), None, line) for line, query, doc, value in rows(source))
        return build_run(found, name=name, source=source.name, read_options=options.read_options)

    def kind(self, source, options):
        return None

    def run_blocks(self, run):
        return (f"{row.query}::{row.doc}::{row.score!r}\\n".encode() for row in ranked_rows(run))

    def qrels_blocks(self, qrels):
        return (f"{query}::{doc}::{grade}\\n".encode() for query in qrels for doc, grade in qrels[query].items())

COLONS = Colons()
"""
ENTRIES = "[rankproof.formats]\ncolons = toy_format:COLONS\n"
RUN = Run.from_dict({"q1": {"d1": 2.5, "d2": 1.0}})
QRELS = Qrels.from_dict({"q1": {"d1": 1, "d2": 0}})


def install(folder: Path, text: str) -> None:
    """A package with this module and the entry point of its format."""
    (folder / "toy_format.py").write_text(text)
    (folder / "toy_format-1.0.dist-info").mkdir()
    (folder / "toy_format-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-format\nVersion: 1.0\n")
    (folder / "toy_format-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES)


@pytest.fixture(autouse=True)
def fresh_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the toy module, and no suffix of it, outlives the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._other_suffixes.cache_clear()
    yield
    sys.modules.pop("toy_format", None)
    registry._other_suffixes.cache_clear()


@pytest.fixture
def one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy format as one file and one line of the registry."""
    (tmp_path / "toy_format.py").write_text(TOY)
    line = FormatComponent("colons", "toy_format:COLONS", suffixes=(".colons",))
    monkeypatch.setattr(FORMATS, "components", (*FORMATS.components, line))
    monkeypatch.setitem(FORMATS._own, line.name, line)
    monkeypatch.setitem(registry._OWN_SUFFIXES, ".colons", line.name)


@pytest.fixture
def one_entry_point(tmp_path: Path) -> None:
    """The toy format as an installed package."""
    install(tmp_path, TOY)


@pytest.mark.parametrize("added", ["one_line", "one_entry_point"])
def test_an_added_format_is_read_and_written(
    added: str, request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(added)
    run, qrels = tmp_path / "mine.colons", tmp_path / "qrels.colons"
    write_run(RUN, run)
    write_qrels(QRELS, str(qrels), "colons")
    assert run.read_text() == "q1::d1::2.5\nq1::d2::1.0\n"
    assert read_run(run, format="colons").scores.tolist() == [2.5, 1.0]
    assert dict(read_qrels(qrels, format="colons")) == {"q1": {"d1": 1, "d2": 0}}
    result = evaluate(str(qrels), str(run), ["P@1"], qrels_format="colons", run_format="colons")
    assert list(result.means.values()) == [{"P@1": 1.0}]
    assert main(["convert", str(run), str(tmp_path / "again.trec"), "--kind", "run", "--from", "colons"]) == 0
    assert (tmp_path / "again.trec").read_text().startswith("q1 Q0 d1 1 2.5 ")
    with pytest.raises(UsageError, match=r"no format is called xml; choose one of trec, .*, parquet, colons$"):
        format_named("xml")


@pytest.mark.usefixtures("one_entry_point")
def test_a_format_of_another_package_is_found_by_its_suffix(tmp_path: Path) -> None:
    write_run(RUN, tmp_path / "mine.colons.gz")
    assert read_run(tmp_path / "mine.colons.gz").scores.tolist() == [2.5, 1.0]
    assert format_of_suffix("mine.COLONS") == "colons"
    assert format_of_suffix("mine.unknown") is None


def test_a_format_that_cannot_be_imported_is_reported_with_its_package(tmp_path: Path) -> None:
    install(tmp_path, "raise RuntimeError('half an installation')")
    write_run(RUN, tmp_path / "mine.run")
    assert read_run(tmp_path / "mine.run").scores.tolist() == [2.5, 1.0]
    with pytest.raises(ExternalError, match=r"the package toy-format offers colons, which cannot be loaded \(half an"):
        read_run(tmp_path / "mine.run", format="colons")


def test_every_format_says_what_it_keeps_and_is_described() -> None:
    assert len(FORMATS) >= 7
    for name, one in FORMATS.items():
        assert isinstance(one.keeps_judge_labels, bool)
        assert isinstance(one.keeps_empty_queries, bool)
        assert FORMATS.summary(name)
        assert system_name(f"mine{next(iter(_suffixes(name)), '.run')}.gz") == "mine"


def _suffixes(name: str) -> tuple[str, ...]:
    return next(one.suffixes for one in registry._COMPONENTS if one.name == name)
