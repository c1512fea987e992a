"""Experiment files: read, refused with the line, and written back."""

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tools.docs.setting_tables import settings_rows

from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._data.validation import described
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_settings import EVERY, TOP, keys_of, takes
from rankproof._experiment.config_write import experiment_toml, starter_toml
from rankproof._experiment.experiment import Experiment, default_systems
from rankproof._io.toml_file import MAX_TOML_BYTES, KeyPath, key_lines, toml_key, toml_value
from rankproof.errors import InputError, UsageError
from rankproof.measures._gains import nDCG
from rankproof.measures._user_model import RR
from rankproof.models._registry import cross_encoder_by_name, encoder_by_name
from rankproof.stages import BM25, BiEncoderScorer, CrossEncoderScorer, Dense, Fuse, KeywordScorer, MaxSim, Rerank
from rankproof.stages._base import BuildContext, Searcher, Stage
from rankproof.stages._registry import SCORERS, STAGES
from rankproof.stores._registry import store_by_name
from support.examples import examples
from support.paths import DOCS

VALUES = [
    "1",
    "-2.5e3",
    "true",
    '"x"',
    "'#[='",
    "1979-05-27 07:32:00",
    '"""a\n[b]\nc = "d"\n"""',
    "'''\n# e\n'''",
    '"\\""',
    '""""q""""',
]
KEYS = st.sampled_from(["a", "b-c", "D_1", "7", '"q r"', "'s.t'", '"[u]"', "'# v'", '"w = x"', '"ü"'])


@st.composite
def toml_values(draw: st.DrawFn, depth: int = 0) -> str:
    kind = draw(st.sampled_from(["plain", "plain", "array", "table"])) if depth < 3 else "plain"
    if kind == "plain":
        return draw(st.sampled_from(VALUES))
    if kind == "array":
        between = draw(st.sampled_from([", ", ",\n  ", ", # ] }\n\n"]))
        items = between.join(draw(st.lists(toml_values(depth + 1), max_size=3)))
        return f"[{draw(st.sampled_from(['', ' # [', chr(10)]))}\n{items}\n]"
    keys = draw(st.lists(KEYS, max_size=3, unique=True))
    return "{" + ", ".join(f"{key} = {draw(toml_values(depth + 1))}" for key in keys) + "}"


@st.composite
def documents(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 12))):
        dotted = draw(st.sampled_from([".", " . "])).join(draw(st.lists(KEYS, min_size=1, max_size=3)))
        kind = draw(st.sampled_from(["pair", "pair", "pair", "table", "tables", "comment", "blank"]))
        lines.append(
            {"table": f"[{dotted}]", "tables": f" [[ {dotted} ]] # x", "comment": "# y = [", "blank": "\t"}.get(kind)
            or f"{dotted} = {draw(toml_values())}"
        )
    return draw(st.sampled_from(["\n", "\r\n"])).join("\n".join(lines).split("\n"))


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from paths(one, (*path, key))


@examples(300)
@given(documents())
def test_every_key_that_tomllib_finds_has_its_line(text: str) -> None:
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        reject()
    lines = key_lines(text)
    rows = text.split("\n")
    assert set(lines) == set(paths(values))
    assert all(str(path[-1]) in rows[line - 1] for path, line in lines.items() if isinstance(path[-1], str))


@given(st.recursive(
    st.text() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
))  # fmt: skip
def test_what_is_written_is_read_back_by_tomllib(value: Any) -> None:
    assert tomllib.loads(f"{toml_key('any key')} = {toml_value(value)}") == {"any key": value}


def test_no_invisible_character_is_written() -> None:
    assert toml_value("a\u202e\x7f\U000e0041") == '"a\\U0000202e\\U0000007f\\U000e0041"'


BM = '[systems.bm25]\nstage = "bm25"\n'


def read(folder: Path, text: str | bytes, name: str = "experiment.toml") -> Experiment:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_experiment(path)


