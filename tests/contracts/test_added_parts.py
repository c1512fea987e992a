"""The parts of another package are seen wherever those of this one are."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tools.docs import part_tables

import rankproof
from rankproof import Run, fuse, import_dataset, read_dataset, read_experiment
from rankproof._analysis.doctor.check import _TABLE as CHECKS
from rankproof._analysis.doctor.check import all_checks, clean_example, doctor_check, example_input
from rankproof._analysis.doctor.doctor import run_checks
from rankproof._analysis.explain.score import explain_score
from rankproof._analysis.inputs import input_from_results
from rankproof._cli.commands.completion import all_commands
from rankproof._cli.main import main
from rankproof._data.arrays import FloatArray
from rankproof._data.identity import identity
from rankproof._data.run import RunRow
from rankproof._data.table import Table
from rankproof._experiment.config_write import experiment_toml
from rankproof._fusion.candidates import CandidateTable
from rankproof._fusion.method import METHODS, FusionSettings, fusion_method, methods_with
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._io.option_schema import json_schema
from rankproof._registry import RecordTable, _settings, summaries
from rankproof._results.folder import save_results
from rankproof._tune.parameters import tuned_system
from rankproof._tune.trials import fusion_space
from rankproof.errors import ExternalError, InputError, UsageError
from rankproof.models._registry import chat_model_by_name, cross_encoder_by_name
from rankproof.stages import BM25, Fuse, KeywordScorer, Rerank
from support.paths import ROOT, TESTS
from support.registries import all_registries
from support.small_results import small_results

MODULE = """
from typing import Annotated
import numpy as np
from rankproof.plugins import Option
from rankproof.stages import fusion_method, normalisation
from rankproof.plugins import check_result, doctor_check

def times_found(contributions):
    return contributions.total() * contributions.table.run_counts

@fusion_method(
    "zz-test", "adds 1 / rank²", by_rank=True, combine=times_found, combined="multiplied by the number of runs with the document"
)
def inverse_square_rank(table, settings):
    return table.by_rank(1.0 / np.arange(1, table.depth + 1) ** 2)

def median_points(given):
    return np.nanmedian(np.where(given.table.present, given.points, np.nan), axis=0)

@fusion_method("zz-median", "takes the median rank", by_rank=True, combine=median_points)
def negative_ranks(table, settings):
    return -table.ranks.astype(float)

@fusion_method("zz-power", "adds 1 / rank^power", uses=("weights",), by_rank=True)
def power_of_rank(
    table, settings, *, power: Annotated[float, Option("exponent of the rank", least=0, most=4, values=(0.5, 1, 2))] = 1.0
):
    return table.by_rank(np.arange(1, table.depth + 1) ** -power)

@normalisation("zz-shift", "each score plus a constant")
def shifted(scores, *, plus: Annotated[float, Option("what is added to each score", least=0)] = 1.0):
    return scores.values + plus

@normalisation("zz-half", "half of each score")
def halved(scores):
    return scores.values / 2

@doctor_check(
    "zz-shouting",
    "hint",
    "queries in capital letters",
    advice="write them as users do",
    needs=("queries",),
    broken=lambda example: example.with_queries(q03="WHAT IS THIS"),
)
def shouting(subject):
    loud = [query.id for query in subject.queries.values() if query.text.isupper()]
    return check_result(loud, len(subject.queries), f"{len(loud)} queries are in capital letters")
