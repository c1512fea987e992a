"""The results folder: saved atomically, loaded as the same results, refused where it is damaged."""

import csv
import gzip
import io
import json
import os
import shutil
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof import evaluate
from rankproof._cli.main import main
from rankproof._data.arrays import PackedIds
from rankproof._data.run import Run
from rankproof._engine_choice import is_built
from rankproof._io.paths import file_names, try_lock
from rankproof._results.experiment_result import TIME_COLUMNS, ExperimentResult
from rankproof._results.folder import check_results_folder, load_results, results_file_sha256, save_results
from rankproof._results.system_files import per_query_csv, summary_csv
from rankproof.errors import ExternalError, InputError, UsageError
from support.examples import examples
from support.paths import DOCS
from support.small_results import MEASURES, small_results

HOSTILE = [
    "a b",
    "#1",
    "=cmd|' /C calc'!A0",
    '"x",y',
    "tab\there",
    "new\nline",
    "\ufeffmark",
    "文書-é",
    "\u202eabc",
    "é",
    "é",
    "\r",
    "\x1b[31m",
]


def rows_of(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {query: {} for query in run.queries}
    for row in run.rows():
        found[row.query][row.doc] = row.score
    return found


def assert_same(one: ExperimentResult, other: ExperimentResult) -> None:
    """Every number bit by bit, every text, every order."""
    for name in ("name", "fingerprint", "queries", "experiment", "notes"):
        assert getattr(one, name) == getattr(other, name)
    assert dict(one.qrels) == dict(other.qrels)
    assert [*one.qrels] == [*other.qrels]
    assert dict(one.texts) == dict(other.texts)
    assert dict(one.snippets) == dict(other.snippets)
    assert json.dumps(dict(one.provenance)) == json.dumps(dict(other.provenance))
    assert one.result.queries == other.result.queries
    assert one.result.means == other.result.means
    assert one.result.notes == other.result.notes
    for mine, theirs in zip(one.system_runs, other.system_runs, strict=True):
        assert one.result.per_query(mine.name) == other.result.per_query(theirs.name)
        assert mine.run.queries == theirs.run.queries
        assert rows_of(mine.run) == rows_of(theirs.run)
        assert all(np.array_equal(mine.times[part], theirs.times[part]) for part in TIME_COLUMNS)
        for one_field in fields(mine):
            if one_field.name not in ("stored_run", "times"):
                assert getattr(mine, one_field.name) == getattr(theirs, one_field.name)


def test_results_are_loaded_as_they_were_saved(tmp_path: Path) -> None:
    results = small_results()
    save_results(results, tmp_path / "out")
    assert_same(load_results(tmp_path / "out"), results)
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "experiment.toml", "per_query.csv", "qrels.tsv", "queries.jsonl", "result.json", "runs", "snippets.jsonl", "summary.csv",
    ]  # fmt: skip
    assert sorted(os.listdir(tmp_path)) == ["out"]
    assert sorted(os.listdir(tmp_path / "out" / "runs")) == [f"{name}.trec.gz" for name in ("bm25", "dense", "hybrid", "late")]


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_hostile_ids_and_names_are_kept(tmp_path: Path, hostile: str) -> None:
    results = small_results((hostile, "b"), (hostile, "q2"), ("d1", hostile))
    save_results(results, tmp_path / "out")
    assert_same(load_results(tmp_path / "out"), results)


@examples(25)
@given(
    st.lists(
        st.text(min_size=1).filter(lambda text: "\0" not in text and (text.isprintable() or "\n" in text)),
        min_size=2,
        max_size=4,
        unique=True,
    )
)
def test_any_ids_are_kept(tmp_path_factory: pytest.TempPathFactory, ids: list[str]) -> None:
    folder = tmp_path_factory.mktemp("any")
    results = small_results(ids, ids, ids)
    save_results(results, folder / "out")
    assert_same(load_results(folder / "out"), results)


