"""Every public value prints within a screen, is a table as text, and shows as escaped HTML."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from tempfile import TemporaryDirectory
from typing import Any

import pandas
import pytest
from rich.cells import cell_len

import rankproof as rp
from rankproof._data.view import Viewed
from support.hostile_results import harmful_results
from support.hostile_strings import STRINGS

SAFE_TAGS = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "ul", "li", "sup"}
SVG_TAGS = {"svg", "g", "defs", "path", "use", "rect", "style", "clippath", "metadata", "text", "title", "desc", "line"}


@cache
def results() -> rp.ExperimentResult:
    return harmful_results(systems=STRINGS[:4], queries=STRINGS)


@cache
def comparison() -> rp.types.Comparison:
    return rp.compare(results())


def texts(make: Any) -> Any:
    return (make(name, name, name) for name in STRINGS)


def imported() -> rp.types.Imported:
    """An import of a frame whose columns and cells are hostile."""
    names = {"query": STRINGS, STRINGS[0]: STRINGS, STRINGS[1]: STRINGS, "grade": [1] * len(STRINGS)}
    return rp.import_dataset(pandas.DataFrame(names), title_column=STRINGS[0].strip(), text_column=STRINGS[1].strip())


def converted() -> rp.types.ConvertResult:
    """A conversion of a run with hostile ids."""
    with TemporaryDirectory() as folder:
        rp.write_run(results().system_runs[0].run, f"{folder}/x.json")
        return rp.convert(f"{folder}/x.json", f"{folder}/y.json")


def live() -> rp.types.OnlineResult:
    """An A/B test whose users, documents and variants have hostile names."""
    count = len(STRINGS)
    shown = {"session": STRINGS, "user": STRINGS, "doc": STRINGS, "variant": [STRINGS[at % 2] for at in range(count)]}
    rows = pandas.DataFrame({**shown, "time": range(count), "rank": 1})
    return rp.online(pandas.concat([rows.assign(action="shown"), rows.assign(action="click")]))


def searches() -> pandas.DataFrame:
    """Searches with hostile texts and users."""
    rows = {"session": [*map(str, range(len(STRINGS)))], "user": STRINGS, "query": STRINGS, "action": [""] * len(STRINGS)}
    return pandas.DataFrame(rows)


def preferred() -> rp.types.PreferenceResult:
    """Preferences between systems with hostile names, by people with hostile names."""
    from rankproof._analysis.preferences import analyse_preferences
    from rankproof._formats.preferences import Preference

    first, second = STRINGS[:2]
    people = (f"human:{name}" for name in STRINGS)
    return analyse_preferences(
        [Preference(name, first, second, first, first, who) for name, who in zip(STRINGS, people, strict=True)]
    )


def checked_sample() -> rp.types.SampleCheck:
    """A sample of hostile queries, checked with the same log."""
    from rankproof._api.live import check_sample

    with TemporaryDirectory() as folder:
        rp.sample_queries(searches(), f"{folder}/set", min_users=1)
        return check_sample(searches(), f"{folder}/set")


VALUES: dict[type, Callable[[], Any]] = {
    rp.Qrels: lambda: results().qrels,
    rp.Run: lambda: results().system_runs[0].run,
    rp.Corpus: lambda: rp.Corpus(texts(rp.types.Document), source=STRINGS[0]),
    rp.Queries: lambda: results().texts,
    rp.Dataset: lambda: rp.Dataset(STRINGS[0], rp.Corpus(texts(rp.types.Document)), results().texts, results().qrels),
    rp.Answers: lambda: results().system_runs[-1].answers,
    rp.types.References: lambda: rp.types.References({name: rp.types.Reference((name,)) for name in STRINGS}),
    rp.Experiment: lambda: rp.Experiment({name: rp.stages.BM25() for name in STRINGS[:20]}, name=STRINGS[0]),
    rp.ExperimentResult: results,
    rp.types.SystemRun: lambda: results().system_runs[0],
    rp.Result: lambda: rp.evaluate(results().qrels, {one.name: one.run for one in results().system_runs}),
    rp.types.SystemResult: lambda: results().result.systems[0],
    rp.types.MeasureResult: lambda: results().result.systems[0].measures["nDCG@10"],
    rp.types.Comparison: comparison,
    rp.types.Decision: lambda: comparison().decision,
    rp.types.PreferenceResult: preferred,
    rp.types.Explanation: lambda: rp.explain(results(), query=STRINGS[0]),
    rp.types.Audit: lambda: rp.audit(results()),
    rp.types.Segments: lambda: rp.segments(results(), by="category"),
    rp.types.Diagnosis: lambda: rp.diagnose(results()),
    rp.types.Baselines: lambda: rp.baselines(results()),
    rp.types.Correlation: lambda: rp.correlate(results()),
    rp.types.RaterAgreement: lambda: rp.agreement({name: results().qrels for name in STRINGS[:3]}),
    rp.types.Stability: lambda: rp.stability(results(), rounds=2, splits=20),
    rp.types.DoctorReport: lambda: rp.doctor(results()),
    rp.types.GateResult: lambda: rp.gate(results(), baseline=results()),
    rp.types.Report: lambda: rp.report(results()),
    rp.types.OnlineResult: live,
    rp.types.QuerySample: lambda: rp.sample_queries(searches(), min_users=1),
    rp.types.SampleCheck: checked_sample,
    rp.types.Export: lambda: rp.export(results()),
    rp.types.ConvertResult: converted,
    rp.types.Plots: lambda: rp.plot(results(), kind="bars"),
    rp.types.Plot: lambda: rp.plot(results(), kind="bars").plots[0],
    rp.types.Judging: lambda: rp.judge("sample", model="keywords", qrels="sample", sample=30),
    rp.types.Imported: imported,
    rp.types.Generated: lambda: rp.generate("sample", 12),
    rp.types.FittedFusion: lambda: rp.fit_fusion("mapfuse", results().qrels, [one.run for one in results().system_runs]),
    rp.types.Tuning: lambda: rp.tune(rp.Experiment({STRINGS[0]: rp.stages.BM25()}), vary={"k1": [0.1, 3]}),
}


def public_views() -> set[type]:
    things = [getattr(module, name) for module in (rp, rp.types) for name in module.__all__]
    found = {thing for thing in things if inspect.isclass(thing) and issubclass(thing, Viewed)}
    return found - {rp.types.Analysis}


def test_every_public_value_has_an_example() -> None:
    assert {kind.__name__ for kind in public_views()} == {kind.__name__ for kind in VALUES}


@cache
def value_of(kind: type) -> Any:
    value = VALUES[kind]()
    assert isinstance(value, kind)
    return value


KINDS = pytest.mark.parametrize("kind", VALUES, ids=lambda kind: str(kind.__name__))


@KINDS
def test_the_repr_fits_a_screen(kind: type) -> None:
    lines = repr(value_of(kind)).split("\n")
    assert len(lines) <= 25
    assert max(map(cell_len, lines)) <= 100
    assert all(line.isprintable() for line in lines)


@KINDS
def test_the_text_begins_like_the_repr_and_leaves_nothing_out(kind: type) -> None:
    value = value_of(kind)
    if isinstance(value, rp.types.Decision):
        assert str(value) == " ".join(value.sentences)
        return
    whole, short = str(value), repr(value)
    assert whole == short or whole.startswith(short.rpartition("\n")[0])
    assert "print(value)" not in whole


class Tags(HTMLParser):
    """The tags and the names of attributes of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