def test_an_experiment_file_sets_everything(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    text = """\
name = "my shop"
dataset = "data"
split = "dev"
measures = ["nDCG@10", "recip_rank"]
rel = 2
limit = 50
seed = 7
[systems.reranked]
stage = "rerank"
of = "hybrid"
by = "bi-encoder"
model = "wordllama"
query_prompt = "query: "
weight = 0.5
[systems.hybrid]
stage = "fuse"
of = ["bm25", "static"]
method = "combsum"
weights = [1, 2]
[systems.bm25]
stage = "bm25"
k1 = 1.2
stop_words = ["the"]
fields = ["title"]
[systems.static]
hidden = true
stage = "dense"
model = {name = "wordllama"}
store = "memory"
"""
    experiment = read(tmp_path, text)
    bm25, static = BM25(k1=1.2, stop_words=("the",), fields=("title",)), Dense(encoder_by_name("wordllama"))
    hybrid = Fuse((bm25, static), method="combsum", weights=(1.0, 2.0))
    scorer = BiEncoderScorer(encoder_by_name("wordllama"), query_prompt="query: ")
    assert experiment == Experiment(
        {"reranked": Rerank(hybrid, scorer, weight=0.5), "hybrid": hybrid, "bm25": bm25},
        dataset=str(tmp_path / "data"), split="dev", name="my shop", measures=[nDCG @ 10, RR], rel=2, limit=50, seed=7,
    )  # fmt: skip
    assert list(experiment.systems) == ["reranked", "hybrid", "bm25"]


def test_an_experiment_is_named_after_its_file_and_uses_the_sample(tmp_path: Path) -> None:
    assert read(tmp_path, BM, "shop.toml") == Experiment({"bm25": BM25()}, name="shop")


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf" + b'name = "x"\r\n' + BM.replace("\n", "\r\n").encode()
    assert read(tmp_path, text).name == "x"
    with pytest.raises(InputError, match=r":4: "):
        read(tmp_path, text + b"k2 = 1\r\n")


WRONG: list[tuple[str, int | None, str]] = [
    ("name = 1\n" + BM, 1, "name is not text"),
    ("nme = 'x'\n" + BM, 1, "unknown key nme; did you mean name"),
    ("xyzzy = 'x'\n" + BM, 1, "choose from name, dataset"),
    ("\nmeasures = 'nDCG'\n" + BM, 2, "measures is not a list of strings"),
    ("measures = [\n 'RR',\n 'nDGC@10']\n" + BM, 3, "unknown measure nDGC"),
    ("measures = []\n" + BM, 1, "no measure is named"),
    ("rel = 0\n" + BM, 1, "rel is 0"),
    ("limit = -1\n" + BM, 1, "limit is -1"),
    ("limit = true\n" + BM, 1, "limit is not a whole number"),
    ("seed = 1.5\n" + BM, 1, "seed is not a whole number"),
    ("dataset = 'nowhere'\n" + BM, 1, "dataset not found: nowhere"),
    ("dataset = ''\n" + BM, 1, "dataset not found"),
    ("dataset = 'python:mine'\n" + BM, 1, "was made in Python"),
    ("name = 'x'\n", None, "the file has no system"),
    ("systems = 3\n", 1, "the file has no system"),
    ("[systems]\nbm25 = 3\n", 2, "bm25 is not a table of a system"),
    ("[systems.a]\nk1 = 1\n", 1, "stage is missing"),
    ("[systems.a]\nstage = 1\n", 2, "stage is not text"),
    ("[systems.a]\nstage = 'bm52'\n", 2, "no stage is called bm52; did you mean bm25"),
    ("[systems.a]\nstage = 'python:Mine'\n", 2, "no stage is called python:Mine"),
    (BM + "k_1 = 1\n", 3, "unknown key k_1; did you mean k1"),
    (BM + "k1 = 'x'\n", 3, "k1 is text; write a number"),
    (BM + "k1 = true\n", 3, "k1 is true or false; write a number"),
    (BM + "k1 = 1979-05-27\n", 3, "k1 is a date or time"),
    (BM + "b = 2\n", 3, "b is 2"),
    (BM + "k1 = nan\n", 3, "k1 is nan"),
    (BM + "depth = 1.0\n", 3, "depth is a number; write a whole number"),
    (BM + "depth = 0\n", 3, "depth is 0"),
    (BM + "fields = []\n", 3, "fields is"),
    (BM + "fields = 'title'\n", 3, "fields is text"),
    (BM + "language = 'klingon'\n", 3, "klingon"),
    (BM + "hidden = true\n", 1, "every system is hidden"),
    (BM + "hidden = 'yes'\n", 3, "hidden is not true or false"),
    (BM + "[systems.f]\nstage = 'fuse'\n", 3, "of is missing"),
    (BM + "[systems.f]\nstage = 'fuse'\nof = 'bm25'\n", 5, "of is text; write a list of system names"),
    (BM + "[systems.f]\nstage = 'fuse'\nof = [\n'bm25',\n'dense']\n", 7, "no system is called dense"),
    ("[systems.f]\nstage = 'fuse'\nof = ['xyz']\n" + BM, 3, "no system is called xyz; choose from bm25"),
    ("[systems.f]\nstage = 'fuse'\nof = ['xyz']\n", 3, "no system is called xyz; add [systems.xyz]"),
    (BM + "[systems.f]\nstage = 'fuse'\nof = ['bm25']\nmethod = 'magic'\n", 6, "magic"),
    (BM + "[systems.f]\nstage = 'fuse'\nof = []\n", 3, ""),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\n", 3, "by is missing"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'maxsin'\n", 6, "did you mean maxsim"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'maxsim'\n", 3, "model is missing"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'keywords'\nmodel = 'minilm'\n", 7, "unknown key model"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'mb25'\nby = 'keywords'\n", 5, "did you mean bm25"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'keywords'\ntop = 0\n", 7, "top is 0"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'keywords'\ndepth = 9\n", 7, "unknown key depth"),
    ("seed = -1\n" + BM, 1, "seed is -1"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'keywords'\nweight = 2\n", 7, "weight is 2"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'keywords'\nnorm = 'l2'\n", 7, "norm is l2"),
    (BM + "[systems.r]\nstage = 'rerank'\nof = 'bm25'\nby = 'maxsim'\nmodel = 'wordllama'\n", 7, "gives no token vectors"),
    ("[systems.d]\nstage = 'dense'\n", 1, "model is missing"),
    ("[systems.d]\nstage = 'dense'\nmodel = 3\n", 3, "model is a number"),
    ("[systems.d]\nstage = 'dense'\nmodel = {precision = 'fp32'}\n", 3, "model is a table; write a name"),
    ("[systems.d]\nstage = 'dense'\nmodel = 'minilm'\nstore = 'momory'\n", 4, "momory"),
    ("[systems.d]\nstage = 'dense'\nmodel = './weights'\n", 3, "folder not found: ./weights"),
    ("[systems.d]\nstage = 'dense'\nmodel = 'a/b/c'\n", 3, "a/b/c is neither a folder nor a hub name"),
    ("[systems.d]\nstage = 'dense'\nmodel = 'torch:a/b/c'\n", 3, "neither a folder nor a hub name"),
    ("[systems.d]\nstage = 'dense'\nmodel = ''\n", 3, "the model's name is empty"),
    ("[systems.d]\nstage = 'dense'\nmodel = 'torch:'\n", 3, "is not a model"),
    (
        "[systems.d]\nstage = 'dense'\nmodel = 'wordllama'\nstore = {name = 'pgvector', dsn = 'postgresql://h', dsn_env = 'X'}\n",
        4,
        "both dsn and dsn_env are given",
    ),
    ("[systems.d]\nstage = 'dense'\nmodel = {name = 'minilm', nonsense = 1}\n", 3, "nonsense"),
    (
        "[systems.a]\nstage = 'fuse'\nof = ['b']\n[systems.b]\nstage = 'fuse'\nof = ['a']\n",
        6,
        "systems are inputs of each other: a -> b -> a",
    ),
    ("[systems.a]\nstage = 'fuse'\nof = ['a']\n", 3, "systems are inputs of each other: a -> a"),
    ("name = \n", 1, "not TOML"),
    ("name = 'a\n", 1, "not TOML"),
    ("name = 1\nname = 2\n", 2, "occurs twice"),
    (BM + BM, 3, "occurs twice"),
    ("a = " + "[" * 5000, None, ""),
    ("a = " + "9" * 5000 + "\n", None, ""),
    ("[systems.'']\nstage = 'bm25'\n", 1, "has no name"),
]


@pytest.mark.parametrize(("text", "line", "what"), WRONG)
def test_an_error_names_its_line(tmp_path: Path, text: str, line: int | None, what: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert what in str(caught.value)
    assert caught.value.source == str(tmp_path / "experiment.toml")
    assert caught.value.line == line or line is None
    assert len(str(caught.value)) < 1000


def test_invalid_utf8_is_reported_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":2: byte 0xff is not UTF-8"):
        read(tmp_path, b"name = 'x'\n# \xff\n")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="over 1 MiB"):
        read(tmp_path, "#" * (MAX_TOML_BYTES + 1))