@examples(25)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=4, max_size=4))
def test_every_score_keeps_its_bits(tmp_path_factory: pytest.TempPathFactory, scores: list[float]) -> None:
    folder = tmp_path_factory.mktemp("bits")
    given_scores = dict(zip(("d1", "d2", "d3", "d4"), scores, strict=True))
    results = small_results(("a",), ("q1",), scores={"a": {"q1": given_scores}})
    save_results(results, folder / "out")
    assert rows_of(load_results(folder / "out").system_runs[0].run) == {"q1": given_scores}


def test_queries_without_ranking_and_systems_without_rows_are_kept(tmp_path: Path) -> None:
    some = small_results(("a", "b"), scores={"a": {"q1": {"d1": 1.0}, "q2": {}}, "b": {"q1": {}, "q2": {}, "q3": {}}})
    save_results(some, tmp_path / "out")
    again = load_results(tmp_path / "out")
    assert_same(again, some)
    assert again.system_runs[0].run.queries == ("q1", "q2")


def test_a_system_that_found_nothing_is_evaluated_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_results(small_results(("a", "b"), scores={"b": {"q1": {}, "q2": {}, "q3": {}}}), tmp_path / "out")
    assert sorted(os.listdir(tmp_path / "out" / "runs")) == ["a.trec.gz", "b.json.gz"]
    assert main(["eval", str(tmp_path / "out"), str(tmp_path / "out" / "runs" / "b.json.gz"), "-m", "RR", "--format", "csv"]) == 0
    assert capsys.readouterr().out.endswith("\nb,,RR,mean,3,0.0\n")


def test_judged_queries_that_were_not_run_are_kept_apart(tmp_path: Path) -> None:
    results = small_results(("a",))
    asked = replace(
        results,
        queries=("q3", "q1"),
        system_runs=(replace(results.system_runs[0], times={part: np.zeros(2) for part in TIME_COLUMNS}),),
    )
    save_results(asked, tmp_path / "out")
    again = load_results(tmp_path / "out")
    assert (again.queries, again.result.queries) == (("q3", "q1"), ("q1", "q2", "q3"))


def test_other_commands_read_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results = small_results()
    folder = tmp_path / "out"
    save_results(results, folder)
    runs = {name: str(folder / "runs" / f"{name}.trec.gz") for name in ("bm25", "late")}
    assert evaluate(str(folder), runs, MEASURES).means["late"] == results.result.means["late"]
    assert main(["eval", str(folder), runs["bm25"], "--quiet", "--format", "csv", "-m", "RR"]) == 0


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_summary_has_a_row_a_system_with_every_measure_time_and_cost() -> None:
    results = small_results()
    rows = table(summary_csv(results))
    assert [row["system"] for row in rows] == ["bm25", "dense", "hybrid", "late"]
    last, system_run = rows[-1], results.system_runs[-1]
    assert [float(last[name]) for name in MEASURES] == list(results.result.means["late"].values())
    for part in TIME_COLUMNS:
        for which in ("mean", "p50", "p95"):
            assert float(last[f"{part}_ms_{which}"]) == getattr(system_run.time_of(part), which)
    assert last["timed_queries"] == str(len(results.queries))
    assert (float(last["index_seconds"]), int(last["index_bytes"]), last["throughput"]) == (1.0, 3000, "")
    assert (last["gain_over"], float(last["gain_pp RR@10"])) == ("hybrid", 100 * (results.gain(system_run, "RR@10") or 0))
    assert (last["gain_pp NumRet"], rows[0]["gain_pp RR@10"]) == ("", "")


