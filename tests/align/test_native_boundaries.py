"""The native reader at the ends of tokens, lines, escapes and buffers, where texts at random seldom lie."""

from __future__ import annotations

import io
import json
from functools import partial
from itertools import permutations, product

import numpy as np
import pytest

from rankproof._align import reference
from rankproof._data.qrels import label_of
from rankproof._data.validation import ReadOptions
from rankproof._formats.rows import ParseOptions
from support.examples import sampled
from support.native_cases import assert_same_hits, assert_same_in_both, assert_same_judged, outcome, source_of

native = pytest.importorskip("rankproof._align.native", exc_type=ImportError)
align = native.align

MODELS = """
chatgpt gpt-4o gpt4 text-davinci-3 davinci claude-3 gemini-2 gemma palm codellama llama-3 qwen2 qwq mistral
open-mixtral ministral magistral deepseek grok-2 kimi olmo granite nemotron vicuna jamba dbrx hunyuan minimax internlm
baichuan smollm exaone doubao umbrela ragas deepeval command-r phi-3 glm-4 yi-34 nova-pro ernie4 falcon7 aya-23
solar-10 prometheus-2 chatglm3 o1-mini o3-x o4-y llm:x keywords:x heuristic:x clicks:x openai/gpt-4o meta/llama
"""


def is_read_in_python(text: str) -> bool:
    """Whether the second column makes the native reader leave judgements to Python."""
    return bool(align.judge_text(io.BytesIO(text.encode()).readinto, None, 64, 3)[-1])


@pytest.mark.parametrize("name", [name for model in MODELS.split() for name in (model, model.upper(), model.title())])
def test_judgements_of_every_known_machine_are_read_in_python(name: str) -> None:
    assert label_of(name)
    text = f"1 {name} a 1\n1 {name} b 2\n"
    assert is_read_in_python(text)
    assert_same_judged(native.judge_text(source_of(text.encode())), reference.judge_text(source_of(text.encode())))


@pytest.mark.parametrize("at", range(4))
def test_a_second_column_is_read_in_python_if_it_has_a_letter_that_is_not_its_first_q(at: int) -> None:
    """A letter may begin the name of a machine; Q0 and numbers are no names, and other signs make none."""
    for byte in [*range(0x21, 0x7F), 0xE9]:
        second = "123"[:at] + chr(byte) + "123"[at:]
        is_name = byte > 0x7F or (chr(byte).isalpha() and (at > 0 or chr(byte) not in "qQ"))
        assert is_read_in_python(f"1 {second} a 1\n1 {second} b 1\n") is is_name, second


@pytest.mark.parametrize(
    ("second", "is_name"), [("ab", True), ("Q0", False), ("abc", True), ("q", True), ("Qab", True), ("12a", True), ("1a", True)]
)
def test_a_short_second_column_is_read_in_python_if_it_has_such_a_letter(second: str, is_name: bool) -> None:
    assert is_read_in_python(f"1 {second} a 1\n1 {second} b 1\n") is is_name


POINTS = [1, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0xFFFF]
AFTER = [
    "",
    "x",
    "\\n",
    "\\u0041",
    "\\ud800",
    "\\udbff",
    "\\udc00",
    "\\udfff",
    "\\ue000",
    "\\udc0",
    "\\/dc00",
    "/udc00",
    "\\xdc00",
]


@pytest.mark.parametrize("point", POINTS, ids=hex)
def test_a_character_behind_an_escape_is_read_as_in_python(point: int) -> None:
    for after in AFTER:
        text = f'{{"q": {{"\\u{point:04x}{after}": 1, "d": 2}}}}'.encode()
        for block in (1, 1 << 18):
            assert_same_in_both("json", text, "run", ParseOptions(), block)


@pytest.mark.parametrize("space", ["\n", "\t", "\r", "\x01", ""])
def test_a_text_of_json_ends_at_its_quote_alone(space: str) -> None:
    for row in (
        '{"q%s: {"d": 1}}',
        '{"q": {"d%s: 1}}',
        '[{"qid%s: "q", "did": "d", "score": 1}]',
        '[{"qid": "q%s, "did": "d", "score": 1}]',
    ):
        for text in (row % space, row % (space + space)):
            assert_same_in_both("json", text.encode(), "run", ParseOptions(), 1 << 18)
            assert_same_in_both("jsonl", text.strip("[]").encode(), "run", ParseOptions(), 1 << 18)


@pytest.mark.parametrize("fields", [63, 64, 65, 66, 130])
def test_a_row_of_json_with_many_fields_is_read_as_in_python(fields: int) -> None:
    row = json.dumps({"qid": "q", "did": "d", "score": 1.5} | {f"field{at}": at for at in range(fields - 3)})
    for text in (f"{row}\n", f"{row}\n{row.replace('did', 'doc_id')}\n", f"[{row}, {row.replace('1.5', '2')}]"):
        assert_same_in_both("jsonl" if text[0] == "{" else "json", text.encode(), "run", ParseOptions(), 1 << 18)