"""
ENTRIES = """
[rankproof.fusion_methods]
zz-test = added_parts
zz-median = added_parts
zz-power = added_parts
[rankproof.normalisations]
zz-half = added_parts
zz-shift = added_parts
[rankproof.doctor_checks]
zz-shouting = added_parts
"""
TABLES = (METHODS, NORMALISATIONS, CHECKS)


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, module: str, entries: str) -> None:
    """Puts a package on the path; what it registers is forgotten after the test."""
    (folder / "added_parts-1.0.dist-info").mkdir()
    (folder / "added_parts-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: added-parts\nVersion: 1.0\n")
    (folder / "added_parts-1.0.dist-info" / "entry_points.txt").write_text(entries)
    (folder / "added_parts.py").write_text(module, encoding="utf-8")
    for table in TABLES:
        monkeypatch.setattr(table, "_records", dict(table.registered()))
        monkeypatch.setattr(table, "_modules", dict(table._modules))
    monkeypatch.syspath_prepend(str(folder))
    sys.modules.pop("added_parts", None)


@pytest.fixture(autouse=True)
def fresh_settings() -> Iterator[None]:
    """The descriptions of settings name the parts that are registered when they are first read."""
    _settings.cache_clear()
    yield
    _settings.cache_clear()


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    install(tmp_path, monkeypatch, MODULE, ENTRIES)
    yield
    sys.modules.pop("added_parts", None)


@pytest.fixture
def runs(tmp_path: Path) -> list[str]:
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 9.0 a\nq1 Q0 d2 2 8.0 a\n")
    (tmp_path / "b.run").write_text("q1 Q0 d2 1 0.7 b\nq1 Q0 d3 2 0.5 b\n")
    return [str(tmp_path / "a.run"), str(tmp_path / "b.run")]


def fused_scores(capsysbinary: pytest.CaptureFixture[bytes], *argv: str) -> dict[bytes, float]:
    assert main(["fuse", *argv]) == 0
    rows = [line.split() for line in capsysbinary.readouterr().out.splitlines()]
    return {row[2]: float(row[4]) for row in rows}


@pytest.mark.usefixtures("added")
def test_the_command_fuses_by_the_added_method(runs: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    # d2 is second in a and first in b: (1/4 + 1) x 2 rankings.
    assert fused_scores(capsysbinary, *runs, "--method", "zz-test") == {b"d2": 2.5, b"d1": 1.0, b"d3": 0.25}
    by_rank = fused_scores(capsysbinary, *runs, "--method", "zz-test", "--order", "rank")
    assert by_rank == {b"d2": 2.5, b"d1": 1.0, b"d3": 0.25}
    halved = fused_scores(capsysbinary, *runs, "--method", "combsum", "--norm", "zz-half")
    assert halved == {b"d1": 4.5, b"d2": 4.35, b"d3": 0.25}


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("idle", [["--k", "60"], ["--norm", "zz-half"], ["--weights", "1,2"]])
def test_the_command_refuses_what_the_added_method_does_not_use(
    idle: list[str], runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["fuse", *runs, "--method", "zz-test", *idle]) == 2
    assert f"zz-test does not use {idle[0]}; leave out {idle[0]}, or use --method " in capsys.readouterr().err
    with pytest.raises(UsageError, match=f"zz-test has no weights; leave them out, or use {methods_with('weights')}"):
        fuse([Run.from_dict({"q": {"d": 1.0}})], "zz-test", weights=[2.0])


@pytest.mark.usefixtures("added")
def test_help_and_completion_list_the_added_parts(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "--help-all"]) == 0
    page = capsys.readouterr().out
    assert re.search(r"^  zz-test +adds 1 / rank²$", page, re.MULTILINE)
    assert re.search(r"^  zz-half +half of each score$", page, re.MULTILINE)
    options = {option.spellings[-1]: option.words for verb in all_commands() if verb.name == "fuse" for option in verb.options}
    assert "zz-test" in options["--method"]
    assert "zz-half" in options["--norm"]


@pytest.mark.usefixtures("added")
def test_experiment_files_take_the_added_parts(tmp_path: Path) -> None:
    text = (
        '[systems.bm25]\nstage = "bm25"\n[systems.title]\nstage = "bm25"\nfields = ["title"]\n'
        '[systems.both]\nstage = "fuse"\nof = ["bm25", "title"]\nmethod = "zz-test"\n'
        '[systems.again]\nstage = "rerank"\nof = "bm25"\nby = "keywords"\nweight = 0.5\nnorm = "zz-half"\n'
    )
    (tmp_path / "experiment.toml").write_text(text)
    experiment = read_experiment(tmp_path / "experiment.toml")
    stages = (BM25(), BM25(fields=("title",)))
    assert experiment.systems["both"] == Fuse(stages, "zz-test")
    assert experiment.systems["again"] == Rerank(BM25(), KeywordScorer(), weight=0.5, norm="zz-half")
    (tmp_path / "again.toml").write_text(experiment_toml(experiment))
    assert read_experiment(tmp_path / "again.toml").systems == experiment.systems
    (tmp_path / "idle.toml").write_text(text.replace('method = "zz-test"\n', 'method = "zz-test"\nk = 3\n'))
    with pytest.raises(InputError, match=r"idle\.toml:10: k = 3 has no effect with the other settings of this table"):
        read_experiment(tmp_path / "idle.toml")
    with pytest.raises(UsageError, match=f"choose one of {', '.join(METHODS)}$"):
        Fuse(stages, "magic")
    with pytest.raises(UsageError, match=f"choose one of {', '.join(NORMALISATIONS)}$"):
        Rerank(BM25(), KeywordScorer(), norm="magic")


def explained_fusion(method: str, fused: dict[str, float]) -> Table:
    """The score of d2 in a fusion of two systems: it has rank 2 in the first and rank 1 in the second."""
    parts = {"a": {"q1": {"d1": 3.0, "d2": 1.0}}, "b": {"q1": {"d2": 0.5}}}
    stages: list[dict[str, object]] = [{"kind": "A"}, {"kind": "B"}]
    whole = {"kind": "Fuse", "stages": stages, "method": method, "k": 60.0, "weights": None, "norm": "min-max"}
    results = small_results(("a", "b", "both"), ("q1",), ("d1", "d2"), scores={**parts, "both": {"q1": fused}})
    system_runs = tuple(replace(one, stage=stage) for one, stage in zip(results.system_runs, [*stages, whole], strict=True))
    return explain_score(input_from_results(replace(results, system_runs=system_runs)), "both", "q1", "d2")


@pytest.mark.usefixtures("added")
def test_explain_takes_a_score_of_the_added_method_apart() -> None:
    table = explained_fusion("zz-test", {"d2": 2.5, "d1": 1.0})
    assert [row["points"] for row in table.records()] == [0.25, 1.0]
    assert table.sentences[0].startswith("zz-test: the points, multiplied by the number of runs with the document, give 2.5")
    assert next(column for column in table.columns if column.name == "points").about == "zz-test adds 1 / rank²"


@pytest.mark.usefixtures("added")
def test_a_method_that_does_not_add_combines_the_points_of_all_rankings() -> None:
    a, b, c = (Run.from_dict({"q1": dict(zip(docs, (3.0, 2.0, 1.0), strict=True))}) for docs in ("xyz", "yxz", "zyw"))
    fused = fuse([a, b, c, Run.from_dict({"q2": {"x": 1.0}})], "zz-median")
    expected = [("q1", "x", -1.5), ("q1", "y", -2.0), ("q1", "z", -3.0), ("q1", "w", -3.0), ("q2", "x", -1.0)]
    assert [(row.query, row.doc, row.score) for row in fused.rows()] == expected
    twice = Run.from_rows([RunRow("q1", "d1", 1.0, line=1), RunRow("q1", "d1", 2.0, line=2)], source="r.run")
    with pytest.raises(InputError, match=r"r\.run:2: document d1 appears twice"):
        fuse([a, twice], "zz-median")
    with pytest.raises(UsageError, match="zz-median has no weights"):
        fuse([a, b], "zz-median", weights=[1, 2])


@pytest.mark.usefixtures("added")
def test_explain_shows_the_points_of_a_method_that_does_not_add() -> None:
    table = explained_fusion("zz-median", {"d2": -1.5, "d1": -1.0})
    assert [row["points"] for row in table.records()] == [-2.0, -1.0]
    assert "contribution" not in [column.name for column in table.columns]
    assert table.sentences == ("zz-median: the points of all rankings give -1.500000; the run has -1.500000.",)
    assert table.facts["combined"] == -1.5


FUSED_POWER = (
    '[systems.a]\nstage = "bm25"\n[systems.b]\nstage = "bm25"\nk1 = 2\n[systems.both]\nstage = "fuse"\nof = ["a", "b"]\n'
)


@pytest.mark.usefixtures("added")
def test_a_parameter_of_an_added_method_reaches_python_flags_files_and_docs(
    tmp_path: Path, runs: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    # d2 is second in a and first in b: 1 / 2^2 + 1.
    assert fused_scores(capsysbinary, *runs, "--method", "zz-power", "--power", "2") == {b"d2": 1.25, b"d1": 1.0, b"d3": 0.25}
    a = Run.from_dict({"q1": {"d1": 9.0, "d2": 8.0}})
    assert [row.score for row in rankproof.fuse([a], "zz-power", power=2).rows()] == [1.0, 0.25]
    assert [row.score for row in fuse([a], "zz-power").rows()] == [1.0, 0.5]
    (tmp_path / "e.toml").write_text(f'{FUSED_POWER}method = "zz-power"\npower = 2\n')
    (fused,) = (stage for stage in read_experiment(tmp_path / "e.toml").systems.values() if isinstance(stage, Fuse))
    assert fused == Fuse(fused.stages, "zz-power", parameters={"power": 2.0})
    assert identity(fused)["parameters"] == [["power", 2.0]]
    assert "parameters" not in identity(Fuse(fused.stages))
    (tmp_path / "again.toml").write_text(experiment_toml(read_experiment(tmp_path / "e.toml")))
    assert fused in read_experiment(tmp_path / "again.toml").systems.values()
    assert "| `zz-power` | adds 1 / rank^power | `weights`, `power` |  |" in part_tables.fusion_methods().splitlines()
    assert json_schema(METHODS["zz-power"])["properties"]["power"] == {
        "description": "exponent of the rank (default: 1)",
        "type": "number",
        "minimum": 0,
        "maximum": 4,
        "default": 1.0,
    }


@pytest.mark.usefixtures("added")
def test_a_parameter_of_an_added_method_is_tuned_by_its_usual_values(tmp_path: Path) -> None:
    assert [axis.values for family in fusion_space(1, ["zz-power"], ["min-max"], {}).families for axis in family.axes] == [
        (0.5, 1, 2)
    ]
    (tmp_path / "e.toml").write_text(f'{FUSED_POWER}method = "zz-power"\n')
    systems = read_experiment(tmp_path / "e.toml").systems
    tuned = tuned_system(systems, "both", {"power": None})
    assert [axis.values for family in tuned.space.families for axis in family.axes] == [(0.5, 1, 2)]
    assert tuned.with_settings((("power", 2.0),)) == Fuse(tuned.stage.inputs(), "zz-power", parameters={"power": 2})


@pytest.mark.usefixtures("added")
def test_a_parameter_of_an_added_part_out_of_range_is_rejected_with_one_sentence(
    tmp_path: Path, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = "power is 9.0; choose a number from 0 to 4"
    with pytest.raises(UsageError, match=f"^{wrong}"):
        rankproof.fuse([Run.from_dict({"q": {"d": 1.0}})], "zz-power", power=9.0)
    assert main(["fuse", *runs, "--method", "zz-power", "--power", "9"]) == 2
    assert capsys.readouterr().err.startswith(f"--{wrong}")
    (tmp_path / "e.toml").write_text(f'{FUSED_POWER}method = "zz-power"\npower = 9.0\n')
    with pytest.raises(InputError, match=rf"e\.toml:10: {wrong}"):
        read_experiment(tmp_path / "e.toml")
    assert main(["fuse", *runs, "--power", "1"]) == 2
    assert "rrf does not use --power; leave out --power" in capsys.readouterr().err


@pytest.mark.usefixtures("added")
def test_a_normalisation_has_parameters_of_its_own(runs: list[str], capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    flags = ("--method", "combsum", "--norm", "zz-shift", "--plus", "2")
    assert fused_scores(capsysbinary, *runs, *flags) == {b"d1": 11.0, b"d2": 12.7, b"d3": 2.5}
    stage = Rerank(BM25(), KeywordScorer(), weight=0.5, norm="zz-shift", parameters={"plus": 2})
    assert stage.parameters == (("plus", 2.0),)
    with pytest.raises(UsageError, match="plus is -1; choose a number of at least 0"):
        Rerank(BM25(), KeywordScorer(), weight=0.5, norm="zz-shift", parameters={"plus": -1})
    with pytest.raises(UsageError, match="the normalisation z-score has no parameter plus; it has none"):
        Rerank(BM25(), KeywordScorer(), parameters={"plus": 2})


def test_a_parameter_cannot_have_a_name_that_means_something_else_and_needs_a_sentence() -> None:
    with pytest.raises(ValueError, match="zz-depth: a parameter cannot be called depth"):

        @fusion_method("zz-depth", "anything")
        def by_depth(table: CandidateTable, settings: FusionSettings, *, depth: int = 1) -> FloatArray:
            raise NotImplementedError

    with pytest.raises(ValueError, match="zz-bare: the parameter q is not described; annotate it with an Option"):

        @fusion_method("zz-bare", "anything")
        def bare(table: CandidateTable, settings: FusionSettings, *, q: int = 1) -> FloatArray:
            raise NotImplementedError


def test_a_method_can_only_use_known_parameters() -> None:
    with pytest.raises(ValueError, match="zz-both: no parameter is called q; choose among weights, norm, "):
        fusion_method("zz-both", "both", uses=("q",))


@pytest.mark.usefixtures("added")
def test_doctor_runs_and_lists_the_added_check(capsys: pytest.CaptureFixture[str]) -> None:
    own = CHECKS["zz-shouting"]
    assert run_checks(example_input(clean_example())).rows == ()
    rows = run_checks(example_input(own.broken(clean_example()))).rows
    assert ("zz-shouting", "hint", 1, 12) in [row[:4] for row in rows]
    assert main(["doctor", "--list", "--format", "json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["title"] == f"{len(all_checks())} checks"
    assert next(row for row in table["rows"] if row["check"] == "zz-shouting") == {
        "check": "zz-shouting",
        "severity": "hint",
        "needs": "queries",
        "looks for": "queries in capital letters",
    }


@pytest.mark.usefixtures("added")
def test_the_tables_of_the_docs_have_the_added_parts() -> None:
    assert "| `zz-test` | adds 1 / rank² |  |  |" in part_tables.fusion_methods().splitlines()
    assert "| `zz-half` | half of each score |" in part_tables.normalisations().splitlines()
    row = "| `zz-shouting` | hint | queries | queries in capital letters |"
    assert row in part_tables.checks().splitlines()


def test_a_package_that_cannot_be_loaded_hides_no_other_method(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, monkeypatch, "raise RuntimeError('half an installation')", ENTRIES)
    assert main(["fuse", *runs]) == 0
    assert main(["fuse", *runs, "--method", "zz-test"]) == 1
    assert "the package added-parts offers zz-test, which cannot be loaded (half an installation)" in capsys.readouterr().err
    lines = summaries(METHODS).splitlines()
    assert lines[0].split(maxsplit=1) == ["rrf", "adds 1 / (k + rank)"]
    assert "cannot be loaded" in lines[-1]


def test_a_package_that_registers_another_name_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "", ENTRIES)
    with pytest.raises(ExternalError, match="the package added-parts offers the fusion method zz-test, but does not register it"):
        fuse([Run.from_dict({"q": {"d": 1.0}})], "zz-test")


def test_a_check_without_a_broken_example_cannot_be_registered() -> None:
    with pytest.raises(TypeError, match="broken"):
        doctor_check("careless", "hint", "anything", advice="nothing", needs=("queries",))  # type: ignore[call-arg]


@dataclass(frozen=True)
class Word:
    name: str
    summary: str = ""


def test_a_table_reads_every_file_of_its_package_in_one_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_words").mkdir()
    (tmp_path / "some_words" / "__init__.py").touch()
    table: RecordTable[Word] = RecordTable("word", "rankproof.words", "some_words", first=("zebra",))
    monkeypatch.setitem(sys.modules, "words_table", type(sys)("words_table"))
    sys.modules["words_table"].__dict__.update(table=table, Word=Word)
    for name in ("apple", "melon", "zebra"):
        text = f"from words_table import Word, table\ntable.add(Word('{name}'), __name__)\n"
        (tmp_path / "some_words" / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("some_words.melon")
    assert list(table) == ["zebra", "apple", "melon"]
    assert len(table) == 3
    with pytest.raises(ValueError, match=r"here: some_words\.apple already registers a word called apple"):
        table.add(Word("apple"), "here")


VERB = """
from rankproof.plugins import Command