def test_the_table_of_queries_has_a_row_for_each_system_and_query() -> None:
    results = small_results()
    rows = table(per_query_csv(results))
    assert [(row["system"], row["query"]) for row in rows[:4]] == [
        ("bm25", "q1"),
        ("bm25", "q2"),
        ("bm25", "q3"),
        ("dense", "q1"),
    ]
    row = rows[3]
    assert json.loads(row["top_10"]) == ["d2", "d3", "d4", "d1"]
    assert (row["first_relevant"], row["retrieved"], row["text"], row["RR@10"]) == ("4", "4", "what is 0?", "0.25")
    assert float(row["total_ms"]) == results.system_runs[1].times["total"][0]


def test_the_first_relevant_document_is_the_first_of_at_least_rel() -> None:
    results = replace(small_results(("a",)), rel=3)
    assert table(per_query_csv(results))[0]["first_relevant"] == ""


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_no_cell_is_a_formula_and_no_row_is_split(hostile: str) -> None:
    results = small_results((hostile, "b"), (hostile, "q2"), ("d1", hostile))
    for text, count in ((summary_csv(results), 2), (per_query_csv(results), 4)):
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) == count + 1
        assert len({len(row) for row in rows}) == 1
        assert not any(row[0].startswith(("=", "+", "-", "@", "\t", "\r")) for row in rows)
    assert json.loads(table(per_query_csv(results))[0]["top_10"]) == ["d1", hostile]


WINDOWS = [
    "con",
    "NUL.x",
    "Com1",
    "lpt9.trec",
    "a",
    "A",
    "a.",
    "a ",
    "a/b",
    "a\\b",
    "a:b",
    "",
    "...",
    "é",
    "é",
    "x" * 300,
    "x" * 301,
    "-a",
    "a-2",
]


def test_names_of_files_are_safe_and_differ_on_every_system() -> None:
    found = file_names(WINDOWS)
    assert list(found) == list(dict.fromkeys(WINDOWS))
    assert len({name.lower() for name in found.values()}) == len(found)
    for name in found.values():
        assert name.encode().decode("ascii").replace("-", "").replace("_", "").replace(".", "").isalnum()
        assert name.split(".")[0].lower() not in {"con", "nul", "com1", "lpt9"}
        assert name[0] not in ".-"
        assert name[-1] != "."
        assert len(name) < 100


def test_an_older_results_folder_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    save_results(small_results(("old", "older")), tmp_path / "out")
    save_results(small_results(("new",)), tmp_path / "out")
    assert [system_run.name for system_run in load_results(tmp_path / "out").system_runs] == ["new"]
    assert os.listdir(tmp_path / "out" / "runs") == ["new.trec.gz"]
    (tmp_path / "mine").mkdir()
    save_results(small_results(("new",)), tmp_path / "mine")
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "result.json").write_text('{"format": "mine"}')
    (tmp_path / "file").write_text("x")
    (tmp_path / "loop").symlink_to("loop")
    for name in ("thesis", "file", "loop", ""):
        with pytest.raises(UsageError):
            check_results_folder(str(tmp_path / name) if name else "")
        with pytest.raises(UsageError):
            save_results(small_results(), str(tmp_path / name) if name else "")
    assert (tmp_path / "thesis" / "result.json").read_text() == '{"format": "mine"}'
    assert sorted(os.listdir(tmp_path)) == ["file", "loop", "mine", "out", "thesis"]


@pytest.mark.parametrize("mine", ["notes.md", "runs/mine.trec.gz", "figures/", ".hidden"])
def test_a_results_folder_with_other_files_is_not_replaced(tmp_path: Path, mine: str) -> None:
    save_results(small_results(("old",)), tmp_path / "out")
    own = tmp_path / "out" / mine
    own.mkdir() if mine.endswith("/") else own.write_text("weeks of work")
    for refused in (
        lambda: check_results_folder(tmp_path / "out"),
        lambda: save_results(small_results(("new",)), tmp_path / "out"),
    ):
        with pytest.raises(UsageError, match=f"holds {mine.strip('/')}, which is not part of its results; move it elsewhere"):
            refused()
    assert own.exists()
    assert [system_run.name for system_run in load_results(tmp_path / "out").system_runs] == ["old"]


