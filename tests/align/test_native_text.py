"""The native engine gives the hits, counts and messages of the reference for any text."""

from __future__ import annotations

import random
import string
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._align import reference
from rankproof._align.hits import Hits, JudgedQueries
from rankproof._data.qrels import Qrels
from rankproof._data.validation import ReadOptions
from rankproof._formats import native as tables
from rankproof._formats import trec
from rankproof._formats.rows import ParseOptions, build_run
from rankproof._formats.trec import TREC
from rankproof._io.streams import ByteSource
from rankproof.errors import InputError
from support.examples import examples, sampled
from support.native_cases import (
    BLOCKS,
    LEVELS,
    assert_same_hits,
    assert_same_judged,
    judged_at_random,
    noisy,
    outcome,
    qrels_text,
    readings,
    rows_at_random,
    run_text,
    source_of,
    values_of,
)

native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)

QUERIES = ["1", "2", "q", "é", "e\u0301", "#q", "a-rather-long-query-id-of-many-bytes"]
DOCS = ["d", "d1", "d2", "D", "é", "e\u0301", "012345678", "0123456789abcdefg", "x\x00y", "日本", "#d"]
SCORES = ["1", "2", "1.0", "0", "-0", "-0.0", "+1", "1e0", "16777216", "16777217", "0.1", ".5", "5.", "1e-3", "-1.5", "1e39"]
ODD_SCORES = ["nan", "inf", "-Infinity", "1e999", "0x10", "1_0", "1.0.0", "", "e5", "--1", "1e", "١", "9" * 400]
RANKS = ["1", "2", "3", "10", "0", "-1", "+2", "x", "1" * 18, "1" * 19, "1.0"]
TAGS = ["t", "t", "t", "u", "a-long-tag-of-a-system", "two words", "and  three\twords ", "5 t", "t 5", "x .5", "1e999 t"]
GRADES = ["0", "1", "2", "-1", "+1", "1000", "007", "-9223372036854775808"]
ODD_GRADES = ["1001", "x", "1.0", "99999999999999999999", "-9223372036854775809", "0" * 4001, ""]
SPACES = [" ", "\t", "  ", " \t", "\v", "\f"]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\n# note\n", "\r\r\n", "\n \t\n"]
STARTS = ["", "", "\ufeff", "\n", "# first\n", " ", "\ufeff#\n"]


def lines_of(columns: list[st.SearchStrategy[str]]) -> st.SearchStrategy[str]:
    """One line of the given columns, most often with single spaces."""
    space = st.sampled_from([" ", " ", " ", " ", *SPACES])
    end = st.sampled_from(["\n", "\n", "\n", "\n", *ENDS])
    joined = st.tuples(*[part for column in columns for part in (column, space)]).map(lambda parts: "".join(parts[:-1]))
    return st.tuples(st.sampled_from(["", "", "", " "]), joined, st.sampled_from(["", "", "", " ", "\t"]), end).map("".join)


def texts_of(line: st.SearchStrategy[str], *, most: int = 24) -> st.SearchStrategy[bytes]:
    """A whole text, sometimes with noise bytes in it and sometimes cut off."""
    whole = st.tuples(st.sampled_from(STARTS), st.lists(line, max_size=most).map("".join)).map("".join).map(str.encode)
    return st.one_of(whole, whole, noisy(whole), whole.flatmap(lambda text: st.integers(0, len(text)).map(lambda at: text[:at])))