@pytest.mark.parametrize("name", ["missing.toml", ".", "a\0b"])
def test_a_file_that_cannot_be_opened_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises((InputError, UsageError)):
        read_experiment(f"{tmp_path}/{name}")


def test_a_hostile_name_reaches_no_terminal(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, BM + '"\\u001b[31m" = 1\n')
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(("falling", "line"), [(True, 200), (False, 199)])
def test_a_long_chain_of_systems_is_refused_with_its_line(tmp_path: Path, falling: bool, line: int) -> None:
    order = range(3000, 0, -1) if falling else range(1, 3000)
    chain = "".join(f"[systems.s{at}]\nstage = 'rerank'\nby = 'keywords'\nof = 's{at - 1}'\n" for at in order)
    lowest = "[systems.s0]\nstage = 'bm25'\n"
    with pytest.raises(InputError, match=f":{line}: .*more than 50 levels.*; use fewer other systems"):
        read(tmp_path, chain + lowest if falling else lowest + chain)


def test_systems_with_too_many_stages_are_refused(tmp_path: Path) -> None:
    doubled = "".join(f"[systems.s{at}]\nstage = 'fuse'\nof = ['s{at - 1}', 's{at - 1}']\n" for at in range(1, 30))
    with pytest.raises(InputError, match=r":27: system s9 has more than 1000 stages, each counted as often as it is used"):
        read(tmp_path, "[systems.s0]\nstage = 'bm25'\n" + doubled)