def add_arguments(parser):
    parser.add_argument("name", help="whom to greet")

def greet(args, terminal):
    terminal.show(f"hello {args.name}\\n")
    return 0

HELLO = Command(
    usage="NAME", examples="examples:\\n  rankproof zz-hello you", add_arguments=add_arguments, run=greet, summary="greet"
)
NO_COMMAND = "text"
"""
VERB_ENTRIES = "[rankproof.commands]\nzz-hello = added_parts:HELLO\n"


def test_a_verb_of_another_package_runs_and_is_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, monkeypatch, VERB, VERB_ENTRIES)
    assert main(["zz-hello", "world"]) == 0
    assert capsys.readouterr().out == "hello world\n"
    assert main(["--help"]) == 0
    assert re.search(r"^Installed +zz-hello +greet$", capsys.readouterr().out, re.MULTILINE)
    assert main(["zz-hello", "--help"]) == 0
    assert "usage: rankproof zz-hello NAME\n\nGreet.\n" in capsys.readouterr().out
    assert main(["completion", "bash"]) == 0
    assert " zz-hello " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "target", "message"),
    [
        (VERB, "added_parts:NO_COMMAND", "the command zz-hello of another package is not a rankproof.plugins.Command"),
        ("raise RuntimeError('half an installation')", "added_parts:HELLO", "cannot be loaded (half an installation)"),
    ],
)
def test_a_verb_that_cannot_be_loaded_hides_no_other_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str, target: str, message: str
) -> None:
    install(tmp_path, monkeypatch, module, f"[rankproof.commands]\nzz-hello = {target}\n")
    assert main(["zz-hello", "world"]) == 1
    assert message in capsys.readouterr().err
    assert main(["--help"]) == 0
    assert message in " ".join(capsys.readouterr().out.split())
    assert main(["completion", "fish"]) == 0
    assert "-a zz-hello" not in capsys.readouterr().out


OUTPUTS = """
from dataclasses import dataclass

