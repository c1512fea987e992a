"""Every format reads back what it wrote: any ids, the same bits."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._api.datasets import convert
from rankproof._data.qrels import Qrels
from rankproof._data.run import Run, RunRow
from rankproof._formats.detect import detect
from rankproof._formats.read import read_qrels, read_run
from rankproof._formats.registry import FORMATS, format_named
from rankproof._formats.rows import ParseOptions
from rankproof._formats.write import qrels_blocks, run_blocks, write_qrels, write_run
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError, UsageError
from support.examples import examples

HOSTILE = [
    *("=cmd|' /C calc'!A0", "<script>alert(1)</script>", "\x1b[2J", '"', '""', 'a"b', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb"),
    *("\r", "\x85", "\u2028", "\u00a0", "\ufeff", "\ufeffq", "#", "#q1", "007", "NA", "null", "None", "nan", " ", " a", "a "),
    *("'", "query_id", "{", "[1]", "e\u0301", "é", "𝔸", "all", "-", "\\", "\\n", "1e5", "true"),
]
ids = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6))
edges = st.sampled_from([0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1])
scores = st.one_of(st.floats(allow_nan=False, allow_infinity=False), edges)
runs = st.dictionaries(ids, st.dictionaries(ids, scores, min_size=1, max_size=4), min_size=1, max_size=4)
judgements = st.dictionaries(ids, st.dictionaries(ids, st.integers(-5, 1000), min_size=1, max_size=4), min_size=1, max_size=4)
TABLES = [name for name in FORMATS if name not in ("trec", "beir")]
SPACE = set(" \t\n\r\x0b\x0c")


def source_of(data: bytes) -> ByteSource:
    return ByteSource("made", lambda: io.BytesIO(data))


def as_dict(run: Run) -> dict[str, dict[str, bytes]]:
    return {query: {row.doc: struct.pack("d", row.score) for row in run.rows() if row.query == query} for query in run.queries}


def plain(text: str, *, first: bool) -> bool:
    return SPACE.isdisjoint(text) and not (first and text.startswith(("#", "\ufeff")))


@pytest.mark.parametrize("name", TABLES)
@examples(60)
@given(table=runs)
def test_a_run_is_read_back_as_it_was_written(name: str, table: dict[str, dict[str, float]]) -> None:
    run = Run.from_dict(table)
    source = source_of(b"".join(run_blocks(run, name)))
    assert detect(source) == name
    again = format_named(name).read_run(source, "run", ParseOptions())
    assert as_dict(again) == as_dict(run)
    assert again.queries == run.queries


@pytest.mark.parametrize("name", [*TABLES, "beir"])
@examples(60)
@given(table=judgements)
def test_qrels_are_read_back_as_they_were_written(name: str, table: dict[str, dict[str, int]]) -> None:
    qrels = Qrels.from_dict(table)
    source = source_of(b"".join(qrels_blocks(qrels, name)))
    assert dict(format_named(name).read_qrels(source, ParseOptions())) == dict(qrels)


@examples(150)
@given(table=runs)
def test_trec_text_keeps_every_run_that_it_accepts(table: dict[str, dict[str, float]]) -> None:
    run = Run.from_dict(table)
    fits = all(plain(query, first=True) and all(plain(doc, first=False) for doc in docs) for query, docs in table.items())
    if fits:
        source = source_of(b"".join(run_blocks(run, "trec")))
        assert as_dict(format_named("trec").read_run(source, "run", ParseOptions())) == as_dict(run)
    else:
        with pytest.raises(InputError, match="which TREC text cannot represent; write"):
            b"".join(run_blocks(run, "trec"))


@examples(100)
@given(table=judgements)
def test_trec_text_keeps_all_qrels_that_it_accepts(table: dict[str, dict[str, int]]) -> None:
    qrels = Qrels.from_dict(table)
    fits = all(plain(query, first=True) and all(plain(doc, first=False) for doc in docs) for query, docs in table.items())
    if fits:
        source = source_of(b"".join(qrels_blocks(qrels, "trec")))
        assert dict(format_named("trec").read_qrels(source, ParseOptions())) == dict(qrels)
    else:
        with pytest.raises(InputError, match="which TREC text cannot represent; write"):
            b"".join(qrels_blocks(qrels, "trec"))


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
@pytest.mark.parametrize("name", [".run", ".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_a_file_goes_through_every_format_and_compression_and_back(name: str, suffix: str, tmp_path: Path) -> None:
    start, there, back = tmp_path / "a.run", tmp_path / f"b{name}{suffix}", tmp_path / "c.run"
    start.write_text("q1 Q0 d2 1 0.30000000000000004 mine\nq1 Q0 d1 2 1e-320 mine\nq2 Q0 007 1 -0.0 mine\n")
    assert convert(start, there).kind == "run"
    convert(there, back)
    again, first = read_run(back), read_run(start)
    assert as_dict(again) == as_dict(first)
    assert again.tags == (("b",) if name == ".json" else ("mine",))


@pytest.mark.parametrize("name", ["q.csv", "q.tsv", "q.json.gz", "q.jsonl.zst", "q.parquet"])
def test_qrels_go_through_every_format_and_back(name: str, tmp_path: Path) -> None:
    start, back = tmp_path / "a.qrels", tmp_path / "c.qrels"
    start.write_text("q1 0 d1 2\nq1 0 d2 -1\n007 0 NA 0\n")
    assert convert(start, tmp_path / name).rows == 3
    convert(tmp_path / name, back, kind="qrels")
    assert dict(read_qrels(back)) == dict(read_qrels(start))


def test_ranks_are_written_best_first(tmp_path: Path) -> None:
    write_run(Run.from_dict({"q": {"a": 1.0, "b": 2.0, "𝔸": 1.0, "\ufffd": 1.0}}), tmp_path / "r.run")
    docs = [line.split()[2] for line in (tmp_path / "r.run").read_text().splitlines()]
    assert docs == ["b", "𝔸", "\ufffd", "a"]


def test_a_tag_without_white_space_is_made_of_the_name(tmp_path: Path) -> None:
    write_run(Run.from_dict({"q": {"a": 1.0}}, name="my own system"), tmp_path / "r.run")
    assert (tmp_path / "r.run").read_text() == "q Q0 a 1 1.0 my_own_system\n"


def test_a_tag_with_spaces_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q Q0 a 1 1.0 my  own system\n")
    convert(tmp_path / "a.run", tmp_path / "b.csv")
    convert(tmp_path / "b.csv", tmp_path / "c.run")
    assert read_run(tmp_path / "c.run").tags == ("my  own system",)


def test_a_score_that_is_not_finite_is_never_written(tmp_path: Path) -> None:
    for name in TABLES:
        with pytest.raises(InputError, match="not finite"):
            write_run(Run.from_rows([RunRow("q", "d", float("nan"))]), tmp_path / "r", name)
    assert not list(tmp_path.iterdir())


def test_a_suffix_that_names_no_format_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="names no format; specify one of trec, beir"):
        write_qrels(Qrels.from_dict({"q": {"d": 1}}), tmp_path / "q.docx")


def test_beir_has_no_files_for_runs(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="BEIR has no format for runs"):
        write_run(Run.from_dict({"q": {"d": 1.0}}), tmp_path / "r.tsv", "beir")
