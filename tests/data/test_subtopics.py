"""Judgements for subtopics: which rows have them, the grade of a document for the whole query, and files with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.qrels import Judgement, Qrels
from rankproof._formats import native
from rankproof._formats.read import read_qrels
from rankproof._formats.rows import ParseOptions
from rankproof._formats.trec import read_plain_qrels
from rankproof._formats.write import write_qrels
from rankproof.errors import InputError
from support.native_cases import source_of

GRADES = {"q1": {"1": {"a": 1, "c": 3}, "2": {"a": 2, "b": 0}}, "q2": {"1": {"x": 1}}}


def plain(qrels: Qrels) -> dict[str, dict[str, dict[str, int]]]:
    return {query: {name: dict(docs) for name, docs in each.items()} for query, each in qrels.subtopics.items()}


def written(folder: Path, *lines: str) -> str:
    path = folder / "qrels.txt"
    path.write_text("".join(f"{line}\n" for line in lines))
    return str(path)


def test_a_second_column_with_two_values_names_subtopics(tmp_path: Path) -> None:
    qrels = read_qrels(written(tmp_path, "q1 1 a 1", "q1 2 a 2", "q1 2 b 0", "q1 1 c 3", "q2 1 x 1"))
    assert plain(qrels) == GRADES
    assert {query: dict(docs) for query, docs in qrels.items()} == {"q1": {"a": 2, "b": 0, "c": 3}, "q2": {"x": 1}}
    assert qrels.merged == 1
    assert qrels.grade_notes() == (
        "1 document has different grades for different subtopics; measures without subtopics take the largest (--on-conflict)",
    )


@pytest.mark.parametrize("second", ["0", "Q0", "7"])
def test_a_second_column_with_one_value_names_none(tmp_path: Path, second: str) -> None:
    assert not read_qrels(written(tmp_path, f"q1 {second} a 1", f"q2 {second} a 2")).subtopics


@pytest.mark.parametrize("label", ["llm:x", "human:eva@2026-01-01", "people"])
def test_a_second_column_that_says_who_judged_names_none(tmp_path: Path, label: str) -> None:
    for lines in (["q1 0 a 1", f"q1 {label} b 2", "q1 1 c 1"], [f"q1 {label} b 2", "q1 0 a 1", "q1 1 c 1"]):
        qrels = read_qrels(written(tmp_path, *lines))
        assert not qrels.subtopics
        assert dict(qrels["q1"]) == {"a": 1, "b": 2, "c": 1}


def test_two_grades_for_one_subtopic_are_a_conflict(tmp_path: Path) -> None:
    path = written(tmp_path, "q1 1 a 1", "q1 2 a 2", "q1 1 a 3")
    with pytest.raises(InputError, match=r"txt:3: document a has two grades for query q1, subtopic 1: 1 \(at line 1\) and 3"):
        read_qrels(path)
    assert plain(read_qrels(path, on_conflict="last"))["q1"] == {"1": {"a": 3}, "2": {"a": 2}}


@pytest.mark.parametrize(("rule", "grade"), [("error", 3), ("max", 3), ("min", 1), ("first", 2), ("last", 1)])
def test_the_rule_for_conflicts_chooses_the_grade_for_the_query(rule: str, grade: int) -> None:
    rows = [Judgement("q", "a", each, subtopic=name) for name, each in (("1", 2), ("2", 3), ("3", 1))]
    qrels = Qrels(iter(rows), on_conflict=rule)  # type: ignore[arg-type]
    assert qrels["q"]["a"] == grade
    assert (qrels.merged, qrels.conflicts) == ((1, 0) if rule == "error" else (0, 1))


def test_a_dict_of_one_subtopic_has_subtopics() -> None:
    assert plain(Qrels.from_subtopics({"q": {"1": {"a": 1}}})) == {"q": {"1": {"a": 1}}}


def test_a_dict_without_a_level_of_subtopics_is_refused() -> None:
    with pytest.raises(InputError, match="query q must map document ids to an integer grade, found int"):
        Qrels.from_subtopics({"q": {"a": 1}})  # type: ignore[dict-item]


def test_a_grade_map_changes_the_grades_for_subtopics() -> None:
    mapped = Qrels(Qrels.from_subtopics(GRADES), grade_map={"3": 1, "2": 1, "1": 0, "0": 0})
    assert plain(mapped) == {"q1": {"1": {"a": 0, "c": 1}, "2": {"a": 1, "b": 0}}, "q2": {"1": {"x": 0}}}
    assert dict(mapped["q1"]) == {"a": 1, "b": 0, "c": 1}


@pytest.mark.parametrize("name", ["qrels.csv", "qrels.tsv", "qrels.json", "qrels.jsonl", "qrels.parquet", "qrels.qrels"])
def test_every_format_keeps_subtopics(tmp_path: Path, name: str) -> None:
    qrels, path = Qrels.from_subtopics(GRADES), tmp_path / name
    write_qrels(qrels, path, "trec" if name.endswith("qrels") else None)
    again = read_qrels(path)
    assert plain(again) == GRADES
    assert again.fingerprint() == qrels.fingerprint() != Qrels(dict(qrels)).fingerprint()


def lines() -> st.SearchStrategy[list[str]]:
    """Lines of qrels for a few queries, subtopics and documents, some of them twice or with two grades."""
    line = st.tuples(st.sampled_from("qr"), st.sampled_from(["1", "2", "x"]), st.sampled_from("abcdé"), st.integers(-2, 3))
    return st.lists(line.map(lambda parts: " ".join(map(str, parts))), min_size=1, max_size=30)


@given(written_lines=lines(), end=st.sampled_from(["\n", "\r\n"]))
def test_both_readers_of_subtopics_give_the_same(written_lines: list[str], end: str) -> None:
    source = source_of("".join(f"{line}{end}" for line in written_lines).encode())
    found = native.read_subtopics(source, ParseOptions())
    try:
        wanted = read_plain_qrels(source, ParseOptions())
    except InputError:
        assert found is None
        return
    # A name with letters may say who judged, which is read in Python.
    may_judge = any(name.upper().isupper() for subtopics in wanted.subtopics.values() for name in subtopics)
    assert (found is None) == (not wanted.subtopics or wanted.repeats > 0 or may_judge)
    if found is not None:
        assert plain(found) == plain(wanted)
        assert [(query, [*docs.items()]) for query, docs in found.items()] == [
            (query, [*docs.items()]) for query, docs in wanted.items()
        ]
        assert (found.merged, found.fingerprint()) == (wanted.merged, wanted.fingerprint())


def test_a_second_column_that_says_who_judged_is_no_subtopic_in_c() -> None:
    for label in ("llm:x", "human:eva@2026-01-01", "people"):
        assert native.read_subtopics(source_of(f"q 0 a 1\nq {label} b 2\n".encode()), ParseOptions()) is None
