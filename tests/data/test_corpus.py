"""A corpus of columns behaves like a dictionary of documents, for any size of its partitions."""

from __future__ import annotations

import pickle
from random import Random
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data import corpus as corpus_module
from rankproof._data.corpus import Corpus, Document, Partition, TextColumn
from rankproof.errors import InputError, UsageError

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=4,
)
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
DOCUMENTS = st.lists(
    st.builds(
        Document,
        IDS,
        st.text(st.characters()),
        st.text(),
        st.dictionaries(st.text(), JSON, max_size=3),
        st.integers(min_value=1, max_value=1 << 40),
    ),
    max_size=12,
    unique_by=lambda document: document.id,
)
SIZES = st.integers(min_value=1, max_value=5)


@given(DOCUMENTS, SIZES)
def test_a_corpus_holds_the_documents_in_input_order(documents: list[Document], size: int) -> None:
    corpus = Corpus(documents, partition_size=size)
    assert list(corpus) == [one.id for one in documents]
    assert list(corpus.values()) == documents == [corpus[one.id] for one in documents]
    assert list(corpus.items()) == [(one.id, one) for one in documents]
    assert [one.line for one in corpus.values()] == [one.line for one in documents]
    assert [list(one.fields) for one in corpus.values()] == [list(one.fields) for one in documents]
    assert len(corpus) == len(documents)
    assert bool(corpus) == bool(documents)
    assert [len(one) for one in corpus.partitions] == [len(documents[at : at + size]) for at in range(0, len(documents), size)]


@given(DOCUMENTS, SIZES, st.randoms(use_true_random=False))
def test_the_fingerprint_depends_on_the_documents_alone(documents: list[Document], size: int, random: Random) -> None:
    shuffled = sorted(documents, key=lambda _: random.random())
    assert Corpus(documents).fingerprint() == Corpus(shuffled, partition_size=size).fingerprint()
    for at, one in enumerate(documents):
        others = [*documents[:at], *documents[at + 1 :]]
        assert Corpus(others).fingerprint() != Corpus(documents).fingerprint()
        changed = Document(one.id, one.text + "x", one.title, one.fields)
        assert Corpus([*others, changed]).fingerprint() != Corpus(documents).fingerprint()


def test_text_that_moves_between_title_and_text_changes_the_fingerprint() -> None:
    prints = {Corpus([Document("d", text, title)]).fingerprint() for text, title in (("ab", ""), ("b", "a"), ("", "ab"))}
    assert len(prints) == 3


def test_the_order_of_fields_does_not_change_the_fingerprint() -> None:
    one, other = ({"a": {"x": 1, "y": 2}, "b": 1}, {"b": 1, "a": {"y": 2, "x": 1}})
    assert Corpus([Document("d", "", fields=one)]).fingerprint() == Corpus([Document("d", "", fields=other)]).fingerprint()


@given(DOCUMENTS, SIZES, IDS)
def test_an_id_is_found_in_its_partition_or_not_at_all(documents: list[Document], size: int, other: str) -> None:
    corpus = Corpus(documents, partition_size=size)
    for at, one in enumerate(documents):
        assert corpus.row_of(one.id) == divmod(at, size)
        assert one.id in corpus
    assert (other in corpus) == (other in [one.id for one in documents])
    assert None not in corpus
    assert corpus.get("\ud800") is None
    with pytest.raises(KeyError):
        Corpus().row_of(other)


@given(DOCUMENTS, SIZES, st.lists(IDS | st.sampled_from(["a", "\ud800", ""])), st.booleans())
def test_ids_that_no_document_has_are_found_in_their_order(
    documents: list[Document], size: int, others: list[str], native: bool
) -> None:
    corpus = Corpus(documents, partition_size=size)
    asked = [*others, *(one.id for one in documents), *others]
    with mock.patch.object(corpus_module, "has_native_scanner", return_value=native):
        assert corpus.missing(asked) == [key for key in asked if key not in {one.id for one in documents}]


def test_a_corpus_can_be_sent_to_another_process() -> None:
    copy: Corpus = pickle.loads(pickle.dumps(Corpus([Document("a", "one"), Document("b", "two")], source="s", partition_size=1)))
    assert (copy.source, [one.text for one in copy.values()], copy["b"].text) == ("s", ["one", "two"], "two")


@given(DOCUMENTS, SIZES)
def test_rows_in_order_have_descending_ids(documents: list[Document], size: int) -> None:
    for partition in Corpus(documents, partition_size=size).partitions:
        ordered = [partition.ids[row] for row in partition.order]
        assert ordered == sorted(partition.ids, reverse=True)


@given(DOCUMENTS, SIZES)
def test_a_partition_can_be_sent_to_another_process(documents: list[Document], size: int) -> None:
    for partition in Corpus(documents, partition_size=size).partitions:
        copy: Partition = pickle.loads(pickle.dumps(partition))
        assert list(copy.documents()) == list(partition.documents())
        assert (copy.number, copy.first, copy.digest) == (partition.number, partition.first, partition.digest)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_the_first_repeated_id_is_an_error_with_both_lines(size: int) -> None:
    ids = ["a", "b", "c", "b", "a", "a"]
    with pytest.raises(InputError, match=r"c\.jsonl:40: document b occurs twice \(first at line 20\); remove one"):
        Corpus([Document(one, "", line=10 * at) for at, one in enumerate(ids, 1)], source="c.jsonl", partition_size=size)


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_repeated_id_before_a_broken_record_is_the_first_error(size: int) -> None:
    with pytest.raises(InputError, match="document a occurs twice"):
        Corpus([Document(one, "") for one in ("a", "b", "a", "")], partition_size=size)
    with pytest.raises(InputError, match="empty document id"):
        Corpus([Document(one, "") for one in ("a", "", "a")], partition_size=size)


def test_a_value_that_is_not_of_json_becomes_its_text() -> None:
    corpus = Corpus([Document("d", "", fields={"kind": int})])
    assert corpus["d"].fields == {"kind": "<class 'int'>"}


@pytest.mark.parametrize("document", [Document("d", 7), Document("d", "", None), Document("d", "", fields={(1,): 2})])  # type: ignore[arg-type, dict-item]
def test_a_document_that_is_not_text_is_refused(document: Document) -> None:
    with pytest.raises(UsageError, match=r"document d cannot be stored \(.+\); pass title and text as text"):
        Corpus([document])


@given(st.lists(st.text(), max_size=6))
def test_a_column_is_a_sequence_of_texts(texts: list[str]) -> None:
    column = TextColumn.of([text.encode() for text in texts])
    assert list(column) == texts == [column[row] for row in range(len(texts))]
    assert column[1:] == texts[1:]
    assert column[:-1] == texts[:-1]
    if texts:
        assert column[-1] == texts[-1]
    with pytest.raises(IndexError):
        column[len(texts)]
