"""Laws over every registered part, and parts that another package brings."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import pytest
from tools.docs.setting_tables import settings_rows
from tools.public_names import PACKAGES, init_file, updated_init

import rankproof.models
import rankproof.stages
import rankproof.stores
from rankproof._analysis.doctor.check import _TABLE as CHECKS
from rankproof._cli.parser import COMMANDS
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.validation import check_options
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_settings import EVERY, is_scorer, is_system, is_systems, keys_of, part_kind, takes
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof._experiment.run import RunOptions, run_experiment
from rankproof._formats.registry import FORMATS
from rankproof._fusion.method import METHODS
from rankproof._fusion.normalisations import NORMALISATIONS
from rankproof._importers.registry import IMPORTERS
from rankproof._io.toml_file import toml_value
from rankproof._judge.claims.base import CLAIM_JUDGES
from rankproof._plots.registry import PLOT_KINDS
from rankproof._registry import Component, Option, RecordTable, Registry, settings_of
from rankproof._render.formats import EXPORT_FORMATS, RESULT_FORMATS
from rankproof.errors import InputError, MissingExtraError, RankproofError, UsageError
from rankproof.measures._registry import ANSWER_MEASURES, MEASURES, TEXT_MEASURES
from rankproof.models._registry import BY_SOURCE, CHATS, CROSS_ENCODERS, ENCODERS
from rankproof.stages import BM25
from rankproof.stages._registry import SCORERS, STAGES
from rankproof.stores._registry import STORES
from support.registries import all_registries
from support.run_files import run_of_another_query

REGISTRIES: dict[str, Registry[Any]] = {
    **{"stages": STAGES, "scorers": SCORERS, "stores": STORES},
    **{"encoders": ENCODERS, "cross-encoders": CROSS_ENCODERS, "chats": CHATS, "by source": BY_SOURCE},
}
COMPONENTS = [
    pytest.param(component, registry, id=f"{kind}-{component.name}")
    for kind, registry in REGISTRIES.items()
    for component in registry.components
]
PARTS = [
    pytest.param(component, registry, id=component.name) for registry in (STAGES, SCORERS) for component in registry.components
]
BM = '[systems.bm25]\nstage = "bm25"\n'
NEEDED = {
    "of": '"bm25"',
    "by": '"keywords"',
    "function": '"support.search_functions:nothing"',
    "dsn": '"host=h"',
    "sql": '"SELECT %(query)s"',
    "model": '"rerank-1"',
    "path": f'"{run_of_another_query()}"',
}
NEEDED_TOGETHER = {"http": {"url": '"https://host/search?q={query}"', "ids": '"hits[].id"'}}
"""Settings without which a part is refused although each has a default."""
MODELS = {"chat": '"smollm2"', "encoder": '"minilm"', "cross-encoder": '"acme/cross"'}
SENTENCE = re.compile(r"(?!.*\. )\S.*[^\s.]")
WITH_SUMMARY = (*REGISTRIES.values(), FORMATS, IMPORTERS, RESULT_FORMATS, EXPORT_FORMATS, PLOT_KINDS, COMMANDS, CLAIM_JUDGES)
RECORDS: tuple[RecordTable[Any], ...] = (METHODS, NORMALISATIONS, CHECKS)
MEASURE_REGISTRIES: tuple[Registry[Any], ...] = (MEASURES, TEXT_MEASURES, ANSWER_MEASURES)


def summary_cases() -> Iterator[Any]:
    """Every registered part with the texts that describe it."""
    for registry in WITH_SUMMARY:
        yield from (pytest.param({"summary": one.summary}, id=f"{registry.kind}-{one.name}") for one in registry.components)
    for table in RECORDS:
        yield from (pytest.param({"summary": one.summary}, id=f"{table.kind}-{one.name}") for one in table.registered().values())
    for registry in MEASURE_REGISTRIES:
        for component in registry.components:
            measure = component.load()
            texts = {name: getattr(measure, name) for name in ("title", "definition", "source")}
            yield pytest.param(texts, id=f"{registry.kind}-{measure.name}")


SUMMARIES = list(summary_cases())


@pytest.mark.parametrize("texts", SUMMARIES)
def test_every_registered_part_is_described(texts: dict[str, str], request: pytest.FixtureRequest) -> None:
    empty = [name for name, text in texts.items() if not text.strip()]
    assert empty == [], f"{request.node.callspec.id}: write its {' and '.join(empty)}"


def test_no_registry_is_left_out_of_these_tests() -> None:
    count = len(WITH_SUMMARY) + len(RECORDS) + len(MEASURE_REGISTRIES)
    assert len(all_registries()) == count, "add the registry to WITH_SUMMARY or RECORDS"
    assert len(SUMMARIES) >= 250
    assert len(COMPONENTS) >= 50
    assert len(PARTS) >= 25


@pytest.mark.parametrize(("component", "registry"), COMPONENTS)
def test_every_record_loads_a_class_and_is_found_by_it(component: Component, registry: Registry[Any]) -> None:
    part = component.load()
    assert isinstance(part, type)
    assert registry.name_of(part) == component.name
    assert SENTENCE.fullmatch(component.summary), f"the summary of {component.name} is not one sentence without a full stop"


@pytest.mark.parametrize(("component", "registry"), COMPONENTS)
def test_every_setting_has_a_description(component: Component, registry: Registry[Any]) -> None:
    part = component.load()
    assert sorted(setting.field for setting in settings_of(part)) == sorted(one.name for one in fields(part) if one.init)
    for setting in settings_of(part):
        assert SENTENCE.fullmatch(setting.option.description), f"{component.name}.{setting.key}"
        assert setting.type is not Any, f"{component.name}.{setting.key}"


@pytest.mark.parametrize("name", PACKAGES)
def test_the_names_for_type_checkers_are_those_of_the_registry(name: str) -> None:
    is_written = init_file(name).read_text(encoding="utf-8") == updated_init(name)
    assert is_written, f"the names of {name} for type checkers are out of date; run: make names"
    package = import_module(name)
    assert package.__all__ == dir(package)
    assert [one for one in package.__all__ if not hasattr(package, one)] == []
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing


def test_no_package_with_lazy_names_is_left_out() -> None:
    sources = Path(rankproof.__file__).parent.rglob("*.py")
    lazy = [path for path in sources if "= lazy_names(" in path.read_text(encoding="utf-8")]
    assert sorted(lazy) == sorted(map(init_file, PACKAGES)), "add the package to PACKAGES in tools/public_names.py"


@pytest.mark.parametrize("package", ["stages", "models", "stores"])
def test_a_package_loads_no_part_before_it_is_used(package: str) -> None:
    code = f"import sys, rankproof.{package}; print(*(name for name in sys.modules if name.startswith('rankproof.')))"
    names = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    own = {component.target.partition(":")[0] for registry in REGISTRIES.values() for component in registry.components}
    assert len(own) >= 20
    assert f"rankproof.{package}" in names
    assert not own & set(names)


def test_a_missing_library_is_reported_with_the_extra_that_installs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "needs_library.py").write_text("import no_such_library.inner\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match=r"no_such_library is not installed; run: pip install 'rankproof\[graphs\]'"):
        Component("any", "needs_library:Any", "anything", extra="graphs").load()
    with pytest.raises(ModuleNotFoundError):
        Component("any", "needs_library:Any", "anything").load()


def test_an_alias_is_another_name_that_is_not_listed() -> None:
    registry: Registry[Any] = Registry(
        "stage", "rankproof.none", (Component("words", "rankproof.stages._bm25:BM25", "ranks by words", aliases=("okapi",)),)
    )
    assert registry.load("okapi") is registry.load("words") is BM25
    assert registry.names() == ["words"]
    assert registry.name_of(BM25) == "words"


@dataclass(frozen=True)
class Every:
    """A setting of each type."""

    share: Annotated[float, Option("a share", least=0, most=1)] = 0.5
    count: Annotated[int, Option("a count", least=2)] = 2
    limit: Annotated[int | None, Option("a limit", most=9)] = None
    free: Annotated[float, Option("any number")] = 0.0
    text: Annotated[str, Option("a text", key="written")] = ""
    flag: Annotated[bool, Option("a flag")] = False
    names: Annotated[tuple[str, ...], Option("names")] = ()
    fields: Annotated[tuple[str, ...], Option("fields", role="fields")] = ("text",)

    def __post_init__(self) -> None:
        check_options(self)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"share": 1.5}, "share is 1.5; choose a number from 0 to 1"),
        ({"share": True}, "share is True; choose a number from 0 to 1"),
        ({"count": 1}, "count is 1; choose a whole number of at least 2"),
        ({"count": 2.0}, "count is 2.0; choose a whole number of at least 2"),
        ({"limit": 10}, "limit is 10; choose a whole number of at most 9"),
        ({"free": float("nan")}, "free is nan; choose a number"),
        ({"text": 1}, "text is an int; pass text"),
        ({"flag": 1}, "flag is 1; choose true or false"),
        ({"names": "a"}, "names is a; pass a list of names"),
        ({"fields": ["a", "a"]}, "specify at least one field, each only once"),
        ({"count": None}, "count is None; choose a whole number"),
    ],
)
def test_options_check_type_and_bounds(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.escape(message)):
        Every(**given)


def test_options_store_the_plain_form() -> None:
    found = Every(share=1, limit=-5, names=["a"], fields=["title", "text"])  # type: ignore[arg-type]
    assert found == Every(1.0, 2, -5, 0.0, "", False, ("a",), ("title", "text"))
    assert isinstance(found.share, float)


def table_of(component: Component, registry: Registry[Any], **more: str) -> str:
    """A system of that stage, or a reranking by that scorer, with the settings that must be given."""
    reranked = {"stage": '"rerank"', "top": "5", "by": f'"{component.name}"'}
    given = {"stage": f'"{component.name}"', **NEEDED_TOGETHER.get(component.name, {})} if registry is STAGES else reranked
    keys = [*settings_of(component.load()), *(settings_of(STAGES.load("rerank")) if registry is SCORERS else ())]
    for setting in keys:
        if setting.required:
            given.setdefault(setting.key, _needed(setting))
    return "[systems.one]\n" + "".join(f"{key} = {value}\n" for key, value in (given | more).items())


def _needed(setting: Any) -> str:
    if is_systems(setting):
        return '["bm25"]'
    return {"chat": '"smollm2"', "encoder": '"minilm"', "cross-encoder": '"acme/cross"'}.get(part_kind(setting) or "") or NEEDED[
        setting.key
    ]


def read(folder: Path, text: str) -> Experiment:
    (folder / "experiment.toml").write_text(text, encoding="utf-8")
    return read_experiment(folder / "experiment.toml")


@pytest.mark.parametrize(("component", "registry"), PARTS)
def test_defaults_are_written_and_read_back(component: Component, registry: Registry[Any], tmp_path: Path) -> None:
    found = read(tmp_path, BM + table_of(component, registry))
    again = read(tmp_path, experiment_toml(found))
    assert again.systems == found.systems
    system: Any = found.systems["one"]
    part = system if registry is STAGES else system.by
    assert type(part) is component.load()


@pytest.mark.parametrize(("component", "registry"), PARTS)
def test_every_default_that_a_file_can_hold_is_accepted_when_written_out(
    component: Component, registry: Registry[Any], tmp_path: Path
) -> None:
    plain = [one for one in keys_of(component.load()).values() if isinstance(one.default, str | int | float | bool | tuple)]
    more = {one.key: toml_value(one.default) for one in plain}
    assert (
        read(tmp_path, BM + table_of(component, registry, **more)).systems
        == read(tmp_path, BM + table_of(component, registry)).systems
    )


@pytest.mark.parametrize(("component", "registry"), PARTS)
def test_an_unknown_key_is_refused_with_its_line_and_the_known_keys(
    component: Component, registry: Registry[Any], tmp_path: Path
) -> None:
    text = BM + table_of(component, registry, zzzzzz="1")
    with pytest.raises(InputError, match=r"experiment\.toml:\d+: unknown key zzzzzz; choose from") as refused:
        read(tmp_path, text)
    assert refused.value.line == len(text.splitlines())
    for setting in keys_of(component.load()).values():
        assert setting.key in refused.value.fix


@pytest.mark.parametrize(("component", "registry"), PARTS)
def test_a_value_of_another_type_is_refused_with_its_line(component: Component, registry: Registry[Any], tmp_path: Path) -> None:
    for setting in keys_of(component.load()).values():
        if is_scorer(setting):
            continue
        text = BM + table_of(component, registry, **{setting.key: "1979-05-27"})
        with pytest.raises(InputError) as refused:
            read(tmp_path, text)
        assert str(refused.value).endswith(f"{setting.key} is a date or time; write {takes(setting)[0]}")
        assert refused.value.line is not None
        assert text.splitlines()[refused.value.line - 1].startswith(f"{setting.key} = ")


@pytest.mark.parametrize(("component", "registry"), PARTS)
def test_a_setting_that_must_be_given_is_named_when_missing(
    component: Component, registry: Registry[Any], tmp_path: Path
) -> None:
    whole = BM + table_of(component, registry)
    for setting in settings_of(component.load()):
        if setting.default is MISSING:
            text = re.sub(rf"^{setting.key} = .*\n", "", whole, flags=re.MULTILINE)
            with pytest.raises(InputError, match=rf"experiment\.toml:\d+: {setting.key} is missing; "):
                read(tmp_path, text)


@pytest.mark.parametrize("component", [pytest.param(one, id=one.name) for one in SCORERS.components])
def test_the_settings_of_a_scorer_and_those_of_rerank_are_disjoint(component: Component) -> None:
    both = {one.key for one in settings_of(component.load())} & {*EVERY, *(one.key for one in settings_of(STAGES.load("rerank")))}
    what = f"{component.name} and rerank share the key {', '.join(both)}, and both stand in one table; rename that of the scorer"
    assert both == set(), what


READERS = [
    pytest.param(component, registry, id=component.name)
    for registry in (STAGES, SCORERS)
    for component in registry.components
    if any(one.option.role == "fields" for one in settings_of(component.load()))
]


def small() -> Dataset:
    docs = [Document(f"d{at}", f"word{at} common", fields={"body": "text"}) for at in range(4)]
    return Dataset("small", Corpus(docs), Queries([Query("q", "word1")]), Qrels.from_dict({"q": {"d1": 1}}))


def test_every_part_that_reads_passages_has_a_setting_of_type_fields() -> None:
    read_by = {each.id for each in READERS}
    assert read_by >= {"bm25", "dense", "answer", "extract", "listwise", "pointwise", "pairwise", "keywords", "maxsim"}
    for component in (*STAGES.components, *SCORERS.components):
        named = any(one.field == "fields" for one in settings_of(component.load()))
        assert named == (component.name in read_by)


@pytest.mark.parametrize(("component", "registry"), READERS)
def test_a_field_that_no_document_has_is_refused_before_any_work(
    component: Component, registry: Registry[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = read(tmp_path, BM + table_of(component, registry, fields='["body", "boddy"]'))

    def unreached(*_: Any) -> None:
        pytest.fail("work was done")

    for each in (*STAGES.components, *SCORERS.components):
        monkeypatch.setattr(each.load(), "build", unreached)
    with pytest.raises(UsageError, match="system one: no document has a text field called boddy; choose from title, text, body"):
        run_experiment(Experiment(found.systems, small()), RunOptions(cache=None))


OUTSIDE = '''
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from rankproof._registry import Option
from rankproof.models._base import EncoderModel
from rankproof.models._wordllama import WordLlama
from rankproof.stages._base import Cost, Stage
from rankproof.plugins import Depth, Fields, check_settings
from rankproof.stores._memory import Memory


class Silent:
    def cost(self):
        return Cost()

    def facts(self):
        return {}

    def notes(self):
        return ()

    def close(self):
        pass


@dataclass(frozen=True)
class Reverse:
    """Sorts the documents of a system by id, from the last one."""

    stage: Annotated[Stage, Option("the system whose documents are sorted", key="of")]
    depth: Depth = 100

    def __post_init__(self):
        check_settings(self)

    def inputs(self):
        return (self.stage,)

    def build(self, context):
        return Reversed()


class Reversed(Silent):
    def search(self, query, inputs, timer):
        docs = sorted(inputs[0][0], reverse=True)
        return docs, np.arange(len(docs), 0, -1, dtype=np.float64)


@dataclass(frozen=True)
class Longest:
    """Scores by the length of the passage."""

    times: Annotated[float, Option("what the length is multiplied by", least=0, most=10)] = 1.0
    fields: Fields = ("text",)

    def __post_init__(self):
        check_settings(self)

    def build(self, context):
        return LongestScorer(self, context.corpus)


class LongestScorer(Silent):
    def __init__(self, value, corpus):
        self.value, self.corpus = value, corpus

    def scores(self, query, docs):
        return np.array([self.value.times * len(self.corpus[doc].text) for doc in docs], dtype=np.float64)


@dataclass(frozen=True)
class Short:
    """Static vectors of few dimensions."""

    dimensions: int = 64

    def load(self, *, threads=1):
        return WordLlama(self.dimensions).load(threads=threads)

    def revision(self):
        return WordLlama(self.dimensions).revision()


@dataclass(frozen=True)
class Notebook:
    """Vectors in memory."""

    folder: Annotated[str, Option("where they would be", role="path")] = ""
    exact = True
    needs_folder = False

    def open(self, name, dimensions, folder):
        return Memory().open(name, dimensions, folder)
'''
ENTRIES = """
[rankproof.stages]
reverse = elsewhere_parts:Reverse
[rankproof.scorers]
longest = elsewhere_parts:Longest
[rankproof.models]
short = elsewhere_parts:Short
[rankproof.stores]
notebook = elsewhere_parts:Notebook
"""
THEIRS = """\
[systems.bm25]
stage = "bm25"
[systems.reverse]
stage = "reverse"
of = "bm25"
[systems.longest]
stage = "rerank"
of = "reverse"
by = "longest"
times = 2
[systems.vectors]
stage = "dense"
model = {name = "short", dimensions = 128}
store = {name = "notebook", folder = "notes"}
"""


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of an experiment, beside an installed package that brings a stage, a scorer, a model and a store."""
    site = tmp_path / "site"
    (site / "elsewhere_parts-1.0.dist-info").mkdir(parents=True)
    (site / "elsewhere_parts.py").write_text(OUTSIDE)
    (site / "elsewhere_parts-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: elsewhere-parts\nVersion: 1.0\n"
    )
    (site / "elsewhere_parts-1.0.dist-info" / "entry_points.txt").write_text(ENTRIES)
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "elsewhere_parts", raising=False)
    return tmp_path


