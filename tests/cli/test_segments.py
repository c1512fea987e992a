"""The verbs segments, diagnose and baselines, from the command line to every format."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from rankproof._cli.main import main
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._results.folder import save_results
from rankproof.stages import BM25, KeywordScorer, Rerank
from rankproof.stages._base import Stage

HOSTILE = '\x1b[31m=cmd|<b>"\u202e'


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A small ladder on the built-in sample."""
    bm25 = BM25()
    systems: dict[str, Stage] = {
        "title": BM25(fields=("title",)),
        "bm25": bm25,
        "reranked": Rerank(bm25, KeywordScorer(), top=10),
    }
    folder = tmp_path_factory.mktemp("results") / "sample"
    save_results(run_experiment(Experiment(systems, name="sample"), RunOptions(cache=None)), folder)
    return str(folder)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Judgements and one run of three queries, in a corpus that nobody knows."""
    qrels, run = tmp_path / "qrels.txt", tmp_path / "one.run"
    qrels.write_text("".join(f"q{at} 0 d{at} 1\n" for at in range(3)))
    run.write_text("".join(f"q{at} Q0 d{doc} 0 {9 - doc} t\n" for at in range(3) for doc in range(3)))
    return [str(qrels), str(run)]


def tables_of(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    assert main([*argv, "--format", "json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["tables"]
    return found


def test_segments_of_a_results_folder_name_every_category(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    overview, *details = tables_of(capsys, "segments", results, "--by", "category", "--samples", "200")
    names = {"technique", "product", "timing", "appliance", "ingredient"}
    assert {row["category"] for row in overview["rows"]} == names | {"all queries"}
    assert all(sum(row["n"] for row in table["rows"]) == 124 for table in details)
    assert [table["facts"]["system"] for table in details] == ["title", "bm25", "reranked"]


def test_the_system_is_in_the_heading_and_not_in_a_column(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segments", results, "--by", "category"]) == 0
    headings = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("category ")]
    assert headings
    assert all("system" not in heading for heading in headings)


def test_segments_as_csv_are_one_table(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["segments", results, "--by", "category", "--by", "length", "-m", "RR@10,Success@5", "--samples", "100"]
    assert main([*argv, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert len(rows) == 2 * 3 * (5 + 3)
    assert {row["by"] for row in rows} == {"category", "length"}
    assert {row["system"] for row in rows} == {"title", "bm25", "reranked"}


def test_segments_take_several_groupings_and_measures(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("segments", results, "--by", "length", "--by", "complexity", "-m", "RR@10,Success@5", "--samples", "100")
    overviews = [table["title"] for table in tables_of(capsys, *argv) if "against" not in table["title"]]
    assert [title.partition(",")[0] for title in overviews] == [
        *("RR@10 by length", "Success@5 by length", "RR@10 by complexity", "Success@5 by complexity")
    ]


def test_the_diagnosis_says_that_reranking_adds_nothing(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    tables = {table["name"]: table for table in tables_of(capsys, "diagnose", results)}
    title, bm25, reranked = tables["moves"]["rows"]
    assert (title["compared with"], bm25["compared with"], reranked["compared with"]) == ("bm25", None, "bm25")
    assert title["lost"] > 0
    assert (reranked["found"], reranked["lost"], reranked["retrieved"]) == (0, 0, bm25["retrieved"])
    assert any("stays at" in said for said in tables["gains"]["sentences"])
    assert all(row["text"] for row in tables["failed queries"]["rows"])


def test_the_system_whose_failures_are_listed_can_be_named(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    (table,) = [
        table
        for table in tables_of(capsys, "diagnose", results, "--system", "title", "--failed", "3", "--top", "5")
        if table["name"] == "failed queries"
    ]
    assert table["facts"]["system"] == "title"
    assert len(table["rows"]) == 3
    assert main(["diagnose", results, "--system", "nobody"]) == 2
    assert "no system is called nobody; choose from: title, bm25, reranked" in capsys.readouterr().err


def test_baselines_find_bm25_among_the_systems(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    first, *_ = tables_of(capsys, "baselines", results)
    assert first["facts"]["baselines"] == {"title-only BM25": "title", "full-text BM25": "bm25"}
    assert first["facts"]["documents"] == 252
    assert [row["system"] for row in first["rows"]] == ["random ranking", "title", "bm25", "reranked", "ideal ranking"]


def test_baselines_run_bm25_on_the_dataset_of_run_files(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder, qrels, run = Path(results), f"{results}/qrels.tsv", f"{results}/runs/bm25.trec.gz"
    assert folder.is_dir()
    first, *_ = tables_of(capsys, "baselines", qrels, run, "--dataset", "sample", "--name", "mine", "-m", "nDCG@10")
    rows = {row["system"]: row["value"] for row in first["rows"]}
    assert rows["full-text BM25"] == rows["mine"]
    assert rows["title-only BM25"] < rows["mine"]
    assert first["facts"]["documents"] == 252


def test_a_dataset_other_than_that_of_the_results_is_refused(
    results: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "one"}\n')
    (tmp_path / "queries.jsonl").write_text('{"_id": "q001", "text": "one"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq001\td1\t1\n")
    assert main(["baselines", results, "--dataset", str(tmp_path)]) == 2
    assert "is not the dataset of sample" in capsys.readouterr().err


def test_the_random_ranking_of_run_files_needs_the_corpus_size(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", *files]) == 0
    said = capsys.readouterr()
    assert "random ranking" not in said.out
    assert "note: the corpus size is unknown" in said.err
    assert main(["baselines", *files, "--documents", "10"]) == 0
    assert "random ranking" in capsys.readouterr().out
    assert main(["diagnose", *files, "--documents", "2"]) == 2
    assert "2 documents are fewer than" in capsys.readouterr().err


def test_a_size_that_contradicts_the_results_is_refused(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", results, "--documents", "7"]) == 2
    assert "the corpus has 252 documents, not 7; leave out --documents" in capsys.readouterr().err


def test_own_bands_replace_the_built_in_ones(files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bands = tmp_path / "ours.toml"
    bands.write_text('[shop]\nsource = "our targets"\n[shop.measures."Success@1"]\nlow = 0\nhigh = 0.9\n')
    names = [table["name"] for table in tables_of(capsys, "baselines", *files, "--bands", str(bands))]
    assert [name for name in names if name.startswith("bands")] == ["bands shop"]
    assert main(["baselines", *files, "--profile", "shop"]) == 2
    assert "no profile is called shop; choose from: tutorial, rag" in capsys.readouterr().err
    bands.write_text('[shop]\nsource = "x"\n[shop.measures."Success@1"]\nlow = "none"\n')
    assert main(["baselines", *files, "--bands", str(bands)]) == 2
    assert capsys.readouterr().err.startswith(f"{bands}:4: the lower bound of low is not a number; ")


def test_baselines_say_what_bands_mean_in_the_details_alone(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baselines", results, "-m", "nDCG@10", "--profile", "tutorial"]) == 0
    short = capsys.readouterr()
    assert "What the bands" not in short.out
    assert "--details" in short.err
    assert main(["baselines", results, "-m", "nDCG@10", "--profile", "tutorial", "--details"]) == 0
    whole = capsys.readouterr()
    assert "What the bands of the profile tutorial mean" in whole.out
    assert "this is a summary" not in whole.err
    tables = tables_of(capsys, "baselines", results, "-m", "nDCG@10")
    assert [table["name"] for table in tables[-4:]] == [
        "bands tutorial",
        "band meanings tutorial",
        "bands rag",
        "band meanings rag",
    ]
    assert all(row["meaning"] and row["what to do next"] for row in (*tables[-3]["rows"], *tables[-1]["rows"]))


def test_baselines_show_the_answer_first_and_every_measure_in_the_details(
    results: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["baselines", results, "-m", "nDCG@10"]
    assert main(argv) == 0
    short = capsys.readouterr().out
    assert "has the best nDCG@10" in short.splitlines()[2]
    assert "Every measure with its baselines" not in short
    assert main([*argv, "--details"]) == 0
    assert "Every measure with its baselines" in capsys.readouterr().out


def test_segments_show_the_findings_first_and_all_segments_in_the_details(
    results: str, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = ["segments", results, "--by", "category", "--by", "length"]
    assert main(argv) == 0
    short = capsys.readouterr()
    title, _, first, *_ = short.out.splitlines()
    assert title.endswith("of 24 tested segments differ significantly from the rest")
    assert "is significantly lower on" in first
    assert "each segment against the rest" not in short.out
    assert "--details" in short.err
    assert main([*argv, "--details"]) == 0
    assert capsys.readouterr().out.count("each segment against the rest") == 3 * 2


def test_segments_without_a_rest_say_so_first(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["segments", *files]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "nDCG@10 by relevant: no segment was tested against the rest",
        "",
        "All queries are in one segment, so there is no rest to compare with.",
    ]


def test_segments_are_rated_in_every_format(results: str, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["segments", results, "--by", "category", "-m", "nDCG@10,Success@5", "--samples", "100"]
    for shown in (["--format", "csv"], ["--format", "json"], ["--format", "markdown"], ["--details"]):
        assert main([*argv, *shown]) == 0
        assert "failing" in capsys.readouterr().out
    assert main([*argv, "--format", "csv"]) == 0
    rows = list(csv.DictReader(capsys.readouterr().out.splitlines()))
    assert {row["measure"] for row in rows if row["rating"]} == {"Success@5"}
    assert {row["measure"] for row in rows if not row["rating"]} == {"nDCG@10"}
    assert all(row["system"] for row in rows)


def test_segments_take_the_bands_of_a_profile_or_file(results: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ("segments", results, "--by", "category", "-m", "Success@5", "--samples", "100")
    assert all("rating" not in row for table in tables_of(capsys, *argv, "--profile", "rag") for row in table["rows"])
    bands = tmp_path / "ours.toml"
    bands.write_text('[shop]\nsource = "our targets"\n[shop.measures."Success@5"]\nlow = 0\nhigh = 0.1\n')
    *_, last = tables_of(capsys, *argv, "--bands", str(bands))
    assert {row["band"] for row in last["rows"]} == {"high"}
    assert last["facts"]["bands_source"] == "our targets"
    assert main([*argv, "--profile", "nobody"]) == 2
    assert "no profile is called nobody; choose from: tutorial, rag" in capsys.readouterr().err
    bands.write_text("[shop\n")
    assert main([*argv, "--bands", str(bands)]) == 2
    assert capsys.readouterr().err.startswith(f"{bands}:1: ")


def test_a_profile_without_the_measure_is_noted(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["segments", *files, "--by", "relevant", "-m", "nDCG@10", "--samples", "100"]
    assert main([*argv, "--profile", "tutorial"]) == 0
    assert "the profile tutorial has no bands for nDCG@10; choose another measure, such as -m Success@5" in " ".join(
        "".join(capsys.readouterr()).split()
    )
    assert main(argv) == 0
    assert "no bands" not in "".join(capsys.readouterr())


def test_complexity_of_run_files_is_counted_in_the_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = ["kettle", 'kettle "1 litre", red, without a lid, 2 cups', HOSTILE, "чайник"]
    (tmp_path / "corpus.jsonl").write_text('{"_id": "d1", "title": "", "text": "one"}\n')
    (tmp_path / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": f"q{at}", "text": text}) + "\n" for at, text in enumerate(texts))
    )
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(f"q{at}\td1\t1\n" for at in range(4)))
    (tmp_path / "one.run").write_text("".join(f"q{at} Q0 d1 1 1 t\n" for at in range(4)))
    argv = ("segments", str(tmp_path / "qrels.tsv"), str(tmp_path / "one.run"), "--by", "complexity", "--samples", "100")
    assert main([*argv]) == 2
    assert "run files have no query text; add the queries with --dataset" in capsys.readouterr().err
    (table,) = tables_of(capsys, *argv, "--dataset", str(tmp_path))
    assert {row["complexity (counted)"]: row["n"] for row in table["rows"]} == {
        "simple (under 3 constraints)": 2,
        "complex (5 or more constraints)": 1,
        "(not counted)": 1,
    }
    assert any("a heuristic for English" in note for note in table["notes"])


@pytest.mark.parametrize("format", ["table", "csv", "markdown", "latex", "json"])
def test_a_hostile_segment_is_escaped_in_every_format(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str], format: str
) -> None:
    listed = tmp_path / "segments.csv"
    quoted = HOSTILE.replace('"', '""')
    listed.write_text(f'q0,"{quoted}"\nq1,fine\n')
    assert main(["segments", *files, "--by-file", str(listed), "--format", format, "--samples", "100"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "\u202e" not in out or format == "csv"
    assert "(not in segments.csv)" in out
    assert format != "markdown" or "<b>" not in out


@pytest.mark.parametrize("alpha", ["0", "0.5", "nan"])
def test_an_alpha_that_is_no_rate_is_refused(files: list[str], capsys: pytest.CaptureFixture[str], alpha: str) -> None:
    assert main(["segments", *files, "--alpha", alpha]) == 2
    assert "alpha is" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["segments", "diagnose", "baselines"])
def test_every_verb_says_what_it_needs(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 2
    assert capsys.readouterr().err.startswith("no input files; specify one or more results folders")
