"""Run files as systems: the same values as the files alone, beside built systems, as inputs, and without times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import rankproof as rp
from rankproof._cli.main import main
from rankproof._data.identity import identity_key
from rankproof._results.folder import load_results
from rankproof.errors import InputError, RankproofError, UsageError
from rankproof.stages import BM25, RRF, KeywordScorer, Rerank, RunFile
from rankproof.types import RunOptions
from support.hostile_strings import STRINGS
from support.small_datasets import RELEVANT, small_dataset

SYSTEMS = ("bm25", "static", "hybrid")
NO_CACHE = RunOptions(cache=None)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("runs")
    rp.write_qrels(rp.read_qrels("sample"), folder / "qrels.txt")
    for name in SYSTEMS:
        rp.write_run(rp.read_run(f"sample:{name}"), folder / f"{name}.run")
    return {name: str(folder / f"{name}.run") for name in SYSTEMS} | {"qrels": str(folder / "qrels.txt")}


@pytest.fixture(scope="module")
def from_toml(files: Mapping[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of the same runs from an experiment file."""
    folder = Path(files["qrels"]).parent
    systems = "".join(f'[systems.{name}]\nstage = "run"\npath = "{name}.run"\n' for name in SYSTEMS)
    (folder / "experiment.toml").write_text(f'dataset = "sample"\n{systems}')
    out = tmp_path_factory.mktemp("toml") / "out"
    assert main(["run", str(folder / "experiment.toml"), "-o", str(out), "--quiet"]) == 0
    return out


def run_of(path: Path, rankings: Mapping[str, Mapping[str, float]]) -> RunFile:
    path.write_text(json.dumps(rankings))
    return RunFile(str(path))


def results_of(*stages: RunFile | Rerank | BM25, dataset: rp.Dataset | None = None, **more: object) -> rp.ExperimentResult:
    systems = {f"s{at}": stage for at, stage in enumerate(stages)}
    return rp.run(rp.Experiment(systems, dataset=dataset or small_dataset(), **more), NO_CACHE)  # type: ignore[arg-type]


@pytest.mark.slow
def test_decision_and_values_are_the_same_from_run_files_from_toml_and_from_its_results_folder(
    files: Mapping[str, str], from_toml: Path
) -> None:
    runs = [files[name] for name in SYSTEMS]
    alone, folder = rp.evaluate(files["qrels"], runs), load_results(from_toml)
    assert folder.result.means == alone.means
    for name in SYSTEMS:
        assert folder.result.per_query(name) == alone.per_query(name)
    decisions = [rp.compare(files["qrels"], runs).decision, rp.compare(from_toml).decision, rp.compare(folder).decision]
    assert decisions[0].to_dict() == decisions[1].to_dict() == decisions[2].to_dict()
    pages = [rp.report(files["qrels"], runs), rp.report(from_toml)]
    assert pages[0].decision == pages[1].decision == decisions[0].sentences


def test_a_results_folder_of_run_files_has_no_times_and_no_zero_in_their_place(from_toml: Path) -> None:
    results = load_results(from_toml)
    assert {system_run.kind for system_run in results.system_runs} == {"run"}
    assert not any(system_run.times for system_run in results.system_runs)
    document = json.loads((from_toml / "result.json").read_text(encoding="utf-8"))
    assert document["systems"][0]["times_ms"] == {}
    assert document["systems"][0]["index"] == {"seconds": None, "bytes": None}
    page = (from_toml / "report.html").read_text(encoding="utf-8")
    assert 'id="latency"' not in page
    assert "0 ms" not in page
    assert json.loads((from_toml / "summary.json").read_text(encoding="utf-8"))["systems"][0]["latency_ms"]["p50"] is None


def test_a_run_file_is_an_input_of_fusion_and_reranking_beside_built_systems(tmp_path: Path) -> None:
    run = run_of(tmp_path / "prod.json", {query: {doc: 2.0, "oven": 1.0, "elsewhere": 0.5} for query, doc in RELEVANT.items()})
    results = rp.run(
        rp.Experiment(
            {"prod": run, "bm25": BM25(), "both": RRF((run, BM25())), "reranked": Rerank(run, KeywordScorer())}, small_dataset()
        ),
        NO_CACHE,
    )
    kinds = {system_run.name: (system_run.kind, bool(system_run.times)) for system_run in results.system_runs}
    assert kinds == {
        "prod": ("run", False),
        "bm25": ("retrieval", True),
        "both": ("fusion", False),
        "reranked": ("rerank", False),
    }
    assert "elsewhere" in results.system_run("prod").run.docs
    assert "elsewhere" not in results.system_run("both").run.docs
    assert "elsewhere" not in results.system_run("reranked").run.docs
    assert rp.diagnose(results).tables
    assert results.result.means["prod"]["RR@10"] == 1.0
    notes = rp.compare(results).notes
    assert any(note.startswith("the latency of prod, both, reranked is unknown") for note in notes)
    assert not any("is unknown" in note for note in rp.compare(results, costs=dict.fromkeys(kinds, 1.0)).notes)


