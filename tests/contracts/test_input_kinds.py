"""One rule at every door: the same rows as a dict, a file or a frame of any library give the same, by either engine."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankproof as rp
from rankproof._data.qrels import Judgement
from rankproof._engine_choice import is_built
from rankproof._evaluation.result import Result

QRELS = {"q1": {"d1": 1, "d2": 0}}
MAKERS: dict[str, Any] = {"pandas": pd.DataFrame, "polars": lambda rows: pl.DataFrame(rows, strict=False), "pyarrow": pa.table}
ENGINES = ["native", "reference"] if is_built() else ["reference"]


def by_engine(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: Any, **options: Any) -> Result:
    monkeypatch.setattr("rankproof._engine_choice.chosen_name", lambda: name)
    return rp.evaluate(*arguments, **options)


def doors_of(columns: dict[str, Any], folder: Path) -> dict[str, Any]:
    doors = {name: make(columns) for name, make in MAKERS.items()}
    for name, frame in list(doors.items()):
        path = folder / f"{name}.parquet"
        if name == "polars":
            frame.write_parquet(path)
        else:
            pq.write_table(frame if name == "pyarrow" else pa.Table.from_pandas(frame), path)
        doors[f"{name} parquet"] = path
    return doors


def judged_doors(folder: Path) -> dict[str, Any]:
    (folder / "q.txt").write_text("q1 0 d1 1\nq1 0 d2 2\n")
    (folder / "q.json").write_text('{"q1": {"d1": 1.0, "d2": 2.0}}')
    columns: dict[str, Any] = {"qid": ["q1", "q1"], "docid": ["d1", "d2"], "rel": [1.0, 2.0]}
    return {
        "dict": {"q1": {"d1": 1, "d2": 2}},
        "dict of floats": {"q1": {"d1": 1.0, "d2": 2.0}},
        "dict of text": {"q1": {"d1": "1", "d2": "2"}},
        "qrels": rp.Qrels.from_dict({"q1": {"d1": 1, "d2": 2}}),
        "text": folder / "q.txt",
        "json": folder / "q.json",
        **doors_of(columns, folder),
    }


@pytest.mark.parametrize("engine", ENGINES)
def test_a_grade_map_counts_for_every_kind_of_judgements(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"q1": {"d1": 2.0, "d2": 1.0}}
    for name, qrels in judged_doors(tmp_path).items():
        plain = by_engine(engine, monkeypatch, qrels, run, ["nDCG@10"], grade_map={"9": 9}) if name != "dict of text" else None
        assert plain is None or plain.value("nDCG@10") == pytest.approx(0.8597, abs=1e-4), name
        assert by_engine(engine, monkeypatch, qrels, run, ["nDCG@10"], grade_map={"1": 3, "2": 1}).value("nDCG@10") == 1.0, name


@pytest.mark.parametrize("wrong", ["E=3", {"1": 10**9}, {"1": "x"}, {1: 3}])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_grade_map_is_checked_at_every_door(wrong: Any, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for qrels in judged_doors(tmp_path).values():
        with pytest.raises(rp.errors.UsageError, match="the grade map "):
            by_engine(engine, monkeypatch, qrels, {"q1": {"d1": 1.0}}, grade_map=wrong)


@pytest.mark.parametrize("engine", ENGINES)
def test_letters_of_a_dict_are_mapped_and_others_refused(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run = {"q1": {"d1": 2.0, "d2": 1.0}}
    found = by_engine(engine, monkeypatch, {"q1": {"d1": "E", "d2": "I"}}, run, ["P@1"], grade_map={"E": 3, "I": 0})
    assert found.value("P@1") == 1.0
    with pytest.raises(rp.errors.InputError, match='grade "X" is not in the grade map'):
        by_engine(engine, monkeypatch, {"q1": {"d1": "X"}}, run, grade_map={"E": 3})


def test_mapped_judgements_keep_their_source_and_their_repeats() -> None:
    qrels = rp.Qrels(iter([Judgement("q1", "d1", 1), Judgement("q1", "d1", 1)]), source="mine")
    notes = rp.evaluate(qrels, {"q1": {"d1": 2.0}}, ["P@1"], grade_map={"1": 2}).notes["run"]
    assert [(note.code, note.count) for note in notes] == [("repeated-judgements", 1)]
    with pytest.raises(rp.errors.InputError, match="mine"):
        rp.evaluate(qrels, {"q9": {"d1": 2.0}}, ["P@1"], grade_map={"1": 2})


GOOD: dict[str, Any] = {"qid": ["q1", "q1"], "docid": ["d1", "d2"], "score": [2.0, 1.0]}


def rows(**changed: Any) -> dict[str, Any]:
    return {name: values for name, values in {**GOOD, **changed}.items() if values is not None}


SOUND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "binary ids": (rows(docid=[b"d1", b"d2"], qid=[b"q1", b"q1"]), {}),
    "float ranks": (rows(score=[1.0, 2.0], rank=[1.0, 2.0]), {"order": "rank"}),
    "text ranks": (rows(score=[1.0, 2.0], rank=["1", "2"]), {"order": "rank"}),
    "ranks without scores": (rows(score=None, rank=[1, 2]), {"order": "rank"}),
    "float ranks without scores": (rows(score=None, rank=[1.0, 2.0]), {"order": "rank"}),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", SOUND)
def test_a_sound_table_is_read_alike_at_every_door(
    case: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, options = SOUND[case]
    for name, run in doors_of(columns, tmp_path).items():
        assert by_engine(engine, monkeypatch, QRELS, run, ["RR"], **options).value("RR") == 1.0, name


BROKEN: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a score that is no number": (rows(score=[1.0, float("nan")]), {}, "x:2: score nan is not finite"),
    "a float id after a missing one": (rows(docid=[None, 2.0]), {}, "x:1: null document id"),
    "binary that is no text": (rows(docid=[b"d1", b"\xe9"]), {}, r"x:2: not UTF-8 \(in a document id\)"),
    "a rank that is missing": (rows(rank=[1, None]), {"order": "rank"}, "x:2: the rank is not a whole number"),
    "a rank that is a fraction": (rows(rank=[1.0, 1.5]), {"order": "rank"}, "x:2: the rank is not a whole number"),
    "a rank that is a word": (rows(rank=["1", "x"], score=None), {"order": "rank"}, "x:2: the rank is not a whole number"),
    "no ranks": (rows(), {"order": "rank"}, "x: the run has no ranks to order by"),
    "ranks and no scores": (rows(score=None, rank=[1, 2]), {}, 'x: no score column; found qid, docid, rank; .*order="rank"'),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_table_is_refused_alike_at_every_door(
    case: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, options, words = BROKEN[case]
    for name, run in doors_of(columns, tmp_path).items():
        if case == "a score that is no number" and name == "pandas parquet":
            continue  # pandas writes it as a null
        with pytest.raises(rp.errors.InputError) as error:
            by_engine(engine, monkeypatch, QRELS, {"x": run}, ["RR"], **options)
        said = str(error.value).replace(str(run), "x") if isinstance(run, Path) else str(error.value)
        assert re.match(words, said), (name, said)


@pytest.mark.parametrize("engine", ENGINES)
def test_several_tags_are_noted_at_every_door(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, run in doors_of(rows(tag=["A", "B"]), tmp_path).items():
        notes = by_engine(engine, monkeypatch, QRELS, run, ["RR"]).notes
        assert [note.code for found in notes.values() for note in found] == ["several-tags"], name


def test_an_encoding_is_for_text_and_leaves_parquet_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_bytes("q1 0 d\xe9 1\n".encode("latin-1"))
    pq.write_table(pa.table(cast(Any, rows(docid=["d\xe9", "d2"]))), tmp_path / "r.parquet")
    assert rp.evaluate(tmp_path / "q.txt", tmp_path / "r.parquet", ["RR"], encoding="latin-1").value("RR") == 1.0


def test_a_document_twice_in_a_json_array_is_told_with_both_lines(tmp_path: Path) -> None:
    one = json.dumps({"qid": "q1", "docid": "d1", "score": 1})
    (tmp_path / "r.json").write_text(f"[{one},\n{one.replace('d1', 'd2')},\n\n{one}]")
    with pytest.raises(rp.errors.InputError, match=r"r\.json:4: document d1 appears twice for query q1 \(first at line 1;"):
        rp.evaluate(QRELS, tmp_path / "r.json")