def test_the_longest_chain_is_read_and_written(tmp_path: Path) -> None:
    chain = "".join(f"[systems.s{at}]\nstage = 'rerank'\nby = 'keywords'\nof = 's{at - 1}'\n" for at in range(1, 50))
    found = read(tmp_path, "[systems.s0]\nstage = 'bm25'\n" + chain)
    assert read(tmp_path, experiment_toml(found)).systems == found.systems


def test_the_starter_file_has_the_default_systems(tmp_path: Path) -> None:
    assert read(tmp_path, starter_toml()) == Experiment(default_systems(wordllama=True, minilm=True))


def test_the_starter_file_explains_every_key() -> None:
    text = starter_toml()
    for part in (BM25, Dense, Rerank, MaxSim):
        assert all(setting.option.description in text for setting in keys_of(part).values())


NAMES = st.text(min_size=1, max_size=8).filter(lambda name: not any("\ud800" <= char <= "\udfff" for char in name))
LEAVES = st.builds(
    BM25,
    k1=st.floats(0, 10),
    b=st.floats(0, 1),
    stemming=st.booleans(),
    stop_words=st.booleans() | st.just(("the", 'a "b"')),
    depth=st.integers(1, 1000),
) | st.builds(Dense, st.just(encoder_by_name("wordllama")), query_prompt=st.text(max_size=4))
STAGE_VALUES = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(lambda stages: Fuse(tuple(stages)), st.lists(inner, min_size=2, max_size=3, unique=True))
        | st.builds(lambda stages: Fuse(tuple(stages), weights=(0.5, 2.0)), st.lists(inner, min_size=2, max_size=2, unique=True))
        | st.builds(
            Rerank, inner, st.sampled_from([KeywordScorer(), MaxSim(encoder_by_name("minilm")), KeywordScorer(fields=("title",))])
        )
    ),
    max_leaves=4,
)