def test_queries_that_only_one_side_has_are_noted_and_missing_ones_score_0(tmp_path: Path) -> None:
    run = run_of(tmp_path / "prod.json", {"q1": {"hob": 1.0}, "q9": {"jam": 1.0}})
    system_run, *_ = (results := results_of(run)).system_runs
    assert list(system_run.run.queries) == list(RELEVANT)
    assert results.result.per_query("s0")["RR@10"] == {"q1": 1.0, "q2": 0.0, "q3": 0.0, "q4": 0.0}
    assert system_run.notes == (
        "3 of 4 queries not in prod.json (q2, q3, q4): the rankings are empty and score 0",
        "1 query of prod.json not among the queries of the experiment (q9): left out",
    )


def test_documents_outside_the_corpus_keep_their_rank_and_are_counted(tmp_path: Path) -> None:
    rankings = {query: {"elsewhere": 3.0, doc: 2.0, "oven": 1.0} for query, doc in RELEVANT.items()}
    results = results_of(run_of(tmp_path / "prod.json", rankings))
    assert results.result.means["s0"]["RR@10"] == 0.5
    (note,) = results.system_runs[0].notes
    assert note.startswith("4 of 12 retrieved documents are not in the corpus (elsewhere); they keep their rank; ")


@pytest.mark.parametrize(
    ("rankings", "said"),
    [
        ({"x1": {"hob": 1.0}}, r"prod.json: system s0: the run has none of the queries: it has x1, the dataset has q1, q2"),
        ({"q1": {"HOB": 2.0, "JAM": 1.0}}, "system s0: 2 of 2 retrieved documents are not in the corpus: it retrieves HOB, JAM"),
        ({"q1": {"hob": 2.0, "JAM": 1.0, "RICE": 0.5}}, "system s0: 2 of 3 retrieved documents are not in the corpus"),
    ],
)
def test_a_run_with_other_ids_is_refused_before_any_system_runs(
    tmp_path: Path, rankings: Mapping[str, Mapping[str, float]], said: str
) -> None:
    with pytest.raises(RankproofError, match=said) as found:
        results_of(run_of(tmp_path / "prod.json", rankings))
    assert isinstance(found.value, UsageError | InputError)
    assert found.value.fix


def test_a_run_on_a_dataset_without_documents_needs_no_corpus(tmp_path: Path) -> None:
    dataset = small_dataset()
    without = rp.Dataset(dataset.name, rp.Corpus([]), dataset.queries, dataset.qrels)
    found = results_of(run_of(tmp_path / "a.json", {"q1": {"hob": 1.0, "elsewhere": 2.0}}), dataset=without)
    assert found.result.means["s0"]["RR@10"] == 0.125
    assert not any("corpus" in note for note in found.system_runs[0].notes)


def test_depth_order_direction_and_duplicates_are_those_of_eval(tmp_path: Path) -> None:
    path = tmp_path / "prod.run"
    path.write_text("q1 Q0 hob 1 0.1 p\nq1 Q0 jam 2 0.5 p\nq1 Q0 hob 3 0.9 p\nq1 Q0 oven 4 0.2 p\n")
    qrels = {"q1": {"hob": 1}}
    for how in (
        {"on_duplicate": "keep-best"},
        {"on_duplicate": "keep-last", "lower_is_better": True},
        {"on_duplicate": "keep-first", "order": "rank"},
        {"on_duplicate": "keep-first", "depth": 1},
    ):
        dataset = small_dataset()
        small = rp.Dataset(dataset.name, dataset.corpus, dataset.queries, rp.Qrels(qrels))
        found = results_of(RunFile(str(path), **how), dataset=small)
        assert found.result.means["s0"] == rp.evaluate(qrels, str(path), **how).means["prod"]
    with pytest.raises(InputError, match="hob appears twice"):
        results_of(RunFile(str(path)))


def test_rankings_deeper_than_depth_are_cut_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "prod.json"
    path.write_text(json.dumps({"q1": {"hob": 1.0, "jam": 2.0, "oven": 3.0}}))
    found = results_of(RunFile(str(path), depth=2)).system_runs[0]
    assert len(found.run.docs) == 2
    assert "1 ranking of prod.json cut to 2 documents (depth)" in found.notes