from rankproof._plots.settings import missing
from rankproof.plugins import ExportFormat

def empty(inputs, settings):
    \"\"\"Nothing.\"\"\"
    return [missing(inputs, settings, "zz-empty", "Nothing", "There is nothing to draw.")]

def count(result, options):
    \"\"\"How many systems there are.\"\"\"
    return f"{len(result.systems)} systems\\n"

def first_line(results, options, show_note):
    show_note("one line")
    return f"{results.name}\\n".encode()

ZZLINE = ExportFormat(first_line)
ZZBYTES = ExportFormat(first_line, is_binary=True)
NO_FORMAT = first_line

@dataclass(frozen=True)
class Pairs:
    \"\"\"Scores pairs of texts.\"\"\"
    source: str = "none"

@dataclass(frozen=True)
class Parrot:
    \"\"\"Repeats the question.\"\"\"
    tone: str = "calm"
    concurrency: int = 1
"""
OUTPUT_ENTRIES = """
[rankproof.plots]
zz-empty = added_parts:empty
[rankproof.result_formats]
zz-count = added_parts:count
[rankproof.export_formats]
zzline = added_parts:ZZLINE
zzbytes = added_parts:ZZBYTES
zzwrong = added_parts:NO_FORMAT
[rankproof.cross_encoders]
zz-pairs = added_parts:Pairs
[rankproof.chats]
zz-parrot = added_parts:Parrot
"""


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with charts, output formats and models is installed; the current folder has results."""
    install(tmp_path, monkeypatch, OUTPUTS, OUTPUT_ENTRIES)
    monkeypatch.chdir(tmp_path)
    save_results(small_results(), "results")
    return tmp_path


