"""Grades of every source: whole floats and booleans, labels, two grades for one pair, NUL bytes."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
import pytest

import rankproof as rp
from rankproof import _engine_choice
from rankproof._cli.main import main
from rankproof._data.grades import parse_grade_map, suggested_map
from rankproof._data.qrels import Judgement, Qrels
from rankproof._data.row_errors import OnConflict
from rankproof._data.run import Run
from rankproof.errors import InputError, UsageError

RUN = {"q1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}}
PLAIN = {"q1": {"d1": 2, "d2": 1, "d3": 0}}
TREC = "q1 0 d1 {}\nq1 0 d2 {}\nq1 0 d3 {}\n"
CSV = "query_id,doc_id,rel\nq1,d1,{}\nq1,d2,{}\nq1,d3,{}\n"
FILES = {
    "trec": ("q.txt", TREC),
    "csv": ("q.csv", CSV),
    "tsv": ("q.tsv", CSV.replace(",", "\t")),
    "beir": ("q.tsv", CSV.replace(",", "\t").replace("query_id\tdoc_id\trel", "query-id\tcorpus-id\tscore")),
    "json": ("q.json", '{{"q1": {{"d1": {}, "d2": {}, "d3": {}}}}}'),
    "jsonl": ("q.jsonl", "".join(f'{{{{"qid": "q1", "docid": "d{at}", "rel": {{}}}}}}\n' for at in (1, 2, 3))),
}


@pytest.fixture(params=["native", "reference"])
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each engine in turn."""
    if request.param == "native" and not _engine_choice.is_built():
        pytest.skip("the extension is not built")
    monkeypatch.setenv("RANKPROOF_ENGINE", request.param)
    _engine_choice.chosen_name.cache_clear()
    yield _engine_choice.chosen_name()
    monkeypatch.undo()
    _engine_choice.chosen_name.cache_clear()


def notes_of(result: rp.Result, code: str) -> list[int]:
    return [note.count for note in result.systems[0].notes if note.code == code]


def written(folder: Path, form: str, *grades: str) -> Path:
    name, template = FILES[form]
    path = folder / name
    path.write_text(template.format(*grades))
    return path


@pytest.mark.parametrize("form", FILES)
def test_whole_floats_and_booleans_are_integers_and_noted(form: str, engine: str, tmp_path: Path) -> None:
    path = written(tmp_path, form, "2.0", "true", "false")
    found = rp.read_qrels(path)
    assert ({query: dict(docs) for query, docs in found.items()}, found.converted) == (PLAIN, 3)
    result = rp.evaluate(path, RUN, "nDCG@10")
    assert notes_of(result, "converted-grades") == [3]
    assert result.means == rp.evaluate(PLAIN, RUN, "nDCG@10").means
    assert notes_of(rp.evaluate(written(tmp_path, form, "2", "1", "0"), RUN, "nDCG@10"), "converted-grades") == []


def frames() -> list[Any]:
    columns: dict[str, Any] = {"query": ["q1"] * 3, "doc": ["d1", "d2", "d3"], "grade": [2.0, 1.0, 0.0]}
    return [pytest.importorskip("pandas").DataFrame(columns), pytest.importorskip("polars").DataFrame(columns)]


def test_whole_floats_and_booleans_of_python_values_are_integers_and_noted() -> None:
    for frame in frames():
        assert notes_of(rp.evaluate(frame, RUN, "nDCG@10"), "converted-grades") == [3]
    given: dict[str, dict[str, Any]] = {"q1": {"d1": 2.0, "d2": True, "d3": 0}}
    assert notes_of(rp.evaluate(given, RUN, "nDCG@10"), "converted-grades") == [2]
    assert {**Qrels.from_dict(given)["q1"]} == PLAIN["q1"]