def test_a_package_brings_a_stage_a_scorer_a_model_and_a_store(elsewhere: Path) -> None:
    experiment = read(elsewhere, THEIRS)
    found = run_experiment(Experiment(experiment.systems, small()), RunOptions(cache=None))
    assert found.system_run("reverse").run.docs == tuple(sorted(found.system_run("bm25").run.docs, reverse=True))
    assert len(found.system_run("vectors").run.docs) == len(small().corpus)
    dense: Any = experiment.systems["vectors"]
    assert dense.store.folder == str(elsewhere / "notes")
    assert dense.model.dimensions == 128
    assert read(elsewhere, experiment_toml(experiment)).systems == experiment.systems


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('of = "bm25"', 'of = "bm25"\ndepht = 3', 6, "unknown key depht; did you mean depth?"),
        ('of = "bm25"', 'of = "bm25"\ndepth = 0', 6, "depth is 0; choose a whole number of at least 1"),
        ('of = "bm25"\n[', "[", 3, "of is missing; give the system whose documents are sorted"),
        ("times = 2", "times = 20", 10, "times is 20; choose a number from 0 to 10"),
        ("times = 2", 'times = "x"', 10, "times is text; write a number"),
        ('"longest"', '"longst"', 9, "no scorer is called longst; did you mean longest?"),
        ('"reverse"\nof', '"revers"\nof', 4, "no stage is called revers; did you mean reverse?"),
        ("dimensions = 128", "size = 128", 13, "the model short has no setting size; choose among dimensions"),
        ('folder = "notes"', "colour = 3", 14, "the store notebook has no setting colour; choose among folder"),
    ],
)
def test_what_is_wrong_with_a_part_of_another_package_is_told_with_its_line(
    elsewhere: Path, old: str, new: str, line: int, message: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(elsewhere, THEIRS.replace(old, new, 1))
    assert (refused.value.line, f"{refused.value.what}; {refused.value.fix}") == (line, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("raise SystemExit(0)", "the package elsewhere-parts offers reverse, which cannot be loaded"),
        ("Reverse = None", "the stage reverse of the package elsewhere-parts has no inputs and no build"),
        (
            "class Reverse:\n    inputs = build = None\n    def __init__(self): raise ValueError('licence')",
            "elsewhere_parts:Reverse does not accept its settings",
        ),
    ],
)
def test_a_broken_part_of_another_package_is_an_error_that_names_it(elsewhere: Path, code: str, message: str) -> None:
    (elsewhere / "site" / "elsewhere_parts.py").write_text(f"{code}\n")
    with pytest.raises(RankproofError, match=message):
        read(elsewhere, '[systems.broken]\nstage = "reverse"\n')


def test_the_fields_of_a_scorer_of_another_package_are_checked_before_any_work(elsewhere: Path) -> None:
    systems = read(elsewhere, THEIRS.replace("times = 2", 'fields = ["absent"]')).systems
    with pytest.raises(UsageError, match="system longest: no document has a text field called absent"):
        run_experiment(Experiment(systems, small()), RunOptions(cache=None))


def test_a_part_of_another_package_is_listed_with_the_first_line_of_its_docstring(elsewhere: Path) -> None:
    assert STAGES.names()[-1] == "reverse"
    assert STAGES.summary("reverse") == "Sorts the documents of a system by id, from the last one"
    assert any("what the length is multiplied by" in row for row in settings_rows("longest"))


def test_a_system_below_is_known_by_the_class_that_it_must_be() -> None:
    rm3 = {one.key: one for one in settings_of(STAGES.load("rm3"))}
    assert is_system(rm3["of"])
    assert rm3["of"].type is BM25