def test_a_chart_of_another_package_is_drawn_and_listed(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plot", "results", "--kind", "zz-empty", "-o", "plots/"]) == 0
    said = capsys.readouterr()
    assert said.out == "plots/zz-empty.png\n"
    assert "There is nothing to draw." in said.err
    assert (outputs / "plots" / "zz-empty.png").read_bytes().startswith(b"\x89PNG")
    assert main(["plot", "results", "--kind", "no-chart"]) == 2
    assert "zz-empty" in capsys.readouterr().err
    assert "| `zz-empty` | Nothing |" in part_tables.plots().splitlines()


def test_an_export_format_of_another_package_is_chosen_by_name_and_by_suffix(
    outputs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "results", "--format", "zzline"]) == 0
    said = capsys.readouterr()
    assert said.out == "small\n"
    assert "note: one line\n" in said.err
    assert main(["export", "results", "-o", "out.zzline"]) == 0
    assert (outputs / "out.zzline").read_bytes() == b"small\n"
    assert main(["export", "results", "--format", "zzbytes"]) == 2
    assert main(["export", "results", "--format", "zzwrong"]) == 1
    said = capsys.readouterr()
    assert "zzbytes cannot go to standard output; specify a file with -o" in said.err
    assert "the export format zzwrong of another package is not an ExportFormat; update or remove it" in said.err


