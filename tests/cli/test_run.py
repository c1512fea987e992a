"""`run`, `init` and `cache`, in process, on five documents and real stages."""

import csv
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.small_experiment import EXPERIMENT, write_experiment

from rankproof._cli.commands.run import create_results_folder, select_systems
from rankproof._cli.main import main
from rankproof._cli.progress import RunProgress
from rankproof._cli.terminal import Terminal
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.experiment import Experiment, default_systems
from rankproof._io.cache_items import CacheUse
from rankproof._results.folder import load_results, save_results
from rankproof.errors import UsageError
from rankproof.stages import BM25, RRF, KeywordScorer, Rerank
from rankproof.stages._base import BuildContext, Stage
from support.paths import SOURCE
from support.small_results import small_results


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory with a dataset, an experiment, and a cache of its own."""
    write_experiment(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def ran(capsys: pytest.CaptureFixture[str], *argv: str, code: int = 0) -> tuple[str, str]:
    assert main(["run", *argv]) == code
    shown = capsys.readouterr()
    return shown.out, shown.err


def test_run_shows_and_saves_the_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, said = ran(capsys, "experiment.toml", "-o", "out")
    assert out.startswith("experiment (dataset data), 5 documents, 3 queries, 4 systems\n")
    assert out.splitlines()[2] == "Not decided: a decision needs at least 30 queries (n = 3)."
    table = out.partition("──\n")[2].splitlines()[:4]
    assert [line.removeprefix("> ").split()[0] for line in table] == ["bm25", "reranked", "fused", "title"]
    assert "title: building\n" in said
    last = "results saved in out; open out/report.html in a browser\nnext: rankproof serve out --judge --edit\n"
    assert last in said.replace("\\", "/")
    results = load_results("out")
    assert [system_run.kind for system_run in results.system_runs] == ["retrieval", "retrieval", "fusion", "rerank"]
    assert results.result.value("R@100", "reranked") == results.result.value("R@100", "fused")
    assert read_experiment(folder / "out" / "experiment.toml") == read_experiment(folder / "experiment.toml")


@pytest.mark.slow
def test_the_size_of_partitions_changes_no_result(capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "-o", "whole", "--no-cache")
    ran(capsys, "experiment.toml", "-o", "parts", "--no-cache", "--partition-size", "2")
    whole, parts = load_results("whole"), load_results("parts")
    assert whole.fingerprint == parts.fingerprint
    for one, other in zip(whole.system_runs, parts.system_runs, strict=True):
        assert (list(one.run.docs), list(one.run.scores)) == (list(other.run.docs), list(other.run.scores))
    assert "--partition-size is 0; choose a whole number of at least 1" in ran(capsys, "--partition-size", "0", code=2)[1]


def test_a_broken_document_is_told_before_anything_is_computed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with open(folder / "data" / "corpus.jsonl", "a") as file:
        file.write('{"_id": "d6", "text": 7}\n{"_id": "d1", "text": ""}\n')
    out, said = ran(capsys, "experiment.toml", "-o", "out", code=2)
    assert out == ""
    assert said.endswith("corpus.jsonl:6: the text of d6 is a number, not text; write it as text\n")
    assert "building" not in said
    assert not (folder / "out").exists()


def test_the_results_folder_is_named_by_experiment_and_time(capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--quiet")
    (made,) = Path("rankproof-results").iterdir()
    assert made.name.startswith("experiment-20")
    assert len(made.name) == len("experiment-20260102-030405")


def test_runs_of_one_second_have_folders_of_their_own_before_anything_is_written() -> None:
    made = [create_results_folder("x") for _ in range(30)]
    assert len(set(made)) == 30
    assert all(Path(folder).is_dir() for folder in made)


def test_an_unused_results_folder_is_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--split", "dev", code=2)
    assert not (folder / "rankproof-results").exists()
    (folder / "rankproof-results").write_text("mine")
    _, said = ran(capsys, "experiment.toml", code=2)
    assert "cannot be created (" in said
    assert "with -o" in said


def test_a_run_never_replaces_the_folder_it_runs_in(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran(capsys, "experiment.toml", "-o", "out")
    before = load_results("out").provenance["created"], (folder / "out").stat().st_ino
    monkeypatch.chdir(folder / "out" / "runs")
    for place in ("..", str(folder / "out")):
        _, said = ran(capsys, "../../experiment.toml", "-o", place, code=2)
        assert "contains the working directory; specify a folder inside it" in said
    assert (load_results(folder / "out").provenance["created"], (folder / "out").stat().st_ino) == before


def test_results_of_another_dataset_are_replaced_only_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "-o", "out")
    shutil.copytree(folder / "data", folder / "other")
    (folder / "other" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    before = (folder / "out" / "result.json").read_bytes()
    _, said = ran(capsys, "experiment.toml", "--dataset", "other", "-o", "out", code=2)
    assert "out has results of the dataset data, not of this dataset (other); specify another folder, or replace it with" in said
    assert (folder / "out" / "result.json").read_bytes() == before
    ran(capsys, "experiment.toml", "--dataset", "other", "-o", "out", "--overwrite")
    assert load_results("out").provenance["dataset"] == "other"
    with pytest.raises(UsageError, match=r"has results of the dataset other, not of this dataset \(tiny\)"):
        save_results(small_results(), "out")
    save_results(small_results(), "out", overwrite=True)


def test_the_same_dataset_with_more_judgements_replaces_its_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "-o", "out")
    with open(folder / "data" / "qrels.tsv", "a") as file:
        file.write("q1\td9\t1\n")
    ran(capsys, "experiment.toml", "-o", "out")
    assert load_results("out").qrels["q1"]["d9"] == 1


def test_a_copy_of_the_dataset_replaces_its_results(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "-o", "out")
    shutil.copytree(folder / "data", folder / "copy")
    ran(capsys, "experiment.toml", "--dataset", "copy", "-o", "out")
    assert load_results("out").provenance["dataset"] == "copy"


def test_labels_and_conflicts_of_a_dataset_are_resolved_by_options_and_by_the_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "data" / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\tE\nq1\td1\tS\nq1\td2\tS\n")
    _, said = ran(capsys, "experiment.toml", "-o", "out", code=2)
    assert "grades found: E (1), S (2); map them, as in --grade-map E=3,S=2" in said
    _, said = ran(capsys, "experiment.toml", "-o", "out", "--grade-map", "E=3,S=2", code=2)
    assert "or pass --on-conflict max, min, first or last" in said
    _, said = ran(capsys, "experiment.toml", "-o", "out", "--grade-map", "E=3,S=2", "--on-conflict", "min")
    assert "1 pair has two grades; the lowest is kept (--on-conflict)" in said
    assert {**load_results("out").qrels["q1"]} == {"d1": 2, "d2": 2}
    (folder / "mapped.toml").write_text('grade_map = {E = 3, S = 2}\non_conflict = "max"\n' + EXPERIMENT)
    ran(capsys, "mapped.toml", "-o", "out")
    assert {**load_results("out").qrels["q1"]} == {"d1": 3, "d2": 2}
    assert read_experiment(folder / "out" / "experiment.toml") == read_experiment(folder / "mapped.toml")


def test_an_unknown_system_is_refused_with_the_names(capsys: pytest.CaptureFixture[str]) -> None:
    _, said = ran(capsys, "experiment.toml", "--systems", "nothing-like-it", code=2)
    assert "unknown system nothing-like-it; see the experiment's systems: title, bm25, fused, reranked" in said


def test_a_quiet_run_shows_only_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    out, said = ran(capsys, "experiment.toml", "--quiet", "-o", "out")
    assert out
    assert said == ""


def test_the_second_run_computes_nothing_and_gives_the_same_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # One line a note: at most ten lines are shown.
    first, _ = ran(capsys, "experiment.toml", "--quiet", "-o", "one")
    second, said = ran(capsys, "experiment.toml", "-o", "two")
    assert "building" not in said
    assert "times of all systems were measured by an earlier run (20" in " ".join(said.split())
    assert "and cached; --no-cache measures them again" in " ".join(said.split())
    assert first == second
    assert all(system_run.from_cache for system_run in load_results("two").system_runs)
    assert load_results("one").result.means == load_results("two").result.means


def test_times_of_an_earlier_run_are_noted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")  # One line a note: at most ten lines are shown.
    _, said = ran(capsys, "experiment.toml", "--systems", "title", "-o", "out")
    assert "earlier run" not in said
    _, said = ran(capsys, "experiment.toml", "-o", "out")
    (when,) = {system_run.computed for system_run in load_results("out").system_runs if system_run.from_cache}
    assert f"times of title were measured by an earlier run ({when}) and cached" in " ".join(said.split())


@pytest.mark.slow
def test_without_a_cache_nothing_is_saved_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--no-cache", "-o", "out")
    assert not (folder / "cache").exists()
    ran(capsys, "experiment.toml", "--cache", "here", "-o", "out")
    assert (folder / "here").is_dir()
    assert not (folder / "cache").exists()


@pytest.mark.parametrize(
    ("form", "read"),
    [
        ("json", lambda text: [system["name"] for system in json.loads(text)["systems"]]),
        ("csv", lambda text: [row["system"] for row in csv.DictReader(io.StringIO(text))]),
        ("markdown", lambda text: [line.split()[2] for line in text.splitlines() if re.match(r"\| [1-4] ", line)]),
    ],
)
def test_the_systems_in_other_formats(capsys: pytest.CaptureFixture[str], form: str, read: Callable[[str], list[str]]) -> None:
    out, _ = ran(capsys, "experiment.toml", "--format", form, "-o", "out")
    assert read(out) == ["title", "bm25", "fused", "reranked"]


def test_options_override_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--systems", "fused", "-m", "RR,P@1", "--limit", "2", "--seed", "1", "-o", "out", "-j", "2")
    results = load_results("out")
    assert [system_run.name for system_run in results.system_runs] == ["title", "bm25", "fused"]
    assert list(results.result.systems[0].measures) == ["RR", "P@1"]
    assert len(results.queries) == 2
    assert 'measures = ["RR", "P@1"]' in results.experiment


def test_run_and_compare_show_the_measures_that_the_experiment_names(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = ran(capsys, "experiment.toml", "-m", "nDCG@10,P@1,AP,Success@3", "-o", "out")
    assert main(["compare", "out"]) == 0
    for shown in (out, capsys.readouterr().out):
        titles = [word for line in shown.splitlines() if line.startswith("system ") for word in line.split()]
        assert [titles.count(name) for name in ("nDCG@10", "P@1", "AP", "Success@3", "RR@10", "R@100")] == [1, 1, 1, 1, 0, 0]


def test_an_experiment_that_names_no_measures_is_compared_by_the_main_ones(capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--primary", "AP", "-o", "out")
    assert main(["compare", "out", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["measures"] == ["AP", "nDCG@10", "RR@10", "R@100"]


def test_the_default_systems_run_on_a_dataset(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = ran(capsys, "--dataset", "data", "--systems", "bm25", "-o", "out")
    assert out.startswith("data (dataset data), 5 documents")
    assert load_results("out").result.value("R@100", "bm25") == 1.0


def test_chosen_systems_include_their_inputs() -> None:
    title, bm25 = BM25(fields=("title",)), BM25()
    both = RRF((title, bm25))
    systems: dict[str, Stage] = {
        "title": title,
        "other": BM25(k1=2),
        "bm25": bm25,
        "fused": both,
        "reranked": Rerank(both, KeywordScorer()),
    }
    assert list(select_systems(systems, ["reranked"])) == ["title", "bm25", "fused", "reranked"]
    assert list(select_systems(systems, ["other"])) == ["other"]
    with pytest.raises(UsageError, match="did you mean title"):
        select_systems(systems, ["titel"])


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["missing.toml"], "missing.toml: file not found"),
        ([""], "the path of the experiment file is empty"),
        (["experiment.toml", "--dataset", "nowhere"], "nowhere does not exist"),
        (["experiment.toml", "--systems", "fuesd"], "unknown system fuesd; did you mean fused"),
        (["experiment.toml", "--systems", ","], "names nothing"),
        (["experiment.toml", "-m", "nDGC@10"], "unknown measure nDGC"),
        (["experiment.toml", "--limit", "0"], "whole number"),
        (["experiment.toml", "--seed", "-1"], ""),
        (["experiment.toml", "--cache", "x", "--no-cache"], "contradict"),
        (["experiment.toml", "--cache", ""], "--cache has no folder"),
        (["experiment.toml", "-o", ""], "the results folder has no name"),
        (["experiment.toml", "-o", "."], "contains the working directory"),
        (["experiment.toml", "-o", "data"], "data exists and is not a results folder"),
        (["experiment.toml", "-o", "experiment.toml"], "is not a results folder"),
        (["experiment.toml", "--split", "dev"], "data"),
        (["data"], "data is a folder, not an experiment file; for a dataset, use --dataset data"),
        (["data/qrels.tsv"], "data/qrels.tsv is data, not an experiment file; for a dataset, use --dataset data/qrels.tsv"),
    ],
)
def test_what_cannot_be_run_is_refused_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str], argv: list[str], what: str
) -> None:
    (folder / "data" / "qrels").mkdir()
    (folder / "data" / "qrels.tsv").rename(folder / "data" / "qrels" / "test.tsv")
    out, said = ran(capsys, *argv, code=2)
    assert out == ""
    assert what in said
    assert "Traceback" not in said
    assert not (folder / "rankproof-results").exists()


def test_an_error_in_the_file_names_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "experiment.toml").write_text(EXPERIMENT + "k1 = 2\n")
    _, said = ran(capsys, "experiment.toml", code=2)
    assert said.startswith("experiment.toml:19: unknown key k1; ")


@pytest.mark.parametrize(
    ("more", "kept"), [([], "run the same command again to continue"), (["--no-cache"], "nothing is cached (--no-cache)")]
)
def test_an_interrupt_ends_with_130_and_says_how_to_continue(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, more: list[str], kept: str
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("rankproof._experiment.run.run_experiment", interrupted)
    out, said = ran(capsys, "experiment.toml", "-o", "out", *more, code=130)
    assert (out, said) == ("", f"stopped; {kept}\n")
    assert not (folder / "out").exists()


def test_init_writes_the_default_systems_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", "new.toml"]) == 0
    assert read_experiment(folder / "new.toml").systems == default_systems(wordllama=True, minilm=True)
    assert "rankproof run new.toml" in capsys.readouterr().err
    (folder / "new.toml").write_text("mine")
    assert main(["init", "new.toml"]) == 2
    assert (folder / "new.toml").read_text() == "mine"
    assert "new.toml exists; specify another file, or overwrite it with --force" in capsys.readouterr().err
    assert main(["init", "new.toml", "--force"]) == 0
    assert (folder / "new.toml").read_text() != "mine"


def test_init_without_a_file_writes_experiment_toml_and_a_dash_shows_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 2
    (folder / "experiment.toml").unlink()
    assert main(["init"]) == 0
    capsys.readouterr()
    assert main(["init", "-"]) == 0
    assert capsys.readouterr().out == (folder / "experiment.toml").read_text(encoding="utf-8")


def entry(folder: Path, name: str, *, size: int, days: float = 0) -> Path:
    path = folder / "cache" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x" * size)
    when = path.stat().st_mtime - days * 86400
    os.utime(path, (when, when))
    return path


def test_the_cache_is_listed_by_kind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    assert capsys.readouterr().out.count("0 B") == 11
    entry(folder, "models/minilm/weights", size=2_500_000)
    entry(folder, "stages/one.stage", size=10, days=3)
    used = entry(folder, "stages/two.stage", size=20, days=2).stat().st_mtime
    assert main(["cache", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(folder / "cache")
    assert lines[2].split()[:4] == ["models", "1", "2.5", "MB"]
    day = time.strftime("%Y-%m-%d", time.localtime(used))
    assert lines[7].split() == ["stages", "2", "30", "B", day, "results", "of", "stages"]
    assert lines[-1].split()[:4] == ["total", "3", "2.5", "MB"]


def test_the_cache_is_cleared_by_kind_and_age(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = entry(folder, "models/minilm/weights", size=5)
    old, new = entry(folder, "stages/old.stage", size=10, days=9), entry(folder, "stages/new.stage", size=20)
    assert main(["cache", "clear", "--kind", "stages", "--older-than", "7"]) == 0
    assert "1 entries removed" in capsys.readouterr().err
    assert [path.exists() for path in (model, old, new)] == [True, False, True]
    assert main(["cache", "clear"]) == 0
    assert [path.exists() for path in (model, old, new)] == [False, False, False]


def test_clearing_the_cache_follows_no_link_and_leaves_what_is_not_its_own(folder: Path) -> None:
    precious = folder / "precious"
    precious.mkdir()
    (precious / "thesis").write_text("x")
    other = entry(folder, "other/file", size=1)
    entry(folder, "stages/dir/file", size=1)
    (folder / "cache" / "stages" / "link").symlink_to(precious)
    (folder / "cache" / "stages" / "dir" / "inner").symlink_to(precious)
    (folder / "cache" / "models").symlink_to(precious)
    assert main(["cache", "clear"]) == 0
    assert (precious / "thesis").read_text() == "x"
    assert other.exists()
    assert list((folder / "cache" / "stages").iterdir()) == []
    assert (folder / "cache" / "models").is_symlink()


def test_the_cache_is_not_cleared_while_a_run_uses_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = entry(folder, "stages/one.stage", size=10)
    with CacheUse(folder / "cache", None):
        assert main(["cache", "clear"]) == 1
    assert "another rankproof uses the cache; wait until it ends" in capsys.readouterr().err
    assert path.exists()


def test_a_run_keeps_the_cache_within_its_limit(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, paid = entry(folder, "stages/old.stage", size=10, days=9), entry(folder, "responses/one", size=10, days=9)
    command = ["run", "--systems", "bm25", "-o", "out", "--no-report"]
    assert main([*command, "--cache-limit", "1TB"]) == 0
    assert old.exists()
    assert main([*command, "--cache-limit", "1kB"]) == 0
    assert "above its limit of 1.0 kB" in " ".join(capsys.readouterr().err.split())
    assert (old.exists(), paid.exists()) == (False, True)
    assert main(command) == 0
    assert "bm25" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--cache-limit", "much"], "'much' is not a size such as 20GB"),
        (["--cache-limit", "1GB", "--no-cache"], "--cache-limit and --no-cache contradict each other"),
    ],
)
def test_a_wrong_cache_limit_is_refused(capsys: pytest.CaptureFixture[str], options: list[str], words: str) -> None:
    assert main(["run", "--systems", "bm25", *options]) == 2
    assert words in capsys.readouterr().err


def test_an_unknown_cache_action_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "burn"]) == 2
    assert "burn" in capsys.readouterr().err


class Screen(io.StringIO):
    """Standard error as a terminal would be."""

    def isatty(self) -> bool:
        return True


def progress_shown(monkeypatch: pytest.MonkeyPatch, screen: io.StringIO, *, quiet: bool = False) -> str:
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with RunProgress(Terminal(quiet=quiet)) as progress:
        for label in ("bm25: building", "dense\x1b[31m: searching"):
            for done in range(3):
                progress(label, done, 2)
    return screen.getvalue()


def test_progress_is_a_line_per_task_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress_shown(monkeypatch, io.StringIO()) == "bm25: building\ndense\\x1b[31m: searching\n"
    assert progress_shown(monkeypatch, io.StringIO(), quiet=True) == ""


def test_progress_is_a_bar_with_label_and_count_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = progress_shown(monkeypatch, Screen())
    assert "dense\\x1b[31m: searching" in shown
    assert "2/2" in shown
    assert progress_shown(monkeypatch, Screen(), quiet=True) == ""


def test_the_first_help_page_points_to_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    page = capsys.readouterr().out
    assert page.index(" run ") < page.index(" eval ")
    assert "rankproof run  " in page


def test_the_default_systems_have_the_names_of_the_demo() -> None:
    assert list(Experiment(default_systems(wordllama=True, minilm=True)).systems) == [
        "bm25-title", "bm25", "static", "minilm", "hybrid-rrf", "hybrid-z", "late-interaction",
    ]  # fmt: skip


@pytest.mark.usefixtures("default_sigterm")
def test_a_terminated_run_leaves_no_temporary_folder(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminated(self: BM25, context: BuildContext) -> None:
        assert list((folder / "temporary").iterdir())
        signal.raise_signal(signal.SIGTERM)

    (folder / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder / "temporary"))
    monkeypatch.setattr(BM25, "build", terminated)
    _, said = ran(capsys, "experiment.toml", "--no-cache", code=143)
    assert said.endswith("stopped; nothing is cached (--no-cache)\n")
    assert list((folder / "temporary").iterdir()) == []
    assert not (folder / "rankproof-results").exists()
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


@pytest.mark.skipif(sys.platform != "linux", reason="needs a named pipe and POSIX signals")
@pytest.mark.parametrize(("sent", "code"), [pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow), (signal.SIGTERM, 143)])
def test_a_stopped_process_says_how_to_continue(folder: Path, sent: signal.Signals, code: int) -> None:
    pipe = folder / "more.qrels"
    os.mkfifo(pipe)
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    command = [sys.executable, "-m", "rankproof", "run", "experiment.toml", "--qrels", str(pipe), "-o", "out"]
    # Opening the pipe waits until the run reads the judgements; should it never do so, the guard lets the test go on and fail.
    guard = threading.Timer(60, lambda: os.open(pipe, os.O_RDONLY | os.O_NONBLOCK))
    guard.start()
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child, pipe.open("wb"):
        guard.cancel()
        child.send_signal(sent)
        out, said = child.communicate(timeout=60)
    assert (child.returncode, out, said) == (code, b"", b"stopped; run the same command again to continue\n")
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("systems", "here", "named"),
    [
        ("bm25-title,static", ["wordllama"], ""),
        ("bm25,hybrid-rrf", ["wordllama"], "minilm"),
        ("bm25", [], ""),
    ],
)
def test_missing_weights_are_noted_if_a_chosen_system_needs_them(
    systems: str, here: list[str], named: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for model in here:
        (folder / "cache" / "models" / model).mkdir(parents=True)
    main(["run", "--systems", systems, "--limit", "1", "--no-report", "-o", "results"])
    noted = f"so the systems that need them are left out; run: rankproof models get {named}"
    assert (noted in " ".join(capsys.readouterr().err.split())) == bool(named)


def test_without_weights_the_default_systems_are_bm25(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, said = ran(capsys, "--dataset", "data", "-o", "out")
    assert list(load_results("out").result.means) == ["bm25-title", "bm25"]
    assert "the weights of wordllama and minilm are not downloaded, so the systems that need them are left out" in " ".join(
        said.split()
    )


@pytest.mark.parametrize(
    ("system", "model"),
    [("static", "wordllama"), ("minilm", "minilm"), ("hybrid-z", "wordllama"), ("late-interaction", "minilm")],
)
def test_a_chosen_system_without_its_weights_is_refused_with_the_command_that_downloads_them(
    system: str, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rankproof._experiment.experiment._is_there", lambda name: False)
    assert main(["run", "--systems", f"bm25,{system}", "-o", str(tmp_path / "results")]) == 2
    expected = f"system {system} needs the weights of {model}; run: rankproof models get {model}\n"
    assert capsys.readouterr().err == expected


def test_summary_json_has_the_decision_and_a_record_for_each_system(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ("--primary", "RR@10", "--margin", "0.05", "--baseline", "title", "--cost", "title=1", "--cost", "bm25=2.5")
    out, _ = ran(capsys, "experiment.toml", *asked, "--format", "json", "-o", "out")
    found = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert json.loads(out)["summary"] == {key: value for key, value in found.items() if key not in ("files", "digest")}
    assert (found["format"], found["schema"], found["n"]) == ("rankproof-summary", 4, 3)
    assert (found["primary"], found["baseline"], found["decision"]["margin"]) == ("RR@10", "title", 0.05)
    assert [system["name"] for system in found["systems"]] == ["title", "bm25", "fused", "reranked"]
    results = load_results("out")
    assert [system["values"] for system in found["systems"]] == list(results.result.means.values())
    assert found["systems"][1]["difference"] == pytest.approx(
        results.result.value("RR@10", "bm25") - results.result.value("RR@10", "title")
    )
    assert {one["name"]: one["cost"] for one in found["decision"]["by_system"]}["bm25"] == 2.5
    again = read_experiment(folder / "out" / "experiment.toml")
    assert (str(again.primary), again.margin, again.baseline, again.costs) == (
        "RR@10",
        0.05,
        "title",
        {"title": 1.0, "bm25": 2.5},
    )


def test_compare_uses_the_settings_of_the_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    ran(capsys, "experiment.toml", "--primary", "P@1", "--margin", "0.1", "--baseline", "title", "-o", "out")
    assert main(["compare", "out", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["primary"], found["decision"]["margin"], found["baseline"]) == ("P@1", 0.1, "title")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('primary = "NumRet"', "primary is NumRet, which cannot decide; choose a mean of rankings, such as nDCG@10"),
        ("margin = 0", 'margin is 0; pass a difference above 0, such as 0.01 for one percentage point, or "5%" of the best mean'),
        ("margin = 2", "margin is 2; pass a difference below 1, such as 0.02 for two percentage points"),
        ('baseline = "other"', "baseline is other, which is not a system; choose from: title, bm25, fused, reranked"),
        (
            "margin = true",
            'margin is True; pass a difference above 0, such as 0.01 for one percentage point, or "5%" of the best mean',
        ),
    ],
)
def test_wrong_settings_of_the_decision_name_their_line(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, words: str
) -> None:
    (folder / "experiment.toml").write_text(f"{line}\n{EXPERIMENT}")
    _, said = ran(capsys, "experiment.toml", code=2)
    assert said.strip().endswith(f"experiment.toml:1: {words}")


def test_a_wrong_cost_of_a_system_names_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "experiment.toml").write_text(EXPERIMENT.replace("[systems.bm25]", "[systems.bm25]\ncost = -1"))
    _, said = ran(capsys, "experiment.toml", code=2)
    assert said.strip().endswith("cost is not a number of at least 0; write a number, such as 1.4")
