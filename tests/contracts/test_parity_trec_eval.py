"""Every trec_eval measure that is ours gives trec_eval 10's values, per query and in summary."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any
from zipfile import ZipFile

import numpy as np
import pytest

from rankproof._align.hits import Hits
from rankproof._cli.main import main
from rankproof._data.validation import ReadOptions
from rankproof._io.streams import ByteSource
from rankproof.measures import TEXT_MEASURES, Measure, parse_measure, parse_measures
from support.paths import GOLDEN
from support.qrels_and_runs import aligned

TOLERANCE = 1e-9


@pytest.fixture(params=["reference", "native"])
def engine(request: pytest.FixtureRequest) -> ModuleType:
    return pytest.importorskip(f"rankproof._align.{request.param}", exc_type=ImportError)  # type: ignore[no-any-return]


@cache
def measure_of(name: str) -> Measure | None:
    """Our measure of trec_eval's name; None for a text, and for rbp, which depends on uninitialised memory here."""
    found = parse_measure(name)
    return None if found.name in TEXT_MEASURES or name == "rbp" else found


def assert_agrees(measure: Measure, hits: Hits, expected: dict[str, str], over: np.ndarray[Any, np.dtype[np.bool_]]) -> None:
    """Each expected value, `all` being the summary over the queries of `over`."""
    values = measure.values(hits)
    ours = dict(zip(hits.queries, values.tolist(), strict=True)) | {"all": measure.summarise(values[over])}
    for query, text in expected.items():
        assert ours[query] == pytest.approx(float(text), abs=TOLERANCE, rel=TOLERANCE), f"{measure} of {query}"


def by_name(expected: dict[str, dict[str, str]]) -> Iterator[tuple[Measure, dict[str, str]]]:
    names = dict.fromkeys(name for values in expected.values() for name in values)
    for name in names:
        if measure := measure_of(name):
            yield measure, {query: values[name] for query, values in expected.items() if name in values}


@cache
def random_collections() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN / "random_collections.jsonl.gz", "rt", encoding="utf-8") as lines:
        return list(map(json.loads, lines))


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", ["plain", "ties", "close"])
def test_random_collections_agree_with_trec_eval_10(engine: ModuleType, mode: str, every: int) -> None:
    seen = set()
    for at, one in enumerate(random_collections()):
        if one["mode"] == mode and at % every == 0:
            hits = aligned(one["qrels"], one["run"], engine=engine)
            for measure, expected in by_name(one["expected_complete"]):
                assert_agrees(measure, hits, expected, np.ones_like(hits.present))
                seen.add(measure.name)
    named = {measure.name for measure in parse_measures("all_trec")}
    assert seen == named - {*TEXT_MEASURES, "GradedRBP"}


QUICKTESTS: dict[str, tuple[str, str, dict[str, int]]] = {
    "01": ("qrels.test", "results.test", {}),
    "02": ("qrels.test.with-comments", "results.test", {}),
    "03": ("qrels.comment.test", "results.comment.test", {}),
    "04": ("qrels.test", "results.test", {}),
    "05": ("qrels.test", "results.test", {}),
    "06": ("qrels.test", "results.trunc", {"complete": 1}),
    "07": ("qrels.test", "results.trunc", {"complete": 1, "depth": 100}),
    "08": ("qrels.rel_level", "results.test", {"rel": 2}),
    "14": ("qrels.test", "results.test", {}),
}


def quicktest_file(name: str) -> bytes:
    with ZipFile(GOLDEN / "trec_eval_quicktest.zip") as archive:
        return archive.read(name)


def source_of(name: str) -> ByteSource:
    content = quicktest_file(name)
    return ByteSource(name, lambda: io.BytesIO(content))


def expected_of(number: str) -> dict[str, dict[str, str]]:
    """Query to measure to value, as trec_eval printed it."""
    found: dict[str, dict[str, str]] = {}
    for line in quicktest_file(f"quicktest_{number}.txt").decode().splitlines():
        name, query, value = line.split("\t")
        found.setdefault(query, {})[name.strip()] = value
    return found


@pytest.mark.parametrize("number", QUICKTESTS)
def test_the_quicktest_agrees(engine: ModuleType, number: str) -> None:
    qrels, run, options = QUICKTESTS[number]
    hits = engine.align_text(engine.judge_text(source_of(qrels)), source_of(run), ReadOptions())
    if "depth" in options:
        hits = hits.cut(options["depth"])
    over = np.ones_like(hits.present) if "complete" in options else hits.present
    expected = expected_of(number)
    checked = 0
    for measure, values in by_name(expected):
        assert_agrees(measure.with_rel(options.get("rel", 1)), hits, values, over)
        checked += len(values)
    assert checked > 20


PROGRAM = shutil.which("trec_eval")
FORMATS = {"all_trec": "qrels", "all_prefs": "prefs", "qrels_jg": "qrels_jg"}


def is_version_10() -> bool:
    return PROGRAM is not None and " 10." in subprocess.run([PROGRAM, "-v"], capture_output=True, text=True, check=False).stderr


def random_files(random: Random, form: str) -> tuple[str, str]:
    """Judgements in the format, and a run of the same queries; a third of the runs has ties."""
    docs, ties = [f"D{number:02d}" for number in range(random.randint(5, 40))], random.random() < 1 / 3
    qrels, run = [], []
    for query in random.sample(range(1, 200), random.randint(1, 6)):
        for group in random.sample("ABC", 1 if form == "qrels" else random.randint(1, 3)):
            levels = {doc: random.choice((0, 0, 1, 2, 3)) for doc in docs}
            for part in random.sample("xyz", random.randint(1, 3)) if form == "prefs" else [""]:
                judged = random.sample(docs, random.randint(1, len(docs)))
                qrels += [" ".join(f"{query} {group} {part} {doc} {levels[doc]}".split()) for doc in judged]
        for doc in random.sample(docs, random.randint(1, len(docs))):
            score = random.randint(0, 4) if ties else round(random.gauss(0, 1), 4)
            run.append(f"{query} Q0 {doc} 1 {score} tag")
    return "\n".join(qrels) + "\n", "\n".join(run) + "\n"


@pytest.mark.skipif(
    not is_version_10(), reason="there is no trec_eval 10 on the path; build it from github.com/usnistgov/trec_eval"
)
@pytest.mark.parametrize("nickname", FORMATS)
def test_the_output_is_that_of_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str], nickname: str) -> None:
    for seed in range(20):
        random = Random(f"{nickname} {seed}")
        files = [tmp_path / "qrels", tmp_path / "run"]
        for path, text in zip(files, random_files(random, FORMATS[nickname]), strict=True):
            path.write_text(text)
        options = random.choice((["-q"], ["-q", "-n"], [], ["-q", "-M", "7"] if nickname == "all_trec" else ["-q", "-c"]))
        theirs = subprocess.run(
            [PROGRAM or "", *options, "-R", FORMATS[nickname], "-m", nickname, *files], capture_output=True, text=True, check=True
        ).stdout
        named = ["--qrels-format", FORMATS[nickname], "-m", nickname, "--format", "trec"]
        assert main(["eval", *map(str, files), *options, *named]) == 0
        ours = capsys.readouterr().out
        # The value of rbp depends on uninitialised memory unless the program is built with zeroed variables.
        assert without_rbp(ours) == without_rbp(theirs), f"seed {seed}"


def without_rbp(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.split()[0] != "rbp"]