@pytest.mark.parametrize("grades", [(1000, 500, 0), (64, 1, 0), (63, 0, 5), (-100, 900, 3), (7, 7, 900), (2, 1, 0)])
def test_grades_are_listed_highest_first_however_far_apart_they_are(grades: tuple[int, ...]) -> None:
    for order in permutations(grades):
        text = "".join(f"q 0 d{at} {grade}\n" for at, grade in enumerate(order))
        assert native.judge_text(source_of(text.encode())).grades.tolist() == sorted(grades, reverse=True)


@pytest.mark.parametrize("rows", [(2, 2), (3, 2), (2, 3), (3, 3), (1, 2), (2, 1)])
def test_buffers_of_columns_are_released_whether_they_fit_or_not(rows: tuple[int, int]) -> None:
    """A bytearray that somebody still holds cannot grow."""
    handle, options = native.judge_dict({"q": {"a": 1}}, "qrels").handle, native.native_options(ReadOptions())
    scores = bytearray(np.array([2.0, 1.0, 0.0])[: rows[0]].tobytes())
    ranks = bytearray(np.array([1, 2, 3])[: rows[1]].tobytes())
    buffers = [bytearray(np.array([0, 2]).tobytes()), bytearray(b"ab"), bytearray(np.array([0, 1, 2]).tobytes()), scores, ranks]
    offsets, text, bounds, *_ = buffers
    call = partial(align.align_run, handle, options, ("q",), offsets, text, bounds, scores, ranks)
    if rows == (2, 2):
        assert call() is not None
    else:
        with pytest.raises(ValueError, match="same number of rows"):
            call()
    for buffer in buffers:
        buffer.append(0)


@pytest.mark.parametrize(
    ("queries", "offsets"),
    [
        (("q",), [0, 1]),
        (("q",), [1, 2]),
        (("q",), [0, 3]),
        (("q",), [0, 1, 2]),
        (("q", "r"), [0, 2]),
        (("q", "r"), [0, 3, 2]),
        (("q", "r"), [0, -1, 2]),
        ((), [0]),
    ],
)
def test_offsets_that_do_not_divide_the_rows_are_rejected(queries: tuple[str, ...], offsets: list[int]) -> None:
    handle, options = native.judge_dict({"q": {"a": 1}}, "qrels").handle, native.native_options(ReadOptions())
    with pytest.raises(ValueError, match="same number of rows"):
        align.align_run(handle, options, queries, np.array(offsets), ("a", "b"), None, np.array([2.0, 1.0]), None)


TEXTS_WITH_NUL = [b"q%c 0 d 1\n", b"q 0%c d 1\n", b"q 0 d%c 1\n", b"q 0 d 1%c\n", b"# %c\nq 0 d 1\n", b"q 0 d 1\n%c"]


@pytest.mark.parametrize("text", [text % byte for text in TEXTS_WITH_NUL for byte in (0, 1)])
def test_a_nul_anywhere_in_a_text_is_refused_or_passed_as_in_the_reference(text: bytes) -> None:
    judged = [outcome(partial(engine.judge_text, source_of(text))) for engine in (native, reference)]
    assert_same_judged(*judged)
    if b"\0" in text:
        for block in (1, 4, 64):
            with pytest.raises(align.ReadError, match=r"nul|grade|qrels-columns"):
                align.judge_text(io.BytesIO(text).readinto, None, block, 3)


TOKENS = ["1", "12", "-1", "+3", "1.5", ".5", "5.", "1e2", "2E1", "1e-1", "-", "+", "", "1e", "007", "123456789", "12345678.5"]


@pytest.mark.parametrize("delimiter", ["-", "+", ".", "e", "E", "5", "0", ","])
def test_a_number_ends_at_its_delimiter_whatever_that_is(delimiter: str) -> None:
    """Scores, ranks and grades, first and last in their line, each followed by another number."""
    tokens = [token for token in TOKENS if delimiter not in token]
    assert len(tokens) >= 8
    for token, other in product(tokens, ["1", "q"]):
        for cells, places in (([token, "q", "d", other], (1, 2, 0)), (["q", "d", other, token], (0, 1, 3))):
            line = delimiter.join(cells).encode() + b"\n"
            for run in (True, False):
                plain = [cell.encode() for cell in cells]
                assert delimited(line, ord(delimiter), run, places) == delimited(b"\x1f".join(plain) + b"\n", 0x1F, run, places)