def test_a_folder_with_a_forged_result_is_not_emptied(tmp_path: Path) -> None:
    (tmp_path / "result.json").write_text('{"format": "rankproof-results", "sha256": {"summary.csv": ""}}')
    (tmp_path / "thesis.doc").write_text("weeks of work")
    with pytest.raises(UsageError, match=r"holds thesis\.doc"):
        save_results(small_results(), tmp_path)
    assert (tmp_path / "thesis.doc").exists()


def test_a_failed_write_keeps_the_old_folder_and_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_results(small_results(("old",)), tmp_path / "out")
    left = 0
    real = os.replace

    def failing(*paths: Any) -> None:
        nonlocal left
        left -= 1
        if not left:
            raise OSError(28, "No space left on device")
        real(*paths)

    monkeypatch.setattr(os, "replace", failing)
    for limit in range(1, 9):
        left = limit
        with pytest.raises(ExternalError, match="No space left"):
            save_results(small_results(("new",)), tmp_path / "out")
        assert [system_run.name for system_run in load_results(tmp_path / "out").system_runs] == ["old"]
        assert os.listdir(tmp_path) == ["out"]


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file" / "out", tmp_path / "file" / "more" / "out"):
        with pytest.raises(UsageError, match="cannot be created"):
            check_results_folder(path)
        with pytest.raises(UsageError, match="cannot be created"):
            save_results(small_results(), path)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_results(small_results(), tmp_path / "out")
    return tmp_path / "out"


@pytest.mark.parametrize(
    "name", ["result.json", "qrels.tsv", "queries.jsonl", "snippets.jsonl", "experiment.toml", "runs/late.trec.gz"]
)
def test_a_missing_or_truncated_file_is_named(saved: Path, name: str) -> None:
    file = saved / name
    content = file.read_bytes()
    file.unlink()
    with pytest.raises(InputError, match=file.name):
        load_results(saved)
    file.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match=file.name):
        load_results(saved)
    if name.endswith(("json", "tsv", "jsonl")):
        file.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InputError, match=file.name):
            load_results(saved)


def test_a_run_with_a_wrong_number_of_rows_is_refused(saved: Path) -> None:
    text = (saved / "result.json").read_text(encoding="utf-8")
    (saved / "result.json").write_text(text.replace('"rows": 12', '"rows": 13'), encoding="utf-8")
    with pytest.raises(InputError, match=r"bm25\.trec\.gz: 12 rows, but result\.json says 13"):
        load_results(saved)


def with_text(saved: Path, name: str, text: bytes) -> None:
    """Writes a file of the folder anew, with the checksum of what is in it."""
    (saved / name).write_bytes(gzip.compress(text))
    document = json.loads((saved / "result.json").read_text())
    document["sha256"][name] = results_file_sha256(str(saved), name)
    (saved / "result.json").write_text(json.dumps(document))