@KINDS
def test_hostile_names_stay_text_in_html(kind: type) -> None:
    found = Tags(value_of(kind)._repr_html_())
    allowed = SVG_TAGS | SAFE_TAGS if "svg" in found.tags else SAFE_TAGS
    assert {tag for tag in found.tags if not tag.startswith(("rdf:", "cc:", "dc:"))} <= allowed
    assert not {name for name in found.attributes if name.startswith("on")}


@pytest.mark.parametrize("kind", [rp.ExperimentResult, rp.Result, rp.types.Comparison, rp.types.Decision])
def test_values_with_systems_show_the_decision_before_the_table(kind: type) -> None:
    page = value_of(kind)._repr_html_()
    at = min(place for word in ("Ship ", "Not decided") if (place := page.find(word)) >= 0)
    assert at < page.index("<table>")


def test_a_comparison_turns_into_frames_of_pairs_and_latex() -> None:
    frame = comparison().to_pandas()
    assert len(frame) == len(comparison().pairs) == comparison().to_polars().height
    assert {"measure", "system", "other", "difference", "ci", "p", "p_adjusted", "verdict", "needed"} <= set(frame.columns)
    assert comparison().to_latex().count(r"\begin{tabular}") == 1


def test_a_comparison_as_latex_has_the_letters_of_the_beaten_systems_and_a_caption() -> None:
    qrels = {f"q{at}": {"yes": 1} for at in range(20)}
    best, second = ({query: {"yes": place, "no": 1.0} for query in qrels} for place in (2.0, 0.0))
    found = rp.compare(rp.evaluate(qrels, {"best_1": best, "50% & more": second}, ["RR@10"]))
    latex = found.to_latex()
    assert r"best\_1 & a & \textbf{1.0000$^{b}$} \\" in latex
    assert r"50\% \& more & b & 0.5000 \\" in latex
    (caption,) = re.findall(r"\\caption{(.*)}", latex)
    assert "Superscript letters: significantly better than the systems with these letters" in caption
    assert "n = 20 queries" in caption
    assert "two-sided, alpha 0.05" in caption
    alone = rp.compare(rp.evaluate(qrels, {"best": best}, ["RR@10"])).to_latex()
    assert "No significance test: it needs at least two systems and two queries." in alone
    assert "best & 1.0000" in alone


@pytest.mark.parametrize("form", ["to_markdown", "to_csv", "to_json", "to_latex", "to_pandas", "to_polars"])
def test_an_analysis_turns_into_every_form(form: str) -> None:
    made = getattr(rp.segments(results(), by="category"), form)()
    assert len(made)