@examples(60)
@given(st.dictionaries(NAMES, STAGE_VALUES, min_size=1, max_size=4), NAMES, st.none() | st.just([nDCG(gain="exp") @ 10, RR]))
def test_an_experiment_of_python_round_trips_through_toml(
    tmp_path_factory: pytest.TempPathFactory, systems: dict[str, Any], name: str, measures: Any
) -> None:
    experiment = Experiment(systems, name=name, measures=measures, rel=2, limit=9, seed=3)
    again = read(tmp_path_factory.mktemp("toml"), experiment_toml(experiment))
    assert again == experiment
    assert list(again.systems) == list(experiment.systems)


def test_a_dataset_in_memory_is_written_with_the_python_prefix(tmp_path: Path) -> None:
    dataset = Dataset("mine", Corpus([Document("d", "x")]), Queries([Query("q", "x")]), Qrels.from_dict({"q": {"d": 1}}))
    with pytest.raises(InputError, match="was made in Python"):
        read(tmp_path, experiment_toml(Experiment({"bm25": BM25()}, dataset=dataset)))


def dense(**store: Any) -> str:
    return experiment_toml(Experiment({"d": Dense(encoder_by_name("wordllama"), store=store_by_name("pgvector", **store))}))


@pytest.mark.parametrize(
    "dsn",
    [
        *(
            "postgresql://me:s3cret@host/db",
            "host=h password=s3cret user=me",
            "host=h password='s3cret x'",
            "postgresql://:s3cret@h",
        ),
        *("postgresql:///db?host=h&pass%77ord=s3cret", "postgresql://h/db?sslpassword=s3cret", "postgresql://me%3As3cret@h/db"),
        *("host=h options='-c x.password=s3cret'", "host=h passfile=/s3cret", "postgresql://h/db#s3cret", "s3cret"),
    ],
)
def test_a_password_is_never_written(dsn: str) -> None:
    text = dense(dsn=dsn, index="hnsw")
    assert "s3cret" not in text
    assert "# dsn may hold a password and is left out; specify the variable that holds it in dsn_env" in text
    assert tomllib.loads(text)["systems"]["d"]["store"]["index"] == "hnsw"


def test_a_connection_without_a_password_is_written(tmp_path: Path) -> None:
    plain = (
        "postgresql://host/db",
        "postgres://me@db.example:5432/shop",
        "postgresql://[::1]:1/x",
        "host=/run/pg port=1 user=me",
    )
    for store in (*({"dsn": dsn} for dsn in plain), {"dsn_env": "DATABASE_URL"}):
        experiment = read(tmp_path, dense(**store))
        assert experiment.systems["d"] == Dense(encoder_by_name("wordllama"), store=store_by_name("pgvector", **store))


def test_a_connection_given_as_a_store_name_is_shown_without_its_password(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r":4: no store is called postgresql://me:\*\*\*@h") as caught:
        read(tmp_path, "[systems.d]\nstage = 'dense'\nmodel = 'wordllama'\nstore = 'postgresql://me:s3cret@h/db'\n")
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("more", ["index = 'flat'", "dsn_env = 3", "batch = 0", "nonsense = 1"])
def test_no_error_shows_a_password(tmp_path: Path, more: str) -> None:
    text = "[systems.d]\nstage = 'dense'\nmodel = 'wordllama'\n[systems.d.store]\nname = 'pgvector'\ndsn = 'postgresql://me:s3cret@h'\n"
    with pytest.raises(InputError) as caught:
        read(tmp_path, text + more)
    assert "s3cret" not in str(caught.value)
    assert caught.value.line in (4, 7)


@pytest.mark.parametrize("name", ["weights", "./weights", "sub/../weights"])
def test_folders_of_models_and_stores_are_relative_to_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "weights").mkdir()
    text = f"[systems.d]\nstage = 'dense'\nmodel = '{name}'\nstore = {{name = 'chroma', folder = 'db'}}\n"
    experiment = read(tmp_path, text)
    expected = Dense(encoder_by_name(str(tmp_path / "weights")), store=store_by_name("chroma", folder=str(tmp_path / "db")))
    assert experiment.systems["d"] == expected
    assert read(tmp_path, experiment_toml(experiment)) == experiment