def usually(common: list[str], rare: list[str]) -> st.SearchStrategy[str]:
    """A common text in 12 of 13 cases."""
    return st.sampled_from(common * (1 + 12 * len(rare) // len(common)) + rare)


def runs(queries: list[str]) -> st.SearchStrategy[bytes]:
    columns = [st.sampled_from(queries), st.just("Q0"), st.sampled_from(DOCS), usually(RANKS[:4], RANKS[4:])]
    return texts_of(lines_of([*columns, usually(SCORES, ODD_SCORES), st.sampled_from(TAGS)]))


def grouped_runs() -> st.SearchStrategy[bytes]:
    """Runs whose queries lie together and whose documents are mostly distinct, so that they get past the refusals."""
    return st.lists(st.sampled_from(QUERIES), max_size=5, unique=True).flatmap(_blocks)


def _blocks(queries: list[str]) -> st.SearchStrategy[bytes]:
    return st.tuples(*[_block(query) for query in queries]).map(b"".join)


def _block(query: str) -> st.SearchStrategy[bytes]:
    docs = st.lists(st.sampled_from(DOCS + [f"n{i}" for i in range(6)]), max_size=12, unique=True)
    return docs.flatmap(lambda ids: st.tuples(*[_row(query, doc, index) for index, doc in enumerate(ids)]).map(b"".join))


def _row(query: str, doc: str, index: int) -> st.SearchStrategy[bytes]:
    rank = st.sampled_from([str(index + 1), str(index + 1), str(12 - index), "3", "x"])
    parts = st.tuples(rank, st.sampled_from(SCORES[:12]), st.sampled_from(["\n", "\n", "\r\n"]))
    return parts.map(lambda part: f"{query} Q0 {doc} {part[0]} {part[1]} t{part[2]}".encode())


def qrels_texts() -> st.SearchStrategy[bytes]:
    columns = [st.sampled_from(QUERIES), st.just("0"), st.sampled_from(DOCS), usually(GRADES, ODD_GRADES)]
    return texts_of(lines_of(columns))


QRELS = "".join(
    f"{query} 0 {doc} {index % 4 - 1}\n" for index, (query, doc) in enumerate(product(QUERIES[:4], DOCS[:7]))
).encode()


@examples(400)
@given(text=st.one_of(runs(QUERIES), runs(QUERIES[:2]), grouped_runs()), read_options=readings(), block=BLOCKS, level=LEVELS)
def test_a_text_run_gives_what_the_reference_gives(text: bytes, read_options: ReadOptions, block: int, level: int) -> None:
    ours, theirs = native.judge_text(source_of(QRELS)), reference.judge_text(source_of(QRELS))
    found = outcome(lambda: native.align_text(ours, source_of(text), read_options, block=block, level=level))
    assert_same_hits(found, outcome(lambda: reference.align_text(theirs, source_of(text), read_options)))


@examples(400)
@given(text=st.one_of(runs(QUERIES), runs(QUERIES[:2]), grouped_runs()), read_options=readings(), block=BLOCKS, level=LEVELS)
def test_a_text_run_equals_the_python_one_and_is_none_where_that_is_rejected(
    text: bytes, read_options: ReadOptions, block: int, level: int
) -> None:
    source, options = source_of(text), ParseOptions(read_options=read_options)
    with patch.multiple(tables, BLOCK_BYTES=block, WIDEST_SCAN=level):
        found = tables.read_run(source, "x", TREC.native_reader("run"), options)
    wanted = outcome(lambda: build_run(trec.run_rows(source), name="x", source=source.name, read_options=read_options))
    assert (found is None) == (isinstance(wanted, str) or b"\0" in text)
    if found is not None and not isinstance(wanted, str):
        assert values_of(found) == values_of(wanted)


@examples(300)
@given(text=qrels_texts(), block=BLOCKS, level=LEVELS)
def test_text_qrels_equal_the_python_ones_and_are_none_where_those_are_rejected(text: bytes, block: int, level: int) -> None:
    source = source_of(text)
    with patch.multiple(tables, BLOCK_BYTES=block, WIDEST_SCAN=level):
        found = native_qrels(source)
    wanted = outcome(lambda: trec.read_plain_qrels(source, ParseOptions()))
    has_nul = b"\0" in text
    is_left = isinstance(wanted, str) or has_nul or wanted.repeats > 0 or wanted.converted > 0 or bool(wanted.subtopics)
    # White space U+0085 beside a label of a judge, which only Python strips, leaves a file to Python too.
    assert found is None if is_left else found is not None or b"\xc2\x85" in text
    if found is not None and isinstance(wanted, Qrels):
        assert [(query, [*docs.items()]) for query, docs in found.items()] == [
            (query, [*docs.items()]) for query, docs in wanted.items()
        ]
        assert (found.source, found.repeats, dict(found.judge_labels)) == (wanted.source, wanted.repeats, {})


def native_qrels(source: ByteSource) -> Qrels | None:
    return tables.read_qrels(source, TREC.native_reader("qrels"), ParseOptions())


def test_judgements_of_a_machine_keep_their_labels() -> None:
    assert native_qrels(source_of(b"1 0 a 1\n1 llm:x b 2\n")) is None
    assert native_qrels(source_of(b"1 9x a 1\n1 9x b 2\n")) is None
    assert dict(native_qrels(source_of(b"1 9 a 1\n1 9 b 2\n")) or {}) == {"1": {"a": 1, "b": 2}}


@pytest.mark.parametrize("second", [b"0", b"1" * 32, b"Q0"])
def test_a_second_column_of_one_value_is_read_in_c(second: bytes) -> None:
    assert native_qrels(source_of(b"1 %b a 1\n1 %b b 2\n" % (second, second))) is not None


@pytest.mark.parametrize("text", [b"1 0 a 1\n1 1 b 2\n", b"1 1 a 1\n1 11 b 2\n", b"1 %b a 1\n" % (b"1" * 33)])
def test_a_second_column_with_subtopics_is_read_in_python(text: bytes) -> None:
    assert native_qrels(source_of(text)) is None


@examples(300)
@given(seed=st.integers(0, 1 << 32), read_options=readings(), block=BLOCKS)
def test_a_run_of_many_rows_gives_what_the_reference_gives(seed: int, read_options: ReadOptions, block: int) -> None:
    qrels, run = qrels_text(judged_at_random(seed)), run_text(rows_at_random(seed))
    found = outcome(lambda: native.align_text(native.judge_text(source_of(qrels)), source_of(run), read_options, block=block))
    assert_same_hits(
        found, outcome(lambda: reference.align_text(reference.judge_text(source_of(qrels)), source_of(run), read_options))
    )


@examples(300)
@given(text=qrels_texts(), only=st.none() | st.sets(st.sampled_from(QUERIES)), block=BLOCKS, level=LEVELS)
def test_text_qrels_give_what_the_reference_gives(text: bytes, only: set[str] | None, block: int, level: int) -> None:
    found = outcome(lambda: native.judge_text(source_of(text), only, block=block, level=level))
    assert_same_judged(found, outcome(lambda: reference.judge_text(source_of(text), only)))


@examples(150)
@given(qrels=qrels_texts(), run=grouped_runs(), only=st.none() | st.sets(st.sampled_from(QUERIES)), read_options=readings())
def test_any_qrels_and_any_run_give_what_the_reference_gives(
    qrels: bytes, run: bytes, only: set[str] | None, read_options: ReadOptions
) -> None:
    def hits(engine: object, judge: Callable[..., JudgedQueries], align: Callable[..., Hits]) -> Hits:
        return align(judge(source_of(qrels), only), source_of(run), read_options)

    ours = outcome(lambda: hits(native, native.judge_text, native.align_text))
    assert_same_hits(ours, outcome(lambda: hits(reference, reference.judge_text, reference.align_text)))


@examples(150)
@given(text=st.one_of(runs(QUERIES[:3]), grouped_runs()), threads=st.sampled_from([2, 3]), read_options=readings())
def test_the_number_of_threads_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, threads: int, read_options: ReadOptions
) -> None:
    path = tmp_path_factory.getbasetemp() / "threads.run"
    path.write_bytes(text)
    judged = native.judge_text(source_of(QRELS))
    source = replace(source_of(text), path=str(path))
    many = outcome(lambda: native.align_text(judged, source, replace(read_options, threads=threads), least=1))
    assert_same_hits(many, outcome(lambda: native.align_text(judged, source, read_options)))


def test_a_query_larger_than_the_block_is_read_completely() -> None:
    text = b"".join(b"q Q0 d%d %d %d t\n" % (doc, doc, 5000 - doc) for doc in range(5000))
    qrels = b"q 0 d4999 1\nq 0 d17 2\n"
    for block in (64, 1000, 1 << 20):
        found = native.align_text(native.judge_text(source_of(qrels)), source_of(text), ReadOptions(), block=block)
        assert found.ranks.tolist() == [18, 5000]
        assert found.grades.tolist() == [2, 1]


@pytest.mark.parametrize(
    "size",
    [pytest.param((1 << 20) + more, marks=[] if more in (0, 1) else pytest.mark.slow) for more in (-1, 0, 1, 2, 3)],
)
@pytest.mark.parametrize("end", sampled([b"", b"\n", b"\r\n", b"\nq Q0 d2 2 1 t\n"], 2))
@pytest.mark.parametrize("front", [b"q Q0 ", b"# ", b"   "])
def test_a_line_is_rejected_only_above_one_mebibyte(size: int, end: bytes, front: bytes) -> None:
    back = b" 1 2 t" if front == b"q Q0 " else b""
    line = front + (b" " if front.isspace() else b"x") * (size - len(front) - len(back)) + back
    text = b"a Q0 d 1 1 t\n" + line + end
    ours, theirs = native.judge_text(source_of(QRELS)), reference.judge_text(source_of(QRELS))
    wanted = outcome(lambda: reference.align_text(theirs, source_of(text), ReadOptions()))
    for block in (4096, 1 << 18):
        assert_same_hits(outcome(partial(native.align_text, ours, source_of(text), ReadOptions(), block=block)), wanted)


FOLLOWING = [
    b"",
    *(bytes([byte]) + more for byte in (0x41, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0) for more in (b"", b"\xbf", b"\xbf\x80")),
]
"""What may follow the first byte of a character: no byte, or one at each limit of the second byte and up to two more."""


@pytest.mark.parametrize("lead", range(0x80, 0x100))
def test_an_id_is_rejected_where_python_does_not_decode_it(lead: int) -> None:
    for following in FOLLOWING:
        text = b"q 0 %b 1\n" % (bytes([lead]) + following)
        assert_same_judged(
            outcome(partial(native.judge_text, source_of(text))), outcome(partial(reference.judge_text, source_of(text)))
        )


@pytest.mark.parametrize("count", [70, 300, 3000])
@pytest.mark.parametrize("falling", [True, False])
def test_long_rows_of_ties_are_ranked_by_id(count: int, falling: bool) -> None:
    rows = [(f"a{index * 7919 % count:04d}", index // 150) for index in range(count)]
    scores = [-score if falling else score * 37 % 11 for _, score in rows]
    text = "".join(f"1 Q0 {doc} 1 {score} t\n" for (doc, _), score in zip(rows, scores, strict=True)).encode()
    qrels = "".join(f"1 0 a{index:04d} {index % 3}\n" for index in range(0, count, 3)).encode()
    ours = native.align_text(native.judge_text(source_of(qrels)), source_of(text), ReadOptions())
    assert_same_hits(ours, reference.align_text(reference.judge_text(source_of(qrels)), source_of(text), ReadOptions()))


def test_ranks_with_a_sign_and_of_many_digits_order_a_run_as_in_the_reference() -> None:
    ranks = ("-123456789012", "-2", "-1", "-0", "+1", "7", "+123456789", "12345678901", "999999999999999999")
    rows = [f"q Q0 d{at} {rank} 1 t\n" for at, rank in enumerate(ranks)]
    text = "".join([*rows[1::2], *rows[::2]]).encode()
    qrels = "".join(f"q 0 d{at} {at}\n" for at in range(len(ranks))).encode()
    read_options = ReadOptions(order="rank")
    found = native.align_text(native.judge_text(source_of(qrels)), source_of(text), read_options)
    assert_same_hits(found, reference.align_text(reference.judge_text(source_of(qrels)), source_of(text), read_options))
    assert found.grades.tolist() == list(range(len(ranks)))


NEIGHBOURS = (
    "-0",
    "-1",
    "-2",
    "+5",
    "+6",
    "8",
    "9",
    ":",
    "/",
    "0",
    "1",
    "09",
    "10",
    "a",
    "b",
    "\x01",
    "12345678",
    "12345679",
    "123456789",
)


@pytest.mark.parametrize("first", NEIGHBOURS)
def test_a_rank_after_any_other_is_read_as_in_the_reference(first: str) -> None:
    qrels = b"q 0 d0 1\nq 0 d1 2\n"
    ours, theirs = native.judge_text(source_of(qrels)), reference.judge_text(source_of(qrels))
    for second in NEIGHBOURS:
        text = f"q Q0 d0 {first} 1 t\nq Q0 d1 {second} 1 t\n".encode()
        for order in ("rank", "score"):
            read_options = ReadOptions(order=order)
            found = outcome(partial(native.align_text, ours, source_of(text), read_options))
            assert_same_hits(found, outcome(partial(reference.align_text, theirs, source_of(text), read_options)))


SCORE_FORMS = [
    *(".5", "5.", "-.25", "-0.0", "0.", "1234567890123.45", "123456789012345.", "-12345678901234.5", "12345678901234567.5"),
    *("7", "-3", "+2.5", "1e3", "2.5e-1", "9007199254740993", "0.1", "-0.30000000000000004", "99.9", "100.0001"),
]


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize("seed", range(8))
def test_scores_of_any_forms_beside_each_other_have_the_bits_of_float(seed: int, level: int) -> None:
    rng = random.Random(seed)
    tokens = [token for token in SCORE_FORMS for _ in range(1 + rng.randrange(3))]
    tokens += [f"{rng.uniform(-1e3, 1e3):.{rng.randrange(1, 12)}f}" for _ in range(rng.choice([0, 50, 600]))]
    rng.shuffle(tokens)
    # A score and the shortest text with the same bits are tied.
    rows = [f"q Q0 a{at} 1 {token} t\nq Q0 b{at} 1 {float(token)!r} t\n" for at, token in enumerate(tokens)]
    text = "".join(rows).encode()
    qrels = "".join(f"q 0 {side}{at} {at % 5}\n" for at in range(len(tokens)) for side in "ab").encode()
    found = native.align_text(native.judge_text(source_of(qrels)), source_of(text), ReadOptions(), level=level)
    assert_same_hits(found, reference.align_text(reference.judge_text(source_of(qrels)), source_of(text), ReadOptions()))
    assert found.ties.sizes.min() > 1


@pytest.mark.parametrize("odd", [".", "-.", "1.2.3", "1..2", "-", "1.5x", "x1.5", "1.2.345678901234", "--1.5", "1,5"])
@pytest.mark.parametrize("place", range(4))
def test_a_wrong_score_at_any_place_is_rejected_with_its_line(odd: str, place: int) -> None:
    scores = ["4.5", "3.25", "2.125", "1.0625", "0.5"]
    scores[place] = odd
    text = "".join(f"q Q0 d{at} {at + 1} {score} t\n" for at, score in enumerate(scores)).encode()
    with pytest.raises(InputError, match=f"file.txt:{place + 1}: "):
        native.align_text(native.judge_text(source_of(b"q 0 d0 1\n")), source_of(text), ReadOptions())


@pytest.mark.parametrize("ranks", [(2, 1, 3), (1, 3, 2), (1, 2, 3)])
def test_ranks_that_fall_at_any_row_are_compared_with_the_scores_as_in_the_reference(ranks: tuple[int, ...]) -> None:
    text = "".join(f"q Q0 d{rank} {rank} {3 - at} t\n" for at, rank in enumerate(ranks)).encode()
    qrels = b"q 0 d1 1\nq 0 d2 0\n"
    found = native.align_text(native.judge_text(source_of(qrels)), source_of(text), ReadOptions())
    wanted = reference.align_text(reference.judge_text(source_of(qrels)), source_of(text), ReadOptions())
    assert_same_hits(found, wanted)
    assert found.alignment_counts == wanted.alignment_counts


def test_a_judgement_that_comes_again_is_counted_and_one_with_another_grade_rejected() -> None:
    rows = [f"q{at % 7} 0 document-{at} {at % 3}\n" for at in range(3_000)]
    judged = native.judge_text(source_of("".join([*rows, *rows]).encode()))
    assert (judged.repeats, len(judged.grades)) == (3_000, 3_000)
    message = r"file.txt:3001: document document-40 has two grades for query q5: 1 \(at line 41\) and 2"
    with pytest.raises(InputError, match=message):
        native.judge_text(source_of("".join([*rows, "q5 0 document-40 2\n"]).encode()))


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize(("space", "end"), [(" ", "\n"), ("\t", "\r\n"), ("\v", "\r"), ("\f", "\n")])
def test_white_space_ends_columns_and_lines_whatever_the_width_of_the_vectors(space: str, end: str, level: int) -> None:
    rows = [space.join([f"q{at % 3}", "Q0", f"d{at}", str(at), str(99 - at), "t"]) + end for at in range(99)]
    qrels = "".join(f"q{at % 3} 0 d{at} 1\n" for at in range(99)).encode()
    grouped = "".join(sorted(rows)).encode()
    found = native.align_text(native.judge_text(source_of(qrels)), source_of(grouped), ReadOptions(), level=level)
    assert found is not None
    assert_same_hits(found, reference.align_text(reference.judge_text(source_of(qrels)), source_of(grouped), ReadOptions()))
    assert len(found.ranks) == 99
    odd = grouped + f"q9 Q0 two{space}words 1 2.5 t{end}".encode()
    with pytest.raises(InputError, match=r"file\.txt:100: 7 columns where a run has 6"):
        native.align_text(native.judge_text(source_of(qrels)), source_of(odd), ReadOptions(), level=level)


@pytest.mark.parametrize("characters", ["0123456789", string.ascii_letters, string.punctuation])
def test_no_other_character_is_taken_for_a_digit_of_a_rank(characters: str) -> None:
    judged = native.judge_text(source_of(b"q 0 d 1\n"))
    for character in characters:
        source = source_of(f"q Q0 d {8 * character} 1.0 t\n".encode())
        if character.isdigit():
            assert native.align_text(judged, source, ReadOptions(order="rank")).ranks.tolist() == [1]
        else:
            with pytest.raises(InputError, match="the rank is not a whole number"):
                native.align_text(judged, source, ReadOptions(order="rank"))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_order_of_ranks_and_scores_is_counted_as_in_the_reference_for_all_small_queries(size: int) -> None:
    """A run for each choice of ranks, of which some or all may be no numbers, with a query for each choice of scores."""
    scores = [*product("123" if size < 4 else "12", repeat=size)]
    qrels = "".join(f"q{query} 0 d{at} {at}\n" for query in range(len(scores)) for at in range(size)).encode()
    ours, theirs = native.judge_text(source_of(qrels)), reference.judge_text(source_of(qrels))
    directions = set()
    for ranks in product(["1", "2", "3", "x"] if size < 4 else ["1", "7", "x"], repeat=size):
        rows = [f"q{query} Q0 d{at} {ranks[at]} {own[at]} t\n" for query, own in enumerate(scores) for at in range(size)]
        text = "".join(rows).encode()
        found, wanted = (engine(judged, source_of(text)) for engine, judged in ((align_here, ours), (align_there, theirs)))
        assert_same_hits(found, wanted)
        assert found.alignment_counts == wanted.alignment_counts
        directions.add((found.alignment_counts.backwards > 0, found.alignment_counts.forwards > 0))
    assert directions == ({(False, False)} if size < 3 else {(False, False), (True, True)})


def align_here(judged: JudgedQueries, source: ByteSource) -> Hits:
    hits: Hits = native.align_text(judged, source, ReadOptions())
    return hits


def align_there(judged: JudgedQueries, source: ByteSource) -> Hits:
    return reference.align_text(judged, source, ReadOptions())


@pytest.mark.parametrize("second", ["0", "Q0", "1234-5678-of-32-".replace("of", "00") * 2])
def test_judgements_with_one_value_in_the_second_column_are_not_read_again_in_python(
    second: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trec, "read_marked_qrels", None)
    text = source_of("".join(f"q {second} {doc} 1\n" for doc in ("a", "bb", "Q0", "0")).encode())
    assert_same_judged(native.judge_text(text), reference.judge_text(text))
    with pytest.raises(TypeError):
        native.judge_text(source_of(b"q 0 a 1\nq 1 b 1\n"))


@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 128, 512, 513])
@pytest.mark.parametrize("order", ["falling", "rising", "mixed"])
def test_any_number_of_documents_fits_the_buffers(count: int, order: str) -> None:
    """As many judged documents, hits and rows as a buffer has room for, and one less or more."""
    rising = range(count)
    scores = {"falling": rising[::-1], "rising": rising, "mixed": [at * 7919 % count // 3 for at in rising]}[order]
    text = "".join(f"q Q0 d{at} 1 {score} t{at % 20}\n" for at, score in enumerate(scores)).encode()
    qrels = "".join(f"q 0 d{at} {at % 4}\n" for at in range(count)).encode()
    ours, theirs = native.judge_text(source_of(qrels)), reference.judge_text(source_of(qrels))
    assert_same_judged(ours, theirs)
    found = native.align_text(ours, source_of(text), ReadOptions())
    assert_same_hits(found, reference.align_text(theirs, source_of(text), ReadOptions()))


@pytest.mark.parametrize("count", [1, 7, 8, 15, 16, 17, 33])
def test_any_number_of_queries_and_tags_fits_the_buffers(count: int) -> None:
    """A query is judged if its number is even; the queries come twice, so that their rows are grouped."""
    qrels = "".join(f"q{at} 0 d 1\nq{at} 0 e 2\n" for at in range(0, count, 2)).encode()
    rows = [f"q{at} Q0 {doc} 1 1 t{at}\n" for doc in "dex" for at in range(count)]
    ours, theirs = native.judge_text(source_of(qrels)), reference.judge_text(source_of(qrels))
    for lines in (rows, sorted(rows)):
        text = source_of("".join(lines).encode())
        assert_same_hits(native.align_text(ours, text, ReadOptions()), reference.align_text(theirs, text, ReadOptions()))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17, 31])
def test_a_wrong_byte_at_any_place_of_an_id_is_found(size: int) -> None:
    for at in range(size):
        for byte in (b"\xff", b"\x80"):
            text = source_of(b"q  0 %b 1\n" % (b"x" * at + byte + b"x" * (size - at - 1)))
            assert_same_judged(outcome(partial(native.judge_text, text)), outcome(partial(reference.judge_text, text)))


@pytest.mark.parametrize("size", [1, 7, 8, 9, 16, 17, 31])
def test_an_accent_at_any_place_of_an_id_has_another_form(size: int) -> None:
    for at in range(size):
        ids = ["x" * at + accented + "x" * (size - at - 1) for accented in ("é", "e\u0301")]
        qrels = f"{ids[0]} 0 {ids[0]} 1\nq 0 {ids[0]} 1\n".encode()
        text = source_of(f"q Q0 {ids[1]} 1 1 t\n{ids[1]} Q0 d 1 1 t\n".encode())
        found = native.align_text(native.judge_text(source_of(qrels)), text, ReadOptions())
        assert_same_hits(found, reference.align_text(reference.judge_text(source_of(qrels)), text, ReadOptions()))
        assert found.alignment_counts.unicode_forms == 2


def test_ids_that_differ_in_one_byte_are_told_apart() -> None:
    """Of every length around 8 and 16 bytes, which have their own comparisons, at every place."""
    ids = [b"a" * size for size in (1, 7, 8, 9, 15, 16, 17, 24)]
    ids += [id[:at] + b"b" + id[at + 1 :] for id in ids for at in range(len(id))]
    qrels = b"".join(b"q 0 %b %d\n" % (id, at) for at, id in enumerate(ids))
    text = b"".join(b"q Q0 %b 1 %d t\n" % (id, -at) for at, id in enumerate(ids))
    assert len(set(ids)) == len(ids) > 100
    found = native.align_text(native.judge_text(source_of(qrels)), source_of(text), ReadOptions())
    assert found.grades.tolist() == list(range(len(ids)))


def test_a_small_file_is_read_after_one_whose_memory_is_not_kept() -> None:
    rows = 300_000
    large = source_of(b"".join(b"1 0 %d 1\n" % doc for doc in range(rows)))
    assert native.judge_text(large).grades.sum() == rows
    small = native.judge_text(source_of(b"1 0 a 2\n"))
    assert (small.queries, small.grades.tolist()) == (("1",), [2])
    run = source_of(b"".join(b"1 Q0 %d 1 1 t\n" % doc for doc in range(rows)))
    assert native.align_text(small, run, ReadOptions()).alignment_counts.rows == rows
    assert native.align_text(small, source_of(b"1 Q0 a 1 1 t\n"), ReadOptions()).ranks.tolist() == [1]
