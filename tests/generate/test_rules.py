"""Queries by rules: from the words of the document, the same for the same seed, written as a dataset."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.corpus import Corpus, Document
from rankproof._formats.read import read_qrels
from rankproof._generate.filters import TermStatistics
from rankproof._generate.generate import GenerationPipeline, split_count
from rankproof._generate.generated_queries import GeneratedQueries, RejectedQuery, write_generated
from rankproof._generate.generators import RULES
from rankproof._importers.registry import read_dataset
from rankproof.errors import UsageError
from rankproof.stages._analyzer import split_words
from support.bad_inputs import harmful_texts
from support.examples import examples
from support.small_datasets import PAGES, small_corpus

PROSE = st.text(alphabet=st.sampled_from("abehiot ABT.,;159%\u202e\x1b\u00e9\n"), max_size=120)


def generated(
    count: int = 12, seed: int = 0, categories: list[str] | None = None, corpus: Corpus | None = None
) -> GeneratedQueries:
    return GenerationPipeline(corpus or small_corpus(), count, categories, seed=seed).generate()


def test_each_rule_generates_a_query_of_its_document() -> None:
    found = {one.source.category: one for one in generated(6).kept}
    assert set(found) == set(RULES)
    for category, one in found.items():
        title, text = PAGES[one.source.docs[0]]
        own = set(split_words(f"{title} {text}"))
        assert len(set(split_words(one.text)) & own) >= (1 if category == "misspelt" else 2)


def test_a_factual_query_does_not_contain_the_fact_and_has_no_answer() -> None:
    found = generated(6, categories=["factual"]).kept
    for one in found:
        assert one.answers == ()
        assert "answers" not in one.fields()
        assert not {"45", "1987"} & set(split_words(one.text))
    assert {one.text.split()[0] for one in found} >= {"when", "how"}


def test_paraphrases_have_no_word_of_the_title() -> None:
    lexicon = TermStatistics(small_corpus(), ("title", "text"))
    for one in generated(6, categories=["paraphrase"]).kept:
        assert not set(lexicon.terms.tokenize(one.text)) & set(lexicon.terms.tokenize(PAGES[one.source.docs[0]][0]))


def test_misspelt_queries_have_a_word_that_no_document_has() -> None:
    known = {word for page in PAGES.values() for word in split_words(" ".join(page))}
    found = generated(6, categories=["misspelt"]).kept
    assert found
    for one in found:
        assert len(set(split_words(one.text)) - known) == 1


def test_the_queries_depend_on_the_seed_and_not_on_the_order_of_documents() -> None:
    turned = Corpus(reversed(list(small_corpus().values())))
    first, again, other = generated(), generated(corpus=turned), generated(seed=1)
    assert first.kept == again.kept
    assert first.rejected == again.rejected
    assert first.kept != other.kept


def test_queries_are_split_evenly_and_missing_ones_are_noted() -> None:
    assert split_count(7, ["a", "b", "c"]) == {"a": 3, "b": 2, "c": 2}
    found = generated(60)
    counts = found.counts()
    assert {category: each["kept"] for category, each in counts.items()} == Counter(one.source.category for one in found.kept)
    assert found.missing_counts() == {category: 10 - each["kept"] for category, each in counts.items()}
    for each in counts.values():
        assert each["kept"] + sum(each["rejected"].values()) == len(PAGES)
    assert len({one.id for one in found.kept}) == len(found.kept)


@examples(60)
@given(texts=st.lists(PROSE, min_size=1, max_size=6), titles=st.lists(PROSE, min_size=6, max_size=6), seed=st.integers(0, 3))
def test_queries_of_any_documents_pass_the_filters(texts: list[str], titles: list[str], seed: int) -> None:
    corpus = Corpus(Document(f"d{at}", text, titles[at]) for at, text in enumerate(texts))
    try:
        found = generated(12, seed, corpus=corpus)
    except UsageError:
        return
    for one in found.kept:
        assert one.text.isprintable()
        assert 2 <= len(split_words(one.text)) <= 32
        assert one.source.docs[0] in corpus
    assert all(found.qrels()[one.id] == {one.source.docs[0]: 1} for one in found.kept)


def test_documents_with_too_few_words_give_no_query() -> None:
    with pytest.raises(UsageError, match="too few words"):
        generated(corpus=Corpus([Document("d", "one two three")]))


def test_unknown_and_repeated_categories_are_refused() -> None:
    with pytest.raises(UsageError, match=r"unknown category keywords; did you mean keyword\?"):
        generated(categories=["keywords"])
    with pytest.raises(UsageError, match="unknown category multi-hop"):
        generated(categories=["multi-hop"])
    with pytest.raises(UsageError, match="a category is repeated"):
        generated(categories=["paraphrase", "paraphrased"])


def test_the_folder_is_a_dataset_with_the_label_of_its_generator(tmp_path: Path) -> None:
    pipeline = GenerationPipeline(small_corpus(), 12)
    found = pipeline.generate()
    write_generated(found, pipeline.report(found, None), str(tmp_path / "made"), pipeline.corpus)
    dataset = read_dataset(tmp_path / "made")
    assert dataset.corpus.fingerprint() == pipeline.corpus.fingerprint()
    assert [query.text for query in dataset.queries.values()] == [one.text for one in found.kept]
    assert {query.fields["generated_by"] for query in dataset.queries.values()} == {found.judge_label}
    assert dataset.qrels.judge_counts() == {found.judge_label: len(found.kept)}
    assert found.judge_label.startswith("heuristic:")
    report = json.loads((tmp_path / "made" / "generate.json").read_text())
    assert (report["kept"], report["wanted"], report["corpus"]["documents"]) == (len(found.kept), 12, 6)
    assert report == {**pipeline.report(found, None), "rejected": [rejection.plain() for rejection in found.rejected]}
    assert report["rejected"]


def test_the_report_of_many_rejected_queries_is_one_document_of_json(tmp_path: Path) -> None:
    for count in (0, 1, 1000, 2001):
        queries = [RejectedQuery("factual", "a\nb", "short", f"line {at}\n\u2028 {{") for at in range(count)]
        found = GeneratedQueries({"factual": 0}, "heuristic:rules", rejected=queries)
        write_generated(found, {"kept": 0}, str(tmp_path / str(count)))
        text = (tmp_path / str(count) / "generate.json").read_text(encoding="utf-8")
        assert text == json.dumps({"kept": 0, "rejected": [query.plain() for query in queries]}, indent=2) + "\n"


def test_a_folder_that_exists_is_not_touched(tmp_path: Path) -> None:
    found = generated(2)
    with pytest.raises(UsageError, match="exists"):
        write_generated(found, {}, str(tmp_path))
    with pytest.raises(UsageError, match="no valid name"):
        write_generated(found, {}, str(tmp_path / "a\0b"))
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="could not be created"):
        write_generated(found, {}, str(tmp_path / "file" / "made"))


def test_ids_with_spaces_need_tabs(tmp_path: Path) -> None:
    corpus = Corpus(Document(f"page {at}", text, title) for at, (title, text) in enumerate(PAGES.values()))
    found = generated(4, corpus=corpus)
    write_generated(found, {}, str(tmp_path / "made"))
    qrels = read_qrels(tmp_path / "made" / "qrels.tsv")
    assert {doc for docs in qrels.values() for doc in docs} <= set(corpus)
    assert qrels.judge_counts() == {found.judge_label: len(found.kept)}


def test_hostile_documents_stay_text_in_all_that_is_written(tmp_path: Path) -> None:
    filler = "Let the dough rest for 45 minutes in order to relax gluten; Solingen steel shaves paper."
    corpus = Corpus(Document(f"d{at}", f"{text} {filler} {text}", text) for at, text in enumerate(harmful_texts()))
    pipeline = GenerationPipeline(corpus, 60)
    found = pipeline.generate()
    write_generated(found, pipeline.report(found, None), str(tmp_path / "made"), corpus)
    for name in ("queries.jsonl", "qrels.tsv", "generate.json"):
        assert all(line.isprintable() for line in (tmp_path / "made" / name).read_text(encoding="utf-8").split("\n"))
    assert read_dataset(tmp_path / "made").corpus.fingerprint() == corpus.fingerprint()
    assert "<script" not in (tmp_path / "made" / "queries.jsonl").read_text(encoding="utf-8")


def test_the_round_trip_counts_targets_that_bm25_finds() -> None:
    pipeline = GenerationPipeline(small_corpus(), 6)
    found = pipeline.generate()
    back = pipeline.round_trip(found)
    assert (back["of"], back["found"]) == (6, 6)
    assert {category: each["of"] for category, each in back["categories"].items()} == dict.fromkeys(RULES, 1)