def delimited(line: bytes, delimiter: int, run: bool, places: tuple[int, int, int]) -> object:
    try:
        return align.read_delimited(io.BytesIO(line).readinto, run, delimiter, 0, 4, (*places, -1, -1, -1), 64)
    except align.ReadError as error:
        return error.args


BODIES = ["", "q 0 %s 1", "q  0 %s 1", " q 0 %s 1", "# q", " "]


@pytest.mark.parametrize("ends", sampled(product(["\n", "\r", "\r\n"], repeat=3), 4), ids=repr)
def test_lines_are_counted_as_in_the_reference_whatever_ends_them(ends: tuple[str, ...]) -> None:
    """The last line is wrong, so that its number is in the message; the blocks end within line endings."""
    for bodies in product(BODIES, repeat=2):
        lines = [body % f"d{at}" if "%" in body else body for at, body in enumerate(bodies)]
        text = "".join(line + end for line, end in zip([*lines, "q 0 x"], ends, strict=True)).encode()
        wanted = outcome(partial(reference.judge_text, source_of(text)))
        assert isinstance(wanted, str)
        for block in (1, 3, 64):
            with pytest.raises(align.ReadError) as error:
                align.judge_text(io.BytesIO(text).readinto, None, block, 3)
            assert f":{error.value.args[1]}:" in wanted


@pytest.mark.parametrize("size", [1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 40])
def test_hashes_of_ids_differ_in_their_first_and_their_last_bits(size: int) -> None:
    """The hashes of queries that are not judged, compared with numbers at random: those find their slots at once."""
    letters = np.frombuffer(b"0123456789abcdef", np.uint8)
    digits = letters[np.stack([np.arange(4096) >> shift & 15 for shift in (8, 4, 0)], axis=1)]
    last = {bytes(row[-size:]).rjust(size, b"x") for row in digits}
    ids = sorted(last | {bytes(row[:size]).ljust(size, b"x") for row in digits})
    text = b"".join(b"%b Q0 d 1 1 t\n" % id for id in ids)
    handle = native.judge_dict({"judged": {"a": 1}}, "qrels").handle
    options = native.native_options(ReadOptions())
    result = align.align_text(handle, io.BytesIO(text).readinto, options, 1 << 16, 3, False, False)
    hashes = np.frombuffer(result[-1], np.uint64)
    assert len(set(hashes.tolist())) == len(hashes) == len(ids)
    expected = 4096 * (1 - (1 - 1 / 4096) ** len(ids))
    for shift in (0, 20, 40, 52):
        distinct = len(set((hashes >> np.uint64(shift) & np.uint64(4095)).tolist()))
        assert distinct > expected / 4


def test_ids_that_differ_in_their_size_or_in_any_byte_have_other_hashes() -> None:
    ids = [b"a" * size for size in range(1, 70)]
    ids += [id[:at] + b"b" + id[at + 1 :] for id in ids for at in range(len(id))]
    handle = native.judge_dict({"judged": {"a": 1}}, "qrels").handle
    text = b"".join(b"%b Q0 d 1 1 t\n" % id for id in ids)
    options = native.native_options(ReadOptions())
    result = align.align_text(handle, io.BytesIO(text).readinto, options, 1 << 16, 3, False, False)
    assert len(set(np.frombuffer(result[-1], np.uint64).tolist())) == len(ids) == 2484


@pytest.mark.parametrize("ranks", [[1, 2, 2], [2, 1, 1], [3, 3, 3], [1, 1, 2], [9, 5, 7], [2**62, 1, -(2**62)]])
def test_equal_and_distant_ranks_are_compared_with_the_scores_as_in_the_reference(ranks: list[int]) -> None:
    judgements = b"q 0 a 1\nq 0 b 0\nq 0 c 2\n"
    ours, theirs = native.judge_text(source_of(judgements)), reference.judge_text(source_of(judgements))
    for scores, rows in product(product([1, 2, 3], repeat=3), permutations(range(3))):
        text = "".join(f"q Q0 {'abc'[row]} {ranks[row]} {scores[row]} t\n" for row in rows).encode()
        found = native.align_text(ours, source_of(text), ReadOptions())
        assert_same_hits(found, reference.align_text(theirs, source_of(text), ReadOptions()))


@pytest.mark.parametrize("level", range(4))
def test_a_line_that_lacks_a_column_is_rejected_wherever_it_begins(level: int) -> None:
    """A block of 64 bytes that is scanned at once begins at every place of the line."""
    judged = native.judge_text(source_of(b"q 0 d 1\n"))
    for size in range(1, 65):
        text = b"q Q0 %b 1 2 t\nq Q0 %b 1 t\n" % (b"d" * size, b"e" * 60)
        message = outcome(partial(native.align_text, judged, source_of(text), ReadOptions(), level=level))
        assert isinstance(message, str)
        assert message.startswith("file.txt:2: 5 columns")
