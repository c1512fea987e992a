"""tantivy, SQLite FTS5 and LanceDB full text: the formula as oracle, any text, ties, files and published values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankproof
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Query
from rankproof._experiment.run import run_experiment
from rankproof.errors import ExternalError, UsageError
from rankproof.stages import LanceDBFTS, SQLiteFTS5, Tantivy, _sqlite_fts5
from rankproof.stages._base import BuildContext, QueryTimer
from rankproof.stages._lexical import STEMMERS, LexicalStage
from rankproof.stages._tantivy import STOP_LISTS
from rankproof.types import RunOptions
from support.examples import examples
from support.shared_data import collection
from support.stage_building import PlainBlockCache, context_of, corpus_of, ranking_of

PLAIN: list[LexicalStage] = [
    Tantivy(stemming=False),
    SQLiteFTS5(stemming=False),
    LanceDBFTS(stemming=False, stop_words=False),
]
PARSED = Tantivy(syntax="tantivy")
DEFAULTS: list[LexicalStage] = [Tantivy(), SQLiteFTS5(), LanceDBFTS()]
each_plain = pytest.mark.parametrize("stage", PLAIN, ids=lambda stage: type(stage).__name__)
each_default = pytest.mark.parametrize("stage", [*DEFAULTS, PARSED], ids=["tantivy", "sqlite-fts5", "lancedb-fts", "parser"])
any_text = st.text(alphabet=st.characters(exclude_categories=()), max_size=20)
words = st.text(alphabet="abc ", max_size=12)


def folder_context(corpus: Corpus, folder: Path) -> BuildContext:
    """A context whose files are in the folder."""
    cache = PlainBlockCache()
    cache.folder = lambda key: str(folder)  # type: ignore[method-assign]
    return context_of(corpus, cache)


def lucene_idf(found: int, size: int) -> float:
    return math.log(1 + (size - found + 0.5) / (found + 0.5))


def sqlite_idf(found: int, size: int) -> float:
    """FTS5 sets an idf that is not above 0 to a millionth."""
    value = math.log((size - found + 0.5) / (found + 0.5))
    return value if value > 0 else 1e-6


def by_formula(docs: dict[str, str], query: str, idf: Callable[[int, int], float]) -> dict[str, float]:
    """BM25 with k1 1.2 and b 0.75."""
    bags = {doc: Counter(text.split()) for doc, text in docs.items()}
    mean = sum(bag.total() for bag in bags.values()) / max(len(bags), 1)
    found = {}
    for doc, bag in bags.items():
        parts = [
            idf(sum(word in other for other in bags.values()), len(bags))
            * bag[word]
            * 2.2
            / (bag[word] + 1.2 * (0.25 + 0.75 * bag.total() / mean))
            for word in query.split()
            if bag[word]
        ]
        if parts:
            found[doc] = sum(parts)
    return found


@each_plain
@examples(30)
@given(texts=st.dictionaries(st.sampled_from(["d1", "d2", "d10", "é", "z"]), words, min_size=1), query=words)
def test_scores_are_those_of_the_formula(stage: LexicalStage, texts: dict[str, str], query: str) -> None:
    docs, scores = ranking_of(stage, context_of(corpus_of(texts)), query)
    # LanceDB counts documents without words neither as documents nor in the mean length.
    counted = {doc: text for doc, text in texts.items() if text.strip()} if isinstance(stage, LanceDBFTS) else texts
    expected = by_formula(counted, query, sqlite_idf if isinstance(stage, SQLiteFTS5) else lucene_idf)
    assert sorted(docs) == sorted(expected)
    np.testing.assert_allclose(scores, [expected[doc] for doc in docs], rtol=1e-5)


@each_default
@examples(40)
@given(texts=st.dictionaries(st.sampled_from(["d1", "d2", "é"]), any_text, min_size=1), query=any_text)
def test_any_text_is_a_document_and_a_query(stage: LexicalStage, texts: dict[str, str], query: str) -> None:
    docs, scores = ranking_of(stage, context_of(corpus_of(texts)), query)
    assert set(docs) <= set(texts)
    assert np.isfinite(scores).all()
    assert (scores > 0).all()


ODD_QUERIES = [
    *('"purring', 'purring"', "purring*", "^purring", "-purring", "+purring", "purring AND", "NOT purring", "OR purring"),
    *("text:purring", "{text}: purring", "purring)", "(purring", "purring\0quietly", "\ud800purring", "a\\purring", "purring^2"),
    *("'purring'; DROP TABLE passages; --", "passages MATCH purring", "[purring TO z]", "/purring/", "purring~1"),
    *("NEAR(purring cat)", "row:1 purring", "PURRING", "loud-purring", "the purring " * 3_000, "x" * 50_000 + " purring"),
]


@pytest.mark.parametrize("stage", DEFAULTS, ids=lambda stage: type(stage).__name__)
def test_no_character_of_a_query_is_an_operator(stage: LexicalStage) -> None:
    context = context_of(corpus_of({"cat": "The cat is purring.", "dog": "Dogs bark", "z": ""}))
    with closing(stage.build(context)) as searcher:
        for text in ODD_QUERIES:
            assert searcher.search(Query("q", text), (), QueryTimer())[0] == ["cat"], text


@each_default
def test_a_word_that_query_and_document_repeat_thousands_of_times_is_found(stage: LexicalStage) -> None:
    context = context_of(corpus_of({"cats": "cat " * 20_000, "dog": "Dogs bark"}))
    assert ranking_of(stage, context, "cat " * 3_000)[0] == ["cats"]


def test_fts5_counts_a_word_of_a_query_at_most_eight_times() -> None:
    context = context_of(corpus_of({"cats": "cat cat purr", "dog": "Dogs bark", "bird": "Birds sing"}))
    once, eight, many = (float(ranking_of(SQLiteFTS5(), context, "cat " * times)[1][0]) for times in (1, 8, 100))
    assert eight == many == pytest.approx(8 * once)


@each_default
@pytest.mark.parametrize("text", ["", "   ", "?!", "\0", "\ud800", "\u200b", "x" * 100, "unknownword"])
def test_a_query_without_a_known_word_finds_nothing(stage: LexicalStage, text: str) -> None:
    docs, scores = ranking_of(stage, context_of(corpus_of({"cat": "The cat is purring.", "z": ""})), text)
    assert (docs, scores.tolist()) == ([], [])


def test_only_stop_words_find_nothing_where_they_are_removed() -> None:
    context = context_of(corpus_of({"cat": "the cat", "who": "The Who"}))
    removed: list[LexicalStage] = [Tantivy(stop_words=True), LanceDBFTS()]
    kept: list[LexicalStage] = [Tantivy(), SQLiteFTS5(), LanceDBFTS(stop_words=False)]
    assert [ranking_of(stage, context, "the and of")[0] for stage in removed] == [[], []]
    assert [ranking_of(stage, context, "the and of")[0] for stage in kept] == [["who", "cat"]] * 3


@each_default
@pytest.mark.parametrize("depth", [1, 5, 120])
def test_many_equal_scores_are_cut_by_id(stage: Any, depth: int) -> None:
    texts = {f"d{at:04}": "cat dog" for at in range(0, 900, 3)} | {"best": "cat cat"}
    docs, scores = ranking_of(replace(stage, depth=depth), context_of(corpus_of(texts)), "cat")
    assert docs == ["best", *sorted(texts.keys() - {"best"}, reverse=True)][:depth]
    assert len(set(scores.tolist())) == min(depth, 2)


@each_default
def test_only_the_given_fields_are_read(stage: Any) -> None:
    corpus = Corpus([Document("a", "dog", "cat", {"more": "bird"}), Document("b", "cat", "dog")])
    context = context_of(corpus)
    assert ranking_of(replace(stage, fields=("title",)), context, "cat")[0] == ["a"]
    assert ranking_of(replace(stage, fields=("text",)), context, "cat")[0] == ["b"]
    assert ranking_of(replace(stage, fields=("title", "more")), context, "bird")[0] == ["a"]
    with pytest.raises(UsageError, match="no document has a text field called colour"):
        replace(stage, fields=("colour",)).build(context)


@each_default
def test_stemming_finds_other_forms_of_a_word(stage: Any) -> None:
    context = context_of(corpus_of({"cat": "cats were running", "dog": "barks"}))
    assert ranking_of(stage, context, "run")[0] == ["cat"]
    assert ranking_of(replace(stage, stemming=False), context, "run")[0] == []


def test_the_parser_of_tantivy_reads_operators() -> None:
    context = context_of(corpus_of({"a": "cat dog", "b": "dog cat"}))
    assert ranking_of(PARSED, context, '"cat dog"')[0] == ["a"]
    assert ranking_of(Tantivy(), context, '"cat dog"')[0] == ["b", "a"]
    assert ranking_of(PARSED, context, "cat-dog")[0] == ["a"]


def test_a_query_that_the_parser_of_tantivy_reads_in_part_is_noted() -> None:
    searcher = PARSED.build(context_of(corpus_of({"a": "disk", "b": "full"})))
    searcher.search(Query("q1", "disk full"), (), QueryTimer())
    assert searcher.notes() == []
    docs, _ = searcher.search(Query("q2", "error: disk full"), (), QueryTimer())
    assert docs == ["b"]
    why = "Field does not exist: 'error'"
    assert searcher.notes() == [f"tantivy's parser leaves out parts of queries, such as error: disk full ({why})"]
    searcher.close()


@each_default
def test_files_are_in_the_folder_of_the_run_until_the_stage_is_closed(stage: LexicalStage, tmp_path: Path) -> None:
    corpus = corpus_of({f"d{at}": f"word{at} shared" for at in range(200)} | {"empty": " "})
    searcher = stage.build(folder_context(corpus, tmp_path))
    size = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert searcher.cost().bytes == size > 1_000
    assert searcher.cost().seconds > 0
    assert searcher.facts()["documents"] == 201
    assert any(char.isdigit() for char in searcher.facts()["library"])
    assert searcher.notes() == ["1 document is empty in title and text and cannot be found"]
    searcher.close()
    assert list(tmp_path.iterdir()) == []


@each_default
def test_a_build_that_is_interrupted_leaves_nothing(stage: LexicalStage, tmp_path: Path) -> None:
    def interrupt(label: str, done: int, total: int) -> None:
        if done:
            raise KeyboardInterrupt

    corpus = corpus_of({f"d{at}": "text" for at in range(1_500)})
    with pytest.raises(KeyboardInterrupt):
        stage.build(replace(folder_context(corpus, tmp_path), progress=interrupt))
    assert list(tmp_path.iterdir()) == []


@each_default
def test_no_documents_give_empty_rankings(stage: LexicalStage) -> None:
    assert ranking_of(stage, context_of(corpus_of({})), "cat")[0] == []


def test_a_sqlite_without_fts5_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(_sqlite_fts5, "MODULE", "fts5_missing")
    with pytest.raises(
        ExternalError, match=r"SQLite 3[.\d]+ of this Python is compiled without FTS5; use another build of Python"
    ):
        SQLiteFTS5().build(folder_context(corpus_of({"d": "text"}), tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tantivy(language="klingon"), "no stemmer for klingon; choose one of arabic, .*, or turn stemming off"),
        (lambda: Tantivy(language="greek", stop_words=True), "no stop word list for greek; .*, or turn stop_words off"),
        (lambda: LanceDBFTS(language="klingon", stemming=False), "no stop word list for klingon"),
        (lambda: Tantivy(syntax="lucene"), "syntax"),  # type: ignore[arg-type]
    ],
)
def test_settings_that_a_library_does_not_have_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make()


@pytest.mark.slow
def test_every_language_that_is_offered_can_be_indexed() -> None:
    context = context_of(corpus_of({"d": "naïve café"}))
    for language in STEMMERS:
        for stage in (Tantivy(language=language, stop_words=language in STOP_LISTS), LanceDBFTS(language=language)):
            assert ranking_of(stage, context, "naïve")[0] == ["d"]
    assert ranking_of(LanceDBFTS(language="klingon", stemming=False, stop_words=False), context, "naïve")[0] == ["d"]


@pytest.mark.slow
def test_an_experiment_file_names_the_three_and_a_second_run_computes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(
        'dataset = "sample"\nmeasures = ["nDCG@10"]\n[systems.tantivy]\nstage = "tantivy"\nsyntax = "tantivy"\n'
        '[systems.sqlite]\nstage = "sqlite-fts5"\nstemming = false\n[systems.lance]\nstage = "lancedb-fts"\ndepth = 10\n'
    )
    experiment = rankproof.read_experiment(path)
    options = RunOptions(cache=tmp_path / "cache")
    first, second = run_experiment(experiment, options), run_experiment(experiment, options)
    assert [one.run.docs for one in first.system_runs] == [one.run.docs for one in second.system_runs]
    for one, other in zip(first.system_runs, second.system_runs, strict=True):
        np.testing.assert_equal(one.times, other.times)
    assert not (tmp_path / "cache" / "databases").exists()


PUBLISHED = [
    (Tantivy(), 0.6845),
    (PARSED, 0.6859),
    (Tantivy(stemming=False), 0.6619),
    (SQLiteFTS5(), 0.6824),
    (LanceDBFTS(), 0.6840),
]


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "value"), PUBLISHED)
def test_the_value_on_scifact_is_that_of_the_documentation(stage: LexicalStage, value: float) -> None:
    dataset = rankproof.read_dataset(collection("scifact"))
    queries = [dataset.queries[query] for query in dataset.qrels]
    with closing(stage.build(context_of(dataset.corpus))) as searcher:
        found = searcher.search_all(queries)
    run = {query.id: dict(zip(docs, scores.tolist(), strict=True)) for query, (docs, scores) in zip(queries, found, strict=True)}
    assert rankproof.evaluate(dataset.qrels, run, ["nDCG@10"]).means["run"]["nDCG@10"] == pytest.approx(value, abs=5e-5)
