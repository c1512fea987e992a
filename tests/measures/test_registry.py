"""A measure is one file and one line; a measure of another package needs one entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.public_names import updated_init

import rankproof.measures
from rankproof import evaluate
from rankproof._cli.commands.completion import all_commands
from rankproof._cli.main import main
from rankproof._registry import Component, lazy_names
from rankproof.errors import ExternalError, UsageError
from rankproof.measures import ANSWER_MEASURES, MEASURES, Measure, _parse, parse_measure
from rankproof.measures._registry import all_measures
from rankproof.plugins import AnswerMeasure, RandomRanking

TOY = """
from rankproof.plugins import Advice, BinaryCutoffMeasure, SummedMeasure
from rankproof.measures._relevant import equal_parts, relevant_found

class TopHits(SummedMeasure, BinaryCutoffMeasure):
    name = "TopHits"
    title = "Hits at the top"
    definition = "Relevant documents in the top k, times 10."
    source = "this test"
    aliases = ("top_hits",)
    advice = Advice("finding", "you test a registry.", "you test anything else.")
    range = (0.0, float("inf"))
    needs = "TopHits@3"

    def parts(self, hits):
        found = relevant_found(hits, self.least)
        return equal_parts(hits, found.at_within(self.depth), [1] * len(hits.queries), gain=10.0)

    def chance(self, ranking):
        return 10.0 * ranking.length(self.depth) * ranking.relevant(self.least) / ranking.documents

TopHits = TopHits()
"""
QRELS, RUN = {"q": {"a": 1, "b": 2}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}


def install(folder: Path, text: str, entries: str) -> None:
    """A package with this module and these entry points."""
    (folder / "toy_measures.py").write_text(text)
    (folder / "toy_measures-1.0.dist-info").mkdir()
    (folder / "toy_measures-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-measures\nVersion: 1.0\n")
    (folder / "toy_measures-1.0.dist-info" / "entry_points.txt").write_text(entries)


@pytest.fixture(autouse=True)
def fresh_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing of the toy module, and no name of it, outlives the test."""
    monkeypatch.syspath_prepend(str(tmp_path))
    caches = (_parse._own_names, _parse._own_aliases, _parse._ranking_names, _parse._parse_list, _parse._parse_texts)
    for one in caches:
        one.cache_clear()
    yield
    sys.modules.pop("toy_measures", None)
    for one in caches:
        one.cache_clear()


@pytest.fixture
def one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy measure as one file and one line of the registry."""
    (tmp_path / "toy_measures.py").write_text(TOY)
    line = Component("TopHits", "toy_measures:TopHits")
    monkeypatch.setattr(MEASURES, "components", (*MEASURES.components, line))
    monkeypatch.setitem(MEASURES._own, line.name, line)


@pytest.fixture
def one_entry_point(tmp_path: Path) -> None:
    """The toy measure as an installed package."""
    install(tmp_path, TOY, "[rankproof.measures]\nTopHits = toy_measures:TopHits\n")


@pytest.mark.parametrize("added", ["one_line", "one_entry_point"])
def test_an_added_measure_is_seen_everywhere(
    added: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue(added)
    assert str(parse_measure("tophits(rel=2)@3")) == "TopHits(rel=2)@3"
    assert parse_measure("top_hits_2") == parse_measure("TopHits@2")
    assert evaluate(QRELS, RUN, ["TopHits@3", "TopHits(rel=2)@2"]).means["run"] == {"TopHits@3": 20.0, "TopHits(rel=2)@2": 0.0}
    assert parse_measure("TopHits@3").chance(RandomRanking((1, 2), 60)) == 1.0
    with pytest.raises(UsageError, match="TopHits needs a cutoff; write it like TopHits@3"):
        parse_measure("TopHits")
    with pytest.raises(
        UsageError, match=r"unknown measure tophit; did you mean tophits\?|unknown measure tophit; did you mean TopHits\?"
    ):
        parse_measure("tophit")
    assert main(["measures", "top_hits"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "TopHits@k Hits at the top" in shown
    assert "use it when you test a registry." in shown
    options = {option.spellings[-1]: option.words for verb in all_commands() if verb.name == "eval" for option in verb.options}
    assert "TopHits" in options["--measures"]


@pytest.mark.usefixtures("one_line")
def test_an_added_measure_is_a_public_name() -> None:
    names, load, _ = lazy_names("rankproof.measures", MEASURES, ANSWER_MEASURES)
    assert "TopHits" in names
    assert load("TopHits") == MEASURES["TopHits"]
    assert "import TopHits" not in updated_init("rankproof.measures"), "the names of the package itself are changed"


def test_a_measure_that_cannot_be_imported_is_reported_with_its_package(tmp_path: Path) -> None:
    install(tmp_path, "raise RuntimeError('half an installation')", "[rankproof.measures]\nTopHits = toy_measures:TopHits\n")
    assert str(parse_measure("nDCG@10")) == "nDCG@10"
    with pytest.raises(ExternalError, match=r"the package toy-measures offers TopHits, which cannot be loaded \(half an"):
        parse_measure("TopHits@3")


def test_an_entry_point_that_is_no_measure_is_reported(tmp_path: Path) -> None:
    install(tmp_path, "TopHits = 3", "[rankproof.measures]\nTopHits = toy_measures:TopHits\n")
    with pytest.raises(ExternalError, match=r"the entry point TopHits of rankproof\.measures is not a Measure"):
        parse_measure("TopHits@3")


def test_every_registered_measure_has_the_name_of_its_line_and_is_public() -> None:
    for registry, kind in ((MEASURES, Measure), (ANSWER_MEASURES, AnswerMeasure)):
        for component in registry.components:
            measure = component.load()
            assert measure.name == component.name
            assert isinstance(measure, kind)
            assert getattr(rankproof.measures, component.target.partition(":")[2]) is measure


def test_the_cutoffs_with_advice_are_usual_ones() -> None:
    advised = {measure.name: [cutoff for cutoff, _ in measure.advice.by_cutoff] for measure in all_measures() if measure.advice}
    assert any(advised.values())
    assert all(cutoffs == sorted({*cutoffs} & {1, 3, 5, 10, 20, 50, 100, 1000}) for cutoffs in advised.values())