def test_a_cross_encoder_and_a_torch_model_are_named_by_folder_or_hub(tmp_path: Path) -> None:
    (tmp_path / "weights").mkdir()
    text = (
        BM
        + """
[systems.pairs]
stage = "rerank"
of = "bm25"
by = "cross-encoder"
model = {name = "./weights", max_tokens = 128}
[systems.hub]
stage = "rerank"
of = "bm25"
by = "cross-encoder"
model = "cross-encoder/ms-marco-MiniLM-L6-v2"
[systems.torch]
stage = "dense"
model = "torch:weights"
"""
    )
    experiment = read(tmp_path, text)
    assert experiment.systems["pairs"] == Rerank(
        BM25(), CrossEncoderScorer(cross_encoder_by_name(str(tmp_path / "weights"), max_tokens=128))
    )
    assert experiment.systems["hub"] == Rerank(
        BM25(), CrossEncoderScorer(cross_encoder_by_name("cross-encoder/ms-marco-MiniLM-L6-v2"))
    )
    assert experiment.systems["torch"] == Dense(encoder_by_name(f"torch:{tmp_path / 'weights'}"))
    assert read(tmp_path, experiment_toml(experiment)) == experiment


@pytest.mark.parametrize("name", ["trained", "bpe", "byt5", "canine"])
def test_a_model_is_named_with_its_source_as_in_a_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "weights").mkdir()
    short = read(tmp_path, f"[systems.d]\nstage = 'dense'\nmodel = '{name}:weights'\n")
    assert short == read(tmp_path, f"[systems.d]\nstage = 'dense'\nmodel = {{name = '{name}', source = './weights'}}\n")
    assert short.systems["d"] == Dense(encoder_by_name(name, source=str(tmp_path / "weights")))
    assert read(tmp_path, experiment_toml(short)) == short


def test_a_stage_or_model_of_python_is_written_with_the_python_prefix(tmp_path: Path) -> None:
    @dataclass(frozen=True)
    class Mine:
        depth: int = 3

        def inputs(self) -> tuple[Stage, ...]:
            return ()

        def build(self, context: BuildContext) -> Searcher:
            raise NotImplementedError

    @dataclass(frozen=True)
    class Model:
        def load(self, *, threads: int = 1) -> Any:
            raise NotImplementedError

        def revision(self) -> str:
            return "1"

    with pytest.raises(InputError, match="no stage is called python:Mine"):
        read(tmp_path, experiment_toml(Experiment({"mine": Mine()})))
    with pytest.raises(InputError, match="python:Model"):
        read(tmp_path, experiment_toml(Experiment({"mine": Dense(Model())})))


PAGE = DOCS / "experiments.md"


@pytest.mark.parametrize("name", [*STAGES.names(), *SCORERS.names()])
def test_the_page_of_experiments_lists_every_key(name: str) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    rows = [row.rstrip(" |\n").partition(" | ") for row in settings_rows(name)]
    listed = [any(line.startswith(f"{key} | ") and text in line for line in lines) for key, _, text in rows]
    assert [key for (key, _, _), is_listed in zip(rows, listed, strict=True) if not is_listed] == []


def test_the_page_of_experiments_lists_every_key_above_the_systems() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"| `{key}` | {takes(setting)[0]} | {described(setting)} |" in page for key, setting in {**TOP, **EVERY}.items())


def test_the_examples_of_the_page_are_experiments(tmp_path: Path) -> None:
    (tmp_path / "my-data").mkdir()
    (tmp_path / "my-model").mkdir()
    (tmp_path / "prod.run").touch()
    examples = re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) >= 3
    for text in examples:
        assert read(tmp_path, text).systems


def test_a_path_that_is_no_text_is_refused() -> None:
    with pytest.raises(UsageError, match="a path cannot be an int; pass a path, as text"):
        read_experiment(3)  # type: ignore[arg-type]