LABELS = [
    ["Exact", "Substitute", "Complement", "Irrelevant"],
    ["E", "S", "C", "I"],
    ["Exact", "Partial", "Irrelevant"],
    ["relevant", "partial"],
    ["partial", "not relevant", "relevant"],
    ["Perfect", "Excellent", "Good", "Fair", "Bad"],
    ["0.5", "1", "0", "1.5"],
]


@pytest.mark.parametrize("labels", LABELS, ids=",".join)
def test_the_suggested_map_followed_literally_gives_every_label_its_own_grade(
    labels: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, run = tmp_path / "q.csv", tmp_path / "r.run"
    for order in itertools.islice(itertools.permutations(labels), 4):
        rows = [f"q1,d{at},{label}\n" for at, label in enumerate([*order, order[0]])]
        qrels.write_text("query_id,doc_id,label\n" + "".join(rows))
        run.write_text("q1 Q0 d0 1 1 t\n")
        assert main(["eval", str(qrels), str(run)]) == 2
        message = capsys.readouterr().err
        assert all(f"{label} ({2 if label == order[0] else 1})" in message for label in labels)
        advice = shlex.split(message[message.index("--grade-map") :])
        assert main(["eval", str(qrels), str(run), "-m", "nDCG@10", *advice]) == 0
        grades = rp.read_qrels(qrels, grade_map=parse_grade_map(advice[1]))["q1"]
        assert len({*grades.values()}) == len(labels)
        capsys.readouterr()


def test_a_map_of_labels_whose_order_is_not_known_has_no_grades() -> None:
    assert suggested_map(["red", "blue"]) is None
    assert suggested_map(["relevant", "Relevant"]) is None
    assert suggested_map(["1e3", "0"]) is None
    with pytest.raises(InputError, match=re.escape('with an integer for each ?: grade_map={"red": ?, "blue": ?}')):
        Qrels.from_dict({"q1": {"d1": "red", "d2": "blue"}})  # type: ignore[dict-item]
    with pytest.raises(UsageError, match="is not label=integer"):
        parse_grade_map("red=?,blue=?")


def test_a_column_of_scores_is_not_listed_in_full() -> None:
    with pytest.raises(InputError, match=r"and 80 more; check the column: grades are a few small integers$"):
        Qrels.from_dict({"q1": {f"d{at}": at + 0.5 for at in range(100)}})  # type: ignore[misc]


CONFLICT = "q1 0 d1 1\nq1 0 d1 3\nq1 0 d1 2\nq1 0 d2 1\nq1 0 d2 1\n"
KEPT: Mapping[OnConflict, int] = {"max": 3, "min": 1, "first": 1, "last": 2}


@pytest.mark.parametrize("rule", KEPT)
def test_on_conflict_chooses_the_grade_of_a_pair_with_two(rule: OnConflict, engine: str, tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text(CONFLICT)
    found = rp.read_qrels(path, on_conflict=rule)
    assert ({**found["q1"]}, found.conflicts, found.repeats) == ({"d1": KEPT[rule], "d2": 1}, 1, 1)
    for qrels in (path, found):
        result = rp.evaluate(qrels, RUN, "DCG@1", on_conflict=rule)
        assert result.means == {"run": {"DCG@1": KEPT[rule]}}
        assert notes_of(result, "conflicting-judgements") == [1]


def test_the_label_of_the_kept_judgement_is_kept() -> None:
    rows = [
        Judgement("q", "d", 1, 1, "llm:a"),
        Judgement("q", "d", 2, 2),
        Judgement("q", "e", 1, 3),
        Judgement("q", "e", 2, 4, "llm:b"),
    ]
    assert dict(Qrels(rows, on_conflict="max").judge_labels) == {("q", "e"): "llm:b"}
    assert dict(Qrels(rows, on_conflict="min").judge_labels) == {("q", "d"): "llm:a"}


def test_an_unknown_rule_for_conflicts_is_refused() -> None:
    with pytest.raises(UsageError, match="choose one of error, max, min, first, last"):
        rp.evaluate(PLAIN, RUN, on_conflict="mean")  # type: ignore[arg-type]


def test_a_nul_byte_in_an_id_is_refused() -> None:
    with pytest.raises(InputError, match=r"document id d\\x00 contains a NUL byte"):
        rp.evaluate(PLAIN, {"q1": {"d\0": 1.0}})
    with pytest.raises(InputError, match=r"query id q\\x00 contains a NUL byte"):
        rp.evaluate({"q\0": {"d": 1}}, RUN)
    frame = pytest.importorskip("polars").DataFrame({"query": ["q1"], "doc": ["d\0"], "score": [1.0]})
    with pytest.raises(InputError, match=r"run:1: document id d\\x00 contains a NUL byte"):
        rp.evaluate(PLAIN, frame)


@pytest.mark.parametrize("wrong", [5, [1, 2], None, ("q", "d", 1), "q.qrels", pd.DataFrame({"query": ["q"]}), {"q"}], ids=type)
def test_what_is_not_a_mapping_is_rejected(wrong: Any) -> None:
    with pytest.raises(UsageError, match="judgements cannot be"):
        Qrels(wrong)
    with pytest.raises(UsageError, match="rankings cannot be"):
        Run(wrong)


@pytest.mark.parametrize("form", ["trec", "csv", "jsonl"])
@pytest.mark.parametrize("labels", [("Exact", "exact"), ("exact", "Exact")])
def test_a_label_without_a_grade_is_reported_before_the_conflict_it_would_make(
    form: str, labels: tuple[str, str], tmp_path: Path
) -> None:
    name, content = FILES[form]
    quoted = [f'"{label}"' if form == "jsonl" else label for label in (*labels, "Exact")]
    path = tmp_path / name
    path.write_text(content.format(*quoted).replace("d2", "d1"), encoding="utf-8")
    with pytest.raises(InputError, match='grade "exact" is not in the grade map'):
        rp.read_qrels(path, grade_map={"Exact": 2})


class _Id(str):
    """An id of a type of one's own."""


GRADE_DICTS: list[dict[Any, Any]] = [
    {"q": {"d": 1, "e": -3}, "r": {}, "s": {"d": 1000}},
    {},
    {"q": {}},
    {"q": {"d": 1001}},
    {"q": {"d": 1}, "r": {"e": 1 << 80, "f": -1001, "g": -(1 << 63)}},
    {"q": {"d": -1001, "e": -(1 << 62)}},
    {"q": {"d": True, "e": 2}},
    {"q": {"d": 1.0, "e": "2"}},
    {"q": {"d": None}},
    {"q": {"é": 1}, "ü": {"d": 1}},
    {"q": {"": 1}},
    {"q\0": {"d": 1}},
    {1: {2: 3}},
    {1: {"d": 1}, "1": {"d": 1}},
    {_Id("q"): {_Id("d"): 1}},
    {"q": ["d"]},
    {"q": {"d"}},
]


@pytest.mark.parametrize("grades", GRADE_DICTS, ids=str)
def test_a_dict_gives_the_judgements_that_another_mapping_of_the_same_rows_gives(grades: dict[Any, Any]) -> None:
    def outcome(judgements: Mapping[Any, Any]) -> object:
        try:
            qrels = Qrels(judgements)
        except InputError as error:
            return str(error)
        values = {query: dict(docs) for query, docs in qrels.items()}
        return list(values), values, qrels.converted, qrels.repeats, qrels.fingerprint()

    assert outcome(grades) == outcome(MappingProxyType(grades))


def test_judgements_stay_as_they_are_when_their_dict_changes_later() -> None:
    grades = {"q": {"d": 1}}
    qrels = Qrels(grades)
    grades["q"]["d"] = 2
    assert qrels["q"]["d"] == 1
    with pytest.raises(TypeError):
        qrels["q"]["d"] = 2  # type: ignore[index]