def test_a_result_format_of_another_package_is_printed(outputs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (outputs / "qrels.txt").write_text("q1 0 d1 1\n")
    (outputs / "a.run").write_text("q1 Q0 d1 1 9.0 a\n")
    assert main(["eval", "qrels.txt", "a.run", "--format", "zz-count"]) == 0
    assert capsys.readouterr().out == "1 systems\n"


@pytest.mark.usefixtures("outputs")
def test_a_cross_encoder_and_a_language_model_of_another_package_are_built_by_name() -> None:
    assert repr(cross_encoder_by_name("zz-pairs", source="mine")) == "Pairs(source='mine')"
    assert repr(chat_model_by_name("zz-parrot", tone="loud")) == "Parrot(tone='loud', concurrency=1)"
    with pytest.raises(UsageError, match="the model zz-parrot has no setting volume; choose among tone, concurrency"):
        chat_model_by_name("zz-parrot", volume=3)


def test_every_entry_point_group_is_documented_and_tried_with_an_installed_package() -> None:
    declared = {table.group for table in all_registries() if table.group}
    assert len(declared) >= 15
    tests = "".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_*.py"))
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    assert declared == set(re.findall(r"^(?:.*\")?\[(rankproof\.[a-z_]+)\]", tests, re.MULTILINE))
    assert declared == set(re.findall(r"`(rankproof\.[a-z_]+)`(?=[^|]*\|$)", design, re.MULTILINE))


IMPORTER = """
from rankproof.plugins import DatasetBuilder

class Lines:
    \"\"\"A file of lines `query = document`.\"\"\"

    settings = {"mark": "what separates the two"}

    def detect(self, source):
        return source.file is not None and source.file.endswith(".zz")

    def read(self, source, options):
        builder = DatasetBuilder(source, options)
        return builder.imported(self.judgements(source, options, builder), "zz-lines")

    def judgements(self, source, options, builder):
        with open(source.file) as lines:
            for number, line in enumerate(lines, start=1):
                query, _, doc = line.strip().partition(options.settings.get("mark", "="))
                yield builder.judgement(
                    builder.query(None, query, line=number), builder.document(None, "", doc, line=number), 1, line=number
                )

LINES = Lines()
"""


def test_an_importer_of_another_package_is_detected_listed_and_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, monkeypatch, IMPORTER, "[rankproof.importers]\nzz-lines = added_parts:LINES\n")
    (tmp_path / "data.zz").write_text("red shoes=a red shoe\nhats=a hat\n")
    imported = import_dataset(tmp_path / "data.zz")
    assert imported.report.importer == "zz-lines"
    assert [document.text for document in imported.dataset.corpus.values()] == ["a red shoe", "a hat"]
    assert len(read_dataset(tmp_path / "data.zz").queries) == 2
    (tmp_path / "data.zz").write_text("red shoes>a red shoe\n")
    assert main(["import", str(tmp_path / "data.zz"), "--set", "mark=>"]) == 0
    capsys.readouterr()
    assert main(["import", "--help-all"]) == 0
    page = " ".join(capsys.readouterr().out.split())
    assert "zz-lines A file of lines `query = document` mark: what separates the two" in page


def test_an_importer_that_cannot_be_loaded_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, "raise RuntimeError('half')", "[rankproof.importers]\nzz-lines = added_parts:LINES\n")
    (tmp_path / "table.csv").write_text("query,text,grade\nred shoes,a red shoe,1\n")
    assert import_dataset(tmp_path / "table.csv").report.importer == "table"
    with pytest.raises(ExternalError, match="the package added-parts offers zz-lines, which cannot be loaded"):
        import_dataset(tmp_path / "table.csv", importer="zz-lines")