@pytest.mark.parametrize("engine", ["native", "reference"] if is_built() else ["reference"])
@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"q1 Q0 d9 2 high bm25", "score .*high"),
        (b"q1 Q0 d9 2 1e999 bm25", "1e999"),
        (b"q1 Q0 d9 2 0.5", "5 columns"),
        (b"q1 Q0 d\xff9 2 0.5 bm25", "0xff"),
    ],
)
def test_a_wrong_field_of_a_run_is_refused_with_file_and_line(
    saved: Path, engine: str, line: bytes, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankproof._engine_choice.chosen_name", lambda: engine)
    name = "runs/bm25.trec.gz"
    rows = gzip.decompress((saved / name).read_bytes()).splitlines()
    with_text(saved, name, b"\n".join([rows[0], line, *rows[2:]]) + b"\n")
    with pytest.raises(InputError, match=rf"bm25\.trec\.gz:2: .*{what}"):
        load_results(saved)


@pytest.mark.skipif(not is_built(), reason="needs the native reader")
def test_the_runs_of_a_folder_are_read_without_an_object_for_each_line(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rankproof._engine_choice.chosen_name", lambda: "reference")
    eager = load_results(saved)
    monkeypatch.setattr("rankproof._engine_choice.chosen_name", lambda: "native")
    monkeypatch.setattr("rankproof._formats.trec.run_rows", None)
    lazy = load_results(saved)
    assert_same(lazy, eager)
    for one, other in zip(lazy.system_runs, eager.system_runs, strict=True):
        assert isinstance(one.run.docs, PackedIds)
        assert [*one.run.rows()] == [*other.run.rows()]


@pytest.mark.parametrize("name", ["qrels.tsv", "queries.jsonl", "snippets.jsonl", "experiment.toml", "runs/late.trec.gz"])
def test_a_folder_with_a_changed_file_is_refused(saved: Path, name: str) -> None:
    file = saved / name
    content = file.read_bytes()
    changed = gzip.compress(gzip.decompress(content).replace(b"0", b"1")) if name.endswith("gz") else content + b"\n"
    file.write_bytes(changed)
    with pytest.raises(InputError, match="changed after the results were written"):
        load_results(saved)


UNMEASURED: dict[str, Any] = {"value": None, "summary": "mean", "queries": 0, "per_query": {}}
DAMAGES: list[tuple[tuple[str | int, ...], Any, str]] = [
    (("format",), "other", "not a result of rankproof"),
    (("schema",), 9, "format version 9, this version of rankproof reads 10; run the experiment again"),
    (("schema",), 11, "format version 11, this version of rankproof reads 10; upgrade rankproof"),
    (("schema",), None, "schema is not a whole number"),
    (("systems",), {}, "systems is not an array"),
    (("systems",), [], "there is no system"),
    (("systems", 0), 3, r"systems\[0\] is not an object"),
    (("systems", 1, "name"), "bm25", "two have the same name"),
    (("systems", 1, "kind"), "magic", "kind is not one of"),
    (("systems", 1, "builds_on"), "nobody", "builds_on of dense is nobody, which is not a system"),
    (("systems", 1, "index"), None, "index is not an object"),
    (("systems", 1, "index", "bytes"), 1.5, r"systems\[1\]\.index\.bytes is not a whole number"),
    (("systems", 1, "index", "seconds"), 10**400, "not a 64-bit float"),
    (("systems", 1, "throughput"), "fast", "not a number"),
    (("systems", 1, "from_cache"), 1, "not true or false"),
    (
        ("systems", 1, "times_ms", "total", "per_query"),
        [1.0],
        r"systems\[1\]\.times_ms\.total\.per_query has 1 values for 3 queries",
    ),
    (("systems", 1, "times_ms", "total", "per_query"), [1.0, True, 2.0], r"per_query\[1\] is not a number"),
    (("systems", 1, "measures"), {}, "different measures"),
    (
        ("systems", 1, "measures"),
        {"nDGC@10": {"value": 1, "summary": "mean", "queries": 0, "per_query": {}}},
        "unknown measure nDGC",
    ),
    (("systems", 1, "run", "file"), "../../etc/passwd", "is no run file of this folder"),
    (("systems", 1, "run", "file"), "runs/../x.trec.gz", "is no run file of this folder"),
    (("query_ids",), [1], r"query_ids\[0\] is not text"),
    (("provenance",), [], "not an object"),
]


@pytest.mark.parametrize(("path", "value", "what"), DAMAGES)
def test_a_damaged_document_is_refused(saved: Path, path: tuple[str | int, ...], value: Any, what: str) -> None:
    document = json.loads((saved / "result.json").read_text())
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    (saved / "result.json").write_text(json.dumps(document))
    with pytest.raises(InputError, match=what):
        load_results(saved)


@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff\xfe", b'{"format": "rankproof-results", "sch'])
@pytest.mark.parametrize("verb", ["compare", "report", "export"])
def test_the_verbs_say_that_result_json_is_damaged(
    saved: Path, content: bytes, verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (saved / "result.json").write_bytes(content)
    assert main([verb, str(saved)]) == 2
    said = capsys.readouterr().err
    assert "result.json:" in said
    assert said.endswith("; the file is damaged: run the experiment again\n")


@examples(25)
@given(st.data())
def test_a_document_without_some_key_is_damaged_or_has_the_same_values(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("lacks") / "out"
    results = small_results(("a",), ("q1",))
    save_results(results, folder)
    document = json.loads((folder / "result.json").read_text())
    inner, free = document, ("facts", "stage", "provenance", "gain_pp")
    while True:
        key = data.draw(st.sampled_from(sorted(inner)))
        if key in free or not isinstance(inner[key], dict) or not inner[key] or data.draw(st.booleans()):
            break
        inner = inner[key]
    del inner[key]
    (folder / "result.json").write_text(json.dumps(document))
    try:
        loaded = load_results(folder)
    except InputError as error:
        assert "result.json" in str(error)  # noqa: PT017
    else:
        assert (loaded.queries, loaded.result.means) == (results.queries, results.result.means)
        assert rows_of(loaded.system_runs[0].run) == rows_of(results.system_runs[0].run)
    shutil.rmtree(folder)


def test_no_invisible_character_is_in_the_document(tmp_path: Path) -> None:
    save_results(small_results(("a\u202e",)), tmp_path / "out")
    assert "\u202e" not in (tmp_path / "out" / "result.json").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))["systems"][0]["name"] == "a\u202e"


def test_the_page_of_the_folder_names_every_file_column_and_key(tmp_path: Path) -> None:
    page = (DOCS / "results-folder.md").read_text(encoding="utf-8")
    save_results(small_results(), tmp_path / "out")
    document = json.loads((tmp_path / "out" / "result.json").read_text(encoding="utf-8"))
    headers = [next(csv.reader(io.StringIO(text))) for text in (summary_csv(small_results()), per_query_csv(small_results()))]
    columns = [name for header in headers for name in header if name not in MEASURES and not name.startswith("gain_pp")]
    files = [path.name for path in (tmp_path / "out").iterdir() if path.is_file()]
    names = [*files, *columns, *document, *document["systems"][0], *document["systems"][0]["run"]]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_a_kill_between_the_two_renames_loses_nothing(tmp_path: Path) -> None:
    save_results(small_results(("a",)), tmp_path / "results")
    (tmp_path / "results").rename(tmp_path / ".rankproof-results.old")
    assert load_results(tmp_path / "results").system_runs[0].name == "a"
    (tmp_path / "results").rename(tmp_path / ".rankproof-results.old")
    save_results(small_results(("b",)), tmp_path / "results")
    assert load_results(tmp_path / "results").system_runs[0].name == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_kill_after_the_two_renames_leaves_no_old_folder_once_the_new_one_is_read(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_results(small_results((name,)), tmp_path / name)
    (tmp_path / "a").rename(tmp_path / ".rankproof-b.old")
    assert load_results(tmp_path / "b").system_runs[0].name == "b"
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no locks of folders")
def test_a_reader_does_not_restore_a_folder_that_another_process_is_replacing(tmp_path: Path) -> None:
    save_results(small_results(("a",)), tmp_path / ".rankproof-results.old")
    handle = os.open(tmp_path / ".rankproof-results.old", os.O_RDONLY)
    assert try_lock(handle)
    with pytest.raises(InputError, match="file not found"):
        load_results(tmp_path / "results")
    os.close(handle)
    assert load_results(tmp_path / "results").system_runs[0].name == "a"


def test_anything_but_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="results cannot be a str; pass an ExperimentResult"):
        save_results("x", tmp_path / "out")  # type: ignore[arg-type]