def test_the_content_of_the_file_is_its_identity_and_not_its_place(tmp_path: Path) -> None:
    one, other = (run_of(tmp_path / name, {"q1": {"hob": 1.0}}) for name in ("a.json", "b.json"))
    before = identity_key(one)
    assert before == identity_key(other)
    assert identity_key(run_of(tmp_path / "a.json", {"q1": {"hob": 1.0, "jam": 0.5}})) != before


def test_a_changed_file_changes_the_systems_that_use_it_although_they_are_cached(tmp_path: Path) -> None:
    def value(best: str) -> float:
        run = run_of(tmp_path / "prod.json", {"q1": {best: 2.0, "oven": 1.0}})
        experiment = rp.Experiment({"both": RRF((run, BM25(fields=("title",))))}, small_dataset())
        return float(rp.run(experiment, RunOptions(cache=tmp_path / "cache")).system_runs[0].run.scores[0])

    assert value("hob") == value("hob")
    assert value("hob") != value("jam")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('path = "nowhere.run"', "experiment.toml:4: file not found: nowhere.run; specify a path relative to this file"),
        ('path = ""', "experiment.toml:4: path is empty; specify a path relative to this file"),
        ("path = 3", "experiment.toml:4: path is a number; write text"),
        ("", "path is missing"),
        ('path = "prod.run"\norder = "best"', "experiment.toml:5: order is best; choose one of score, rank"),
        ('path = "prod.run"\ndepth = 0', "experiment.toml:5: depth"),
    ],
)
def test_a_wrong_setting_is_refused_with_its_line(
    tmp_path: Path, table: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "prod.run").write_text("q001 Q0 d1 1 1.0 p\n")
    (tmp_path / "experiment.toml").write_text(f'dataset = "sample"\n[systems.prod]\nstage = "run"\n{table}\n')
    assert main(["run", str(tmp_path / "experiment.toml")]) == 2
    assert said in capsys.readouterr().err


def test_a_file_that_is_no_run_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prod.run").write_text("q001 0 d1 1\n")
    (tmp_path / "experiment.toml").write_text('dataset = "sample"\n[systems.prod]\nstage = "run"\npath = "prod.run"\n')
    assert main(["run", str(tmp_path / "experiment.toml")]) == 2
    assert "prod.run:1: " in capsys.readouterr().err


def test_a_written_experiment_has_the_absolute_path_and_can_be_run_again(from_toml: Path, files: Mapping[str, str]) -> None:
    text = (from_toml / "experiment.toml").read_text(encoding="utf-8")
    assert f'path = "{files["bm25"]}"' in text
    again = rp.run(from_toml / "experiment.toml")
    assert again.result.means == load_results(from_toml).result.means


def test_hostile_ids_of_a_run_file_come_back_from_the_results_folder(tmp_path: Path) -> None:
    queries = rp.Queries([rp.types.Query(name, "text") for name in STRINGS])
    qrels = rp.Qrels({name: {f"d {name}": 1} for name in STRINGS})
    dataset = rp.Dataset("hostile", rp.Corpus([]), queries, qrels)
    run = run_of(tmp_path / "prod.json", {name: {f"d {name}": 1.0} for name in STRINGS})
    results = results_of(run, dataset=dataset)
    rp.save_results(results, tmp_path / "out")
    loaded = load_results(tmp_path / "out")
    assert loaded.result.means["s0"]["RR@10"] == 1.0
    assert list(loaded.system_runs[0].run.docs) == [f"d {name}" for name in STRINGS]


def test_a_run_of_a_path_object_is_that_of_its_text(tmp_path: Path) -> None:
    stage = run_of(tmp_path / "a.json", {"q1": {"hob": 1.0}})
    assert RunFile(tmp_path / "a.json") == stage  # type: ignore[arg-type]
    assert np.array_equal(stage.rankings()["q1"][1], [1.0])


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("query,doc,rank\nq1,hob,1\n", 'or order by rank (order="rank")'),
        ("q1 Q0 hob 1 3 t\nq1 Q0 hob 2 2 t\n", 'or pass on_duplicate="keep-best"'),
        ("q1 Q0 hob\n", "or convert the file first: rankproof convert IN OUT --from FORMAT"),
    ],
)
def test_the_fix_of_a_run_file_names_settings_of_the_stage(tmp_path: Path, text: str, fix: str) -> None:
    (tmp_path / "a.run").write_text(text)
    with pytest.raises(InputError) as caught:
        RunFile(str(tmp_path / "a.run")).rankings()
    assert caught.value.command_line_text.endswith(fix)
