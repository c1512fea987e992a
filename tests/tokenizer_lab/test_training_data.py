"""Lessons: the same whenever made, never of a query that is tested with, and negatives that are none of the answers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._cli.options import read_dataset_or_sample
from rankproof._data.corpus import Corpus, Document
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._tokenizer_lab.splits import (
    OtherSplitQueries,
    find_languages,
    find_other_split_queries,
    read_languages,
    relevant_documents,
    text_digest,
    training_split,
)
from rankproof._tokenizer_lab.training_data import (
    DATA_FILE,
    TrainingData,
    TrainingDataConfig,
    build_training_data,
    cached_training_data,
    crop_text,
    excluded_queries,
    hard_negatives,
    is_unspaced,
    read_training_data,
    write_training_data,
)
from rankproof.errors import InputError, UsageError
from support.shared_data import collection
from support.small_datasets import small_dataset

THAI = "ทีมรับของแพนเธอร์สถอดใจที่คะแนน308ได้อันดับที่หกของลีกในขณะที่เป็นผู้นำในเอ็นเอฟแอล"
CHINESE = "黑豹队的防守只丢了三百零八分，在联赛中排名第六，同时也以二十四次拦截领先国家橄榄球联盟，并且四次入选职业碗。"
HALF = TrainingDataConfig(holdout=0.5, crops=4)


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return read_dataset_or_sample("sample")


@pytest.fixture(scope="module")
def training_data(sample: Dataset) -> TrainingData:
    return build_training_data({"own": sample}, HALF)


def read_collection(name: str, split: str) -> tuple[str, Dataset]:
    folder = str(collection(name))
    return folder, read_dataset_or_sample(folder, split)


def test_training_data_are_deterministic(sample: Dataset, training_data: TrainingData) -> None:
    assert build_training_data({"own": sample}, HALF).digest == training_data.digest
    assert build_training_data({"own": sample}, replace(HALF, seed=2)).digest != training_data.digest


def test_judged_pairs_come_first_and_crops_are_pieces_of_their_document(sample: Dataset, training_data: TrainingData) -> None:
    texts = {sample.queries[query].text for query in training_data.ids}
    assert set(training_data.queries[: training_data.judged_count]) == texts
    crops = range(training_data.judged_count, len(training_data.queries))
    assert len(crops) > 3 * len(training_data.documents)
    assert all(training_data.queries[at] in training_data.documents[training_data.positives[at]] for at in crops)
    assert all(4 <= len(training_data.queries[at].split()) <= 16 for at in crops)


def test_negatives_are_never_relevant_and_unique(training_data: TrainingData) -> None:
    for negatives, relevant, positive in zip(
        training_data.negatives, training_data.relevant, training_data.positives, strict=True
    ):
        there = negatives[negatives >= 0].tolist()
        assert positive in relevant
        assert not set(there) & set(relevant[relevant >= 0].tolist())
        assert len(set(there)) == len(there)
    assert (training_data.negatives >= 0).mean() > 0.9


def test_negatives_are_what_bm25_finds_best_first() -> None:
    texts = {3: "hob hob hob hums", 5: "hob", 7: "a hob in the kitchen that nobody has used", 8: "dough", 9: "the hob hums"}
    assert hard_negatives(texts, ["hob", "hob"], [frozenset({9}), frozenset({3, 9})], 2) == [[3, 5], [5, 7]]
    (ranked,) = hard_negatives(texts, ["hob hums"], [frozenset({8})], 9)
    assert set(ranked[:2]) == {3, 9}


@pytest.mark.parametrize("text", [THAI, CHINESE])
def test_negatives_are_found_in_scripts_without_spaces(text: str) -> None:
    (found,) = hard_negatives({0: text[:40], 1: text[40:], 2: "other"}, [text[10:20]], [frozenset({2})], 3)
    assert found[0] == 0


def test_relevant_rows_are_the_judged_documents(sample: Dataset, training_data: TrainingData) -> None:
    from rankproof.stages._fields import passage_text

    for at, query in enumerate(training_data.queries[: training_data.judged_count]):
        ids = [one for one in training_data.ids if sample.queries[one].text == query]
        wanted = {
            passage_text(sample.corpus[doc], ("title", "text"))[:512].strip()
            for one in ids
            for doc in relevant_documents(sample.qrels)[one]
        }
        assert {training_data.documents[row] for row in training_data.relevant[at] if row >= 0} == wanted


@given(
    st.dictionaries(st.integers(0, 30).map(str), st.frozensets(st.integers(0, 12).map(str), min_size=1, max_size=3), min_size=2),
    st.floats(0.1, 0.9),
    st.integers(0, 5),
)
def test_held_out_and_training_queries_share_no_document(relevant: Mapping[str, frozenset[str]], share: float, seed: int) -> None:
    try:
        kept = training_split(relevant, share, seed)
    except UsageError:
        smallest = min(map(len, grouped(relevant)))
        assert len(grouped(relevant)) == 1 or smallest > share * len(frozenset().union(*relevant.values()))
        return
    held = set(relevant) - set(kept)
    assert kept
    assert held
    documents = frozenset().union(*(relevant[query] for query in held))
    assert not documents & frozenset().union(*kept.values())
    assert len(documents) <= share * len(frozenset().union(*relevant.values()))


def grouped(relevant: Mapping[str, frozenset[str]]) -> list[frozenset[str]]:
    """The documents that are joined by queries, directly or by way of others."""
    groups: list[frozenset[str]] = []
    for docs in relevant.values():
        met = [group for group in groups if group & docs]
        groups = [group for group in groups if not group & docs] + [docs.union(*met)]
    return groups


def test_a_hold_out_that_leaves_no_queries_is_an_error() -> None:
    with pytest.raises(UsageError, match="leaves no query to test"):
        training_split({"a": frozenset("x"), "b": frozenset("x")}, 0.5, 1)
    assert training_split({"a": frozenset("x"), "b": frozenset("x")}, 0, 1).keys() == {"a", "b"}


def test_a_duplicate_document_is_not_both_held_out_and_trained_on() -> None:
    corpus = Corpus(Document(id=f"{copy}{at}", text=f"paragraph number {at} about {at * 7}") for at in range(20) for copy in "ab")
    queries = Queries(Query(id=f"{copy}{at}", text=f"{copy} asks about {at * 7}") for at in range(20) for copy in "ab")
    qrels = Qrels.from_dict({query: {query: 1} for query in queries})
    trained_on = set(build_training_data({"own": Dataset("twins", corpus, queries, qrels)}, HALF).ids)
    assert 0 < len(trained_on) < 40
    assert {query[1:] for query in trained_on}.isdisjoint(query[1:] for query in queries if query not in trained_on)


def test_held_out_queries_are_not_in_the_training_data(sample: Dataset, training_data: TrainingData) -> None:
    held = set(relevant_documents(sample.qrels)) - set(training_data.ids)
    assert 20 <= len(held) <= 100
    trained_on = {text_digest(text) for text in training_data.queries}
    assert not trained_on & {text_digest(sample.queries[query].text) for query in held}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "split"), [("scifact", "train"), ("cosqa", "dev")])
def test_no_query_of_another_split_is_trained_on(name: str, split: str) -> None:
    folder, dataset = read_collection(name, split)
    tested = read_dataset_or_sample(folder, "test")
    made = build_training_data({"own": dataset}, TrainingDataConfig(crops=1), find_other_split_queries(folder, split=split))
    assert len(made.ids) > 400
    assert not set(made.ids) & set(tested.qrels)
    trained_on = {text_digest(text) for text in made.queries}
    assert not trained_on & {text_digest(tested.queries[query].text) for query in tested.qrels}


def test_a_query_of_another_split_is_excluded_by_id_text_and_crop() -> None:
    dataset = small_dataset()
    plain = build_training_data({"own": dataset}, TrainingDataConfig(crops=2))
    assert plain.ids == ("q1", "q2", "q3", "q4")
    crop = plain.queries[-1]
    texts = frozenset({text_digest("  Sharp   BLADE "), text_digest(crop)})
    fewer = build_training_data({"own": dataset}, TrainingDataConfig(crops=2), OtherSplitQueries(frozenset({"q1"}), texts))
    assert fewer.ids == ("q2", "q4")
    assert crop not in fewer.queries


def in_two_splits(folder: Path, train: str, test: str) -> str:
    (folder / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "d{at}", "text": "document number {at} of a few"}}\n' for at in range(4))
    )
    (folder / "queries.jsonl").write_text("".join(f'{{"_id": "q{at}", "text": "question {at}"}}\n' for at in range(4)))
    for name, rows in (("train", train), ("test", test)):
        lines = "".join(f"q{at}\td{at}\t1\n" for at in rows)
        (folder / f"qrels.{name}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
    return str(folder)


def test_an_unreadable_split_is_an_error(tmp_path: Path) -> None:
    folder = in_two_splits(tmp_path, "0123", "01")
    assert find_other_split_queries(folder, split="train").ids == {"q0", "q1"}
    with open(tmp_path / "qrels.test.tsv", "a", encoding="utf-8") as file:
        file.write("q2\td2\tmuch\n")
    with pytest.raises(InputError, match=r"qrels\.test\.tsv:4: "):
        find_other_split_queries(folder, split="train")


def test_a_copy_of_the_judgements_is_an_error_and_a_part_is_excluded(tmp_path: Path) -> None:
    folder = in_two_splits(tmp_path, "0123", "01")
    dataset, other_splits = read_dataset_or_sample(folder, "train"), find_other_split_queries(folder, split="train")
    assert build_training_data({"own": dataset}, TrainingDataConfig(), other_splits).ids == ("q2", "q3")
    assert excluded_queries(dataset, other_splits) == ["q0", "q1"]
    in_two_splits(tmp_path, "0123", "0123")
    message = r"every judged query of .* is also in another split; remove .*qrels\.test\.tsv if it is a copy"
    with pytest.raises(UsageError, match=message):
        build_training_data({"own": dataset}, TrainingDataConfig(), find_other_split_queries(folder, split="train"))


def test_failed_training_data_leave_no_folder(tmp_path: Path) -> None:
    languages = {"own": small_dataset()}
    with pytest.raises(UsageError, match="has no training pairs"):
        cached_training_data(str(tmp_path / "new"), {"own": unjudged()}, TrainingDataConfig(crops=0), OtherSplitQueries())
    assert not list(tmp_path.iterdir())
    made = cached_training_data(str(tmp_path / "new"), languages, TrainingDataConfig(crops=1), OtherSplitQueries())
    assert (
        cached_training_data(str(tmp_path / "new"), languages, TrainingDataConfig(crops=1), OtherSplitQueries()).digest
        == made.digest
    )


def unjudged() -> Dataset:
    dataset = small_dataset()
    return Dataset("bare", dataset.corpus, dataset.queries, Qrels.from_dict({"q1": {"hob": 0}}))


def test_equal_documents_are_one() -> None:
    dataset = small_dataset()
    twice = build_training_data({"own": dataset, "de": dataset}, TrainingDataConfig(crops=2))
    assert twice.documents == build_training_data({"own": dataset}, TrainingDataConfig(crops=2)).documents


@pytest.mark.parametrize("text", [THAI, CHINESE])
def test_scripts_without_spaces_are_cropped_by_characters(text: str) -> None:
    assert is_unspaced(text)
    pieces = crop_text(text, 20, "a")
    assert len(pieces) > 10
    assert all(piece in text and len(piece) <= 60 for piece in pieces)


def test_a_short_text_has_no_crop() -> None:
    assert crop_text("only three words", 5, "a") == []
    assert crop_text("", 5, "a") == []
    assert crop_text("just these four words", 5, "a") == ["just these four words"]


@pytest.mark.slow
def test_positives_are_in_the_own_language_and_translations_are_relevant() -> None:
    folder, dataset = read_collection("xquad-en", "test")
    assert {"th", "zh", "de"} <= set(find_languages(folder))
    languages = read_languages(folder, dataset, ["own", "th"])
    made = build_training_data(languages, TrainingDataConfig(holdout=0.5, crops=1, negatives=3))
    assert len(made.documents) == 480
    assert made.relevant.shape[1] == 2
    thai = [at for at in range(made.judged_count) if is_unspaced(made.queries[at])]
    assert len(thai) > 0.4 * made.judged_count
    assert np.mean([is_unspaced(made.documents[made.positives[at]]) for at in thai]) > 0.97
    assert (made.negatives[thai] >= 0).mean() > 0.9


def test_a_missing_language_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no language de in i18n; omit"):
        read_languages(str(tmp_path), small_dataset(), ["de"])
    assert list(read_languages(str(tmp_path), small_dataset(), None)) == ["own"]
    assert list(read_languages(str(tmp_path), small_dataset(), ["all"])) == ["own"]


def test_no_training_pairs_are_an_error() -> None:
    with pytest.raises(UsageError, match="has no training pairs"):
        build_training_data({"own": unjudged()}, TrainingDataConfig(crops=0))
    assert build_training_data({"own": unjudged()}, TrainingDataConfig(crops=2)).judged_count == 0


def test_written_training_data_are_read_back_unchanged(training_data: TrainingData, tmp_path: Path) -> None:
    assert read_training_data(str(tmp_path), "x") is None
    write_training_data(training_data, "x", str(tmp_path))
    back = read_training_data(str(tmp_path), "x")
    assert back is not None
    assert back.digest == training_data.digest
    with pytest.raises(UsageError, match="has training data of another dataset, config or seed; choose another folder"):
        read_training_data(str(tmp_path), "y")


def test_damaged_training_data_are_an_error(tmp_path: Path) -> None:
    write_training_data(build_training_data({"own": small_dataset()}, TrainingDataConfig(crops=1)), "x", str(tmp_path))
    values = json.loads(gzip.decompress((tmp_path / DATA_FILE).read_bytes()))
    wrong = [
        {"judged_count": 999},
        {"judged_count": "x"},
        {"documents": "abc"},
        {"documents": []},
        {"positives": [0]},
        {"negatives": 5},
        {"ids": [1]},
    ]
    wrong += [
        {"positives": [-1] * len(values["queries"])},
        {"relevant": [[0.5]] * len(values["queries"])},
        {"negatives": [[1], [1, 2]]},
    ]
    for change in wrong:
        (tmp_path / DATA_FILE).write_bytes(gzip.compress(json.dumps(values | change).encode()))
        with pytest.raises(InputError, match="invalid training data; remove the file"):
            read_training_data(str(tmp_path), "x")
    for content in (b"[]", b"no json", b"{"):
        (tmp_path / DATA_FILE).write_bytes(content)
        with pytest.raises(InputError, match="remove the file"):
            read_training_data(str(tmp_path), "x")


def test_the_source_digest_covers_config_dataset_and_other_splits() -> None:
    dataset, nobody = small_dataset(), OtherSplitQueries()
    one = TrainingDataConfig().source_digest({"own": dataset}, nobody)
    assert one == TrainingDataConfig().source_digest({"own": small_dataset()}, nobody)
    others = [
        TrainingDataConfig(crops=3),
        TrainingDataConfig(seed=4),
        TrainingDataConfig(characters=100),
        TrainingDataConfig(negatives=1),
        TrainingDataConfig(holdout=0.5),
    ]
    values = {one, *(other.source_digest({"own": dataset}, nobody) for other in others)}
    values |= {
        TrainingDataConfig().source_digest({"own": dataset}, OtherSplitQueries(frozenset({"q9"}))),
        TrainingDataConfig().source_digest({"de": dataset}, nobody),
    }
    assert len(values) == 8


def test_arrays_of_training_data_are_read_only(training_data: TrainingData) -> None:
    with pytest.raises(ValueError, match="read-only"):
        np.put(training_data.positives, 0, 1)
