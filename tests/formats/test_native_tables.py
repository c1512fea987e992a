"""CSV, TSV, BEIR, JSON and JSONL read in C give the runs, judgements and messages of the readers in Python."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.run import Run
from rankproof._data.validation import ReadOptions
from rankproof._formats import native
from rankproof._formats.columns import Kind
from rankproof._formats.csv import BEIR, CSV, TSV, DelimitedFormat
from rankproof._formats.json import native_reader
from rankproof._formats.rows import ParseOptions
from rankproof.errors import InputError
from support.examples import examples
from support.native_cases import BLOCKS, assert_same_in_both, noisy, read, readings, source_of

align = pytest.importorskip("rankproof._native.align", exc_type=ImportError)

Value = TypeVar("Value")
KINDS: st.SearchStrategy[Kind] = st.sampled_from(["run", "qrels"])
IDS = ["q", "d1", "d2", "é", "日本", "a id", "0123456789abcdefg", "x" * 70, "-1"]
ODD_IDS = ["", '"', 'a"b', "a,b", "a;b", "a\tb", "a\nb", "a\r\nb", "#a", "\ufeff", "\x00", "\xa0", "\x1c", "\u2028", "y" * 3000]
SCORES = ["1", "2.5", "-0", "0", "-0.0", "1e2", "1E-3", "9007199254740993", "0.30000000000000004", "1.7976931348623157e308"]
ODD_SCORES = ["nan", "inf", "1e999", "", " 1", "1 ", "0x1", "1_0", "1,5", "+1", ".5", "5.", "9" * 400, "x", "١"]
RANKS = ["1", "2", "3.0", "10"]
ODD_RANKS = ["", "x", "-1", "+2", "1.5", "1.", ".0", "1.0.0", "1" * 18, "1" * 19, "0", "2.00"]
GRADES = ["0", "1", "2", "-1"]
ODD_GRADES = ["", "+1", "007", "1000", "1001", "1.0", "2.5", "x", "-9223372036854775808", "99999999999999999999", "true"]
TAGS = ["t", "t", "u", "", "two words"]
LABELS = ["people", "people", "", "keywords:"]
ODD_LABELS = ["llm:x:1", "heuristic:y", "clicks:z:2"]
ENDS = ["\n", "\r\n", "\r", "\n\n", "\n# note\n", "\n \t\n", "\n#a,b,c,d,e\n", '\n#"\n', "\n\x1c\n"]

ODD_IN_200 = st.shared(st.sampled_from([0, 0, 0, 1, 2, 20]), key="odd")
"""How many of 200 choices are odd; most texts have none or one, so that C reads many of them to the end."""


def usually(common: list[str], rare: list[str]) -> st.SearchStrategy[str]:
    """A common text, or now and then an odd one."""
    picked = st.integers(0, 199).flatmap(lambda at: ODD_IN_200.flatmap(lambda odd: st.just(100 <= at < 100 + odd)))
    return picked.flatmap(lambda odd: st.sampled_from(rare if odd else common))


def whole_or_broken(texts: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    """The text in UTF-8, sometimes with noise in it and sometimes cut off."""
    whole = texts.map(str.encode)
    cut = whole.flatmap(lambda text: st.integers(0, len(text)).map(lambda at: text[:at]))
    return st.one_of(whole, whole, whole, whole, noisy(whole), cut)


# Tables in text.

ROLES: dict[Kind, dict[str, st.SearchStrategy[str]]] = {
    "run": {
        "query_id": usually(IDS[:4], ODD_IDS),
        "doc_id": usually(IDS, ODD_IDS),
        "score": usually(SCORES, ODD_SCORES),
        "rank": usually(RANKS, ODD_RANKS),
        "tag": st.sampled_from(TAGS),
    },
    "qrels": {
        "Query-ID": usually(IDS[:4], ODD_IDS),
        "corpus-id": usually(IDS, ODD_IDS),
        "rel": usually(GRADES, ODD_GRADES),
        "judged-by": usually(LABELS, ODD_LABELS),
        "note": usually(["", "n"], ['"']),
    },
}


@st.composite
def tables(draw: st.DrawFn, kind: Kind, delimiter: str) -> str:
    """A table under a header of some of the names, in any order."""
    roles = ROLES[kind]
    needed = [*list(roles)[:3], *draw(st.lists(st.sampled_from(list(roles)[3:]), unique=True))]
    some = st.permutations(needed)
    names = draw(st.one_of(some, some, some, st.lists(st.sampled_from([*roles, "score", "x", ""]), max_size=5)))
    end = usually(["\n"], ENDS)
    rows = draw(st.lists(st.tuples(*[roles.get(name, st.just("z")) for name in names]), min_size=1, max_size=10))
    lines = [delimiter.join(written(draw, cell, delimiter) for cell in row) + draw(end) for row in [names, *rows]]
    return draw(usually(["", "\ufeff"], ["\n", "# first\n", '#"a\n', " "])) + "".join(lines)


def written(draw: st.DrawFn, cell: str, delimiter: str) -> str:
    """A cell, usually quoted where it has to be and sometimes where not."""
    needs = any(char in cell for char in (delimiter, '"', "\n", "\r"))
    how = draw(usually(["as needed", "as needed", "quoted"], ["bare"]))
    return '"' + cell.replace('"', '""') + '"' if (needs and how == "as needed") or how == "quoted" else cell


@examples(600)
@given(data=st.data(), kind=KINDS, delimiter=st.sampled_from([",", "\t", ";", " "]), read_options=readings(), block=BLOCKS)
def test_a_delimited_table_is_read_as_in_python(
    data: st.DataObject, kind: Kind, delimiter: str, read_options: ReadOptions, block: int
) -> None:
    text = data.draw(whole_or_broken(tables(kind, delimiter)))
    assert_same_in_both("csv", text, kind, ParseOptions(delimiter, read_options=read_options), block)
    if delimiter == "\t":
        assert_same_in_both("beir", text, kind, ParseOptions(read_options=read_options), block)


@st.composite
def beir_rows(draw: st.DrawFn, kind: Kind) -> str:
    value = usually(SCORES, ODD_SCORES) if kind == "run" else usually(GRADES, ODD_GRADES)
    space = draw(st.sampled_from(["\t", " ", "  "]))
    line = st.tuples(usually(IDS[:4], ODD_IDS), usually(IDS, ODD_IDS), value).map(space.join)
    return "".join(row + draw(usually(["\n"], ENDS)) for row in draw(st.lists(line, max_size=8)))


@pytest.mark.slow
@examples(300)
@given(data=st.data(), kind=KINDS, read_options=readings(), block=BLOCKS)
def test_beir_rows_without_a_header_are_read_as_in_python(
    data: st.DataObject, kind: Kind, read_options: ReadOptions, block: int
) -> None:
    text = data.draw(whole_or_broken(beir_rows(kind)))
    assert_same_in_both("beir", text, kind, ParseOptions(read_options=read_options), block)


# JSON.

KEYS = [
    '"q1"',
    '"q2"',
    '"d1"',
    '"d2"',
    '"é"',
    '"日本"',
    r'"\u00e9"',
    r'"\ud83d\ude00"',
    r'"\udbff\udfff"',
    r'"a\nb"',
    r'"a\"b\\\/\b\f\r\t"',
    '"\x7f"',
]
ODD_KEYS = [
    *('""', r'"\ud800"', r'"\ude00\ud83d"', r'"\ud83d\u0041"', r'"\u0000"', r'"\x"', r'"\u12"', r'"\u12G4"', '"a\tb"', '"\x00"'),
    *("'a'", "q", "1", '"open', f'"{"k" * 3000}"', r'"\uD83D\uDE00"', r'"\u0080\u07ff\u0800\uffff"', '"\ufeff"'),
]
NUMBERS = ["1", "2", "0", "-0", "-1", "12"]
DECIMALS = ["2.5", "-0.0", "1e2", "1E+2", "1e-3", "0.1", "9007199254740993", "1.7976931348623157e308", "-3.25"]
ODD_VALUES = [
    *("NaN", "Infinity", "-Infinity", "1e999", "true", "null", '"1"', '"x"', "{}", "[]", "01", "1.", ".5", "-", "1e", "+1", ""),
    *("9" * 400, "9" * 5000, "1.0", "1001", "1000", "-9223372036854775808", "99999999999999999999", "falsy", "1" * 19),
]
SPACES = ["", "", " ", "\n", "\r\n", "\t", "  "]
ODD_SPACES = ["\x0b", "\xa0", "# x\n", "\r"]


@st.composite
def objects(draw: st.DrawFn, keys: st.SearchStrategy[str], values: st.SearchStrategy[str], most: int, spaces: list[str]) -> str:
    """An object, sometimes with a comma too many or too few."""
    space = usually(spaces, ODD_SPACES)
    comma = usually([","], [",,", "", ";"])
    found = draw(st.lists(keys, min_size=1, max_size=most))
    kept = draw(usually(["distinct"], ["all"]))
    parts = [
        f"{draw(space)}{key}{draw(space)}:{draw(space)}{draw(values)}{draw(space)}"
        for key in (dict.fromkeys(found) if kept == "distinct" else found)
    ]
    text = "".join(part + draw(comma) for part in parts[:-1]) + "".join(parts[-1:])
    return draw(space) + "{" + text + draw(usually([""], [",", "}"])) + "}" + draw(space)


def mappings(kind: Kind) -> st.SearchStrategy[str]:
    """A mapping of mappings, with repeated keys now and then."""
    numbers = usually(NUMBERS + (DECIMALS if kind == "run" else []), ODD_VALUES)
    inner = objects(usually(KEYS, ODD_KEYS), numbers, 6, SPACES)
    return objects(usually(KEYS, ODD_KEYS), inner, 4, SPACES)


@st.composite
def row_objects(draw: st.DrawFn, kind: Kind, spaces: list[str]) -> list[str]:
    """Rows that have mostly the same keys."""
    values = numbers(kind)
    cells = {"query_id": ids(), "doc_id": ids(), "score" if kind == "run" else "rel": values, "rank": ranks(), "tag": tags()}
    cells |= {"judged_by": labels(), "x": usually(["null", "true", "false", '"y"'], ['{"a": 1}', "[1]", r'"\ud800"', "nul"])}
    names = draw(st.permutations(list(cells)[:3]).flatmap(lambda some: st.just([*some, "rank", "x"]) | st.just(some)))
    found = []
    for _ in range(draw(st.integers(0, 8))):
        changed = draw(usually([""], ["tag", "judged_by", "query_id", "rank", "\\u0078", "é"]))
        own = [*names, changed] if changed else list(names)
        space = usually(spaces, ODD_SPACES)
        parts = [f'{draw(space)}"{name}"{draw(space)}:{draw(space)}{draw(cells.get(name, values))}' for name in own]
        found.append("{" + ",".join(parts) + draw(space) + "}")
    return found


def ids() -> st.SearchStrategy[str]:
    return usually([*KEYS, "7", "12"], [*ODD_KEYS, "-0", "1.5", "null", "true", "9" * 4200, "[]"])


def numbers(kind: Kind) -> st.SearchStrategy[str]:
    return usually(NUMBERS + (DECIMALS if kind == "run" else []), ODD_VALUES)


def ranks() -> st.SearchStrategy[str]:
    return usually(
        ["1", "2", '"3"'], ['"3.0"', "1.0", "1.5", "null", "true", '"x"', "9" * 18, "-" + "9" * 18, "9" * 19, "1e2", '""']
    )


def tags() -> st.SearchStrategy[str]:
    return usually(['"t"', '"u"', '""'], ["null", "1", "true", r'"\u00e9"', r'"\ud800"', r'"\u0000"'])


def labels() -> st.SearchStrategy[str]:
    return usually(['"people"', "null"], ['"llm:x:1"', r'"\u006clm:x"', "1", '"llm:"'])


@st.composite
def json_lines(draw: st.DrawFn, kind: Kind) -> str:
    ends = usually(["\n"], ["\r\n", "\r", "\n\n", "\n# x\n", "\n \n", " \n", "\n\x1c\n", "", "\n1\n", "}\n"])
    rows = draw(row_objects(kind, ["", " ", "\t"]))
    return draw(usually(["", "\ufeff"], [" ", "\n", "#\n"])) + "".join(row + draw(ends) for row in rows)


@st.composite
def json_arrays(draw: st.DrawFn, kind: Kind) -> str:
    space, comma = usually(SPACES, ODD_SPACES), usually([","], [",,", "", ";"])
    rows = [draw(space) + row + draw(space) for row in draw(row_objects(kind, SPACES))]
    text = "".join(row + draw(comma) for row in rows[:-1]) + "".join(rows[-1:])
    return draw(space) + "[" + text + draw(usually([""], [",", "1"])) + "]" + draw(space)


@examples(600)
@given(data=st.data(), kind=KINDS, read_options=readings(), block=BLOCKS)
def test_json_is_read_as_in_python(data: st.DataObject, kind: Kind, read_options: ReadOptions, block: int) -> None:
    text = data.draw(whole_or_broken(mappings(kind) | json_arrays(kind)))
    assert_same_in_both("json", text, kind, ParseOptions(read_options=read_options), block)


@examples(500)
@given(data=st.data(), kind=KINDS, read_options=readings(), block=BLOCKS)
def test_json_lines_are_read_as_in_python(data: st.DataObject, kind: Kind, read_options: ReadOptions, block: int) -> None:
    text = data.draw(whole_or_broken(json_lines(kind)))
    assert_same_in_both("jsonl", text, kind, ParseOptions(read_options=read_options), block)


NAMES = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=12)
PLAIN_RUNS = st.dictionaries(
    NAMES, st.dictionaries(NAMES, st.floats(allow_nan=False, allow_infinity=False), min_size=1), min_size=1
)


@examples(200)
@given(scores=PLAIN_RUNS, block=BLOCKS, indent=st.sampled_from([None, 1]), ascii=st.booleans())
def test_every_plain_run_in_json_is_read_in_c(
    scores: dict[str, dict[str, float]], block: int, indent: int | None, ascii: bool
) -> None:
    rows = [{"qid": query, "docno": doc, "score": score} for query, docs in scores.items() for doc, score in docs.items()]
    texts = [json.dumps(value, indent=indent, ensure_ascii=ascii).encode() for value in (scores, rows)]
    lines = "".join(json.dumps(row, ensure_ascii=ascii) + "\n" for row in rows).encode()
    with patch.object(native, "BLOCK_BYTES", block):
        runs = [native_run(text, native_reader(ParseOptions(), "run")) for text in texts]
        runs.append(native_run(lines, native_reader(ParseOptions(), "run", by_line=True)))
    assert [scores_of(run) for run in runs] == [scores] * 3


@examples(200)
@given(scores=PLAIN_RUNS, block=BLOCKS, format=st.sampled_from([CSV, TSV]))
def test_every_plain_run_in_csv_is_read_in_c(scores: dict[str, dict[str, float]], block: int, format: DelimitedFormat) -> None:
    plain = {query: docs for query, docs in scores.items() if not {"\n", "\r"} & set("".join([query, *docs]))}
    text = b"".join(format.run_blocks(Run.from_dict(plain)))
    reader = format.native_reader(source_of(text), ParseOptions(), "run")
    with patch.object(native, "BLOCK_BYTES", block):
        assert scores_of(native_run(text, reader)) == plain


def native_run(text: bytes, reader: native.ReadTable) -> Run | None:
    return native.read_run(source_of(text), "x", reader, ParseOptions())


def scores_of(run: Run | None) -> dict[str, dict[str, float]]:
    """The scores by query and document; nothing if C did not read the text."""
    found: dict[str, dict[str, float]] = {}
    for row in () if run is None else run.rows():
        found.setdefault(row.query, {})[row.doc] = row.score
    return found


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        (b"query_id\tdoc_id\trel\nq\td\t1\nq\te\t0\n", lambda source: TSV.native_reader(source, ParseOptions(), "qrels")),
        (b"q\td\t1\nq\te\t0\n", lambda source: BEIR.native_reader(source, "qrels")),
        (b"q d 1\nq  e 0\n", lambda source: BEIR.native_reader(source, "qrels")),
        (b'{"q": {"d": 1, "e": 0}}', lambda source: native_reader(ParseOptions(), "qrels")),
        (
            b'[{"q": "q", "d": "d", "rel": 1}, {"q": "q", "d": "e", "rel": 0}]',
            lambda source: native_reader(ParseOptions(), "qrels"),
        ),
    ],
)
def test_plain_judgements_are_read_in_c(text: bytes, reader: Callable[..., native.ReadTable]) -> None:
    found = native.read_qrels(source_of(text), reader(source_of(text)), ParseOptions())
    assert found is not None
    assert {query: dict(docs) for query, docs in found.items()} == {"q": {"d": 1, "e": 0}}


@pytest.mark.parametrize("comment", [b"#", b"#q,d", b"#q,d,1,x"])
def test_a_comment_with_other_than_the_number_of_columns_is_skipped_in_c(comment: bytes) -> None:
    text = b"query_id,doc_id,score\n" + comment + b"\nq,e,2\n"
    reader = CSV.native_reader(source_of(text), ParseOptions(), "run")
    assert scores_of(native_run(text, reader)) == {"q": {"e": 2.0}}


def test_a_comment_with_as_many_columns_as_the_header_is_not_skipped() -> None:
    text = b"query_id,doc_id,score\n#q,d,1\nq,e,2\n"
    assert native_run(text, CSV.native_reader(source_of(text), ParseOptions(), "run")) is None
    with pytest.raises(InputError, match=r"^file\.txt:2: the line begins with # and has as many columns as the header"):
        read("csv", text, "run", ParseOptions())


@pytest.mark.parametrize("size", [(1 << 20) - 1, 1 << 20, (1 << 20) + 1])
@pytest.mark.parametrize(
    ("format", "head", "front", "back"),
    [
        ("csv", b"qid,did,score\n", b"q,", b",1\n"),
        ("jsonl", b"", b'{"qid": "q", "did": "', b'", "score": 1}\n'),
        ("json", b"", b'{"q": {"', b'": 1}}\n'),
    ],
)
def test_a_very_long_line_is_read_as_in_python(size: int, format: str, head: bytes, front: bytes, back: bytes) -> None:
    text = head + front + b"x" * (size - len(front) - len(back) + 1) + back
    for block in (4096, 1 << 18):
        assert_same_in_both(format, text, "run", ParseOptions(), block)


def test_rows_of_a_query_that_are_apart_are_brought_together() -> None:
    text = b'{"qid": 1, "did": "a", "score": 3}\n{"qid": 2, "did": "b", "score": 2}\n{"qid": "1", "did": "c", "score": 1}\n'
    run = native_run(text, native_reader(ParseOptions(), "run", by_line=True))
    assert run is not None
    assert (run.queries, tuple(run.docs), run.offsets.tolist()) == (("1", "2"), ("a", "c", "b"), [0, 2, 3])
    assert run.lines is not None
    assert run.lines.tolist() == [1, 3, 2]


IN_MAPPINGS = [
    '{"q": {"d": %s}}',
    '{"q": {"d": 1, "e": %s}}',
    '{"q": {%s: 1}}',
    '{%s: {"d": 1}}',
    '{"q": {"d": 1} %s "r": {"d": 2}}',
]
IN_ROWS = [
    '{"qid": "q", "did": "d", "VALUE": %s}',
    '{"qid": %s, "did": "d", "VALUE": 1}',
    '{"did": %s, "qid": "q", "VALUE": 1}',
    '{"qid": "q", "did": "d", "VALUE": 1, "rank": %s}',
    '{"qid": "q", "did": "d", "VALUE": 1, "x": %s}',
    '{"qid": "q", "did": "d" %s "VALUE": 1}',
]
CUT_NUMBERS = [
    "-1.",
    "1.e2",
    "1e+",
    "1e-",
    "1.5e",
    "-",
    "-.5",
    "00",
    "-01",
    "1 2",
    "1.2.3",
    "1e2e3",
    "0x1",
    "tru",
    "nulL",
    "falsE",
]
CUT_ESCAPES = [
    r'"\u"',
    r'"\u0"',
    r'"\u00e"',
    r'"\uG041"',
    r'"\u0g41"',
    r'"\u00@1"',
    r'"\u004`"',
    r'"\ud83d\u12"',
    r'"\ud83dx\ude00"',
    r'"\"',
]
SEPARATORS = [",", ";", ":", "", ",,", "}", "]", ", ,", "\n,\r\n\t"]
TOKENS = [*KEYS, *ODD_KEYS, *NUMBERS, *DECIMALS, *ODD_VALUES, *CUT_NUMBERS, *CUT_ESCAPES, *SEPARATORS, "true", "false", '"3.0"']


@pytest.mark.parametrize("kind", ["run", "qrels"])
@pytest.mark.parametrize("place", [*IN_MAPPINGS, *IN_ROWS])
def test_every_token_in_every_place_of_json_is_read_as_in_python(kind: Kind, place: str) -> None:
    text = place.replace("VALUE", "score" if kind == "run" else "rel")
    for token in TOKENS:
        whole = (text % token).encode()
        if place in IN_ROWS:
            assert_same_in_both("jsonl", whole + b"\n", kind, ParseOptions(), 1 << 18)
        assert_same_in_both("json", b"[%b]" % whole if place in IN_ROWS else whole, kind, ParseOptions(), 1 << 18)


@pytest.mark.parametrize("token", [*KEYS, '"\\uD83D\\uDE00"', '"\\u0080\\u07ff\\u0800\\uffff"'])
def test_an_id_with_escapes_is_read_in_c(token: str) -> None:
    for text in (f'{{"q": {{{token}: 1}}}}', f'[{{"qid": "q", "did": {token}, "score": 1}}]'):
        run = native_run(text.encode(), native_reader(ParseOptions(), "run"))
        assert scores_of(run) == {"q": {json.loads(token): 1.0}}


@pytest.mark.parametrize("space", [" ", "\t", "\n", "\r", "\r\n\t ", ""])
def test_json_with_white_space_anywhere_between_its_tokens_is_read_in_c(space: str) -> None:
    mapping = ["", "{", '"q"', ":", "{", '"d"', ":", "1", ",", '"e"', ":", "2.5", "}", "}", ""]
    rows = ["", "[", "{", '"qid"', ":", '"q"', ",", '"did"', ":", '"d"', ",", '"score"', ":", "1", "}", "]", ""]
    for tokens, expected in ((mapping, {"q": {"d": 1.0, "e": 2.5}}), (rows, {"q": {"d": 1.0}})):
        assert scores_of(native_run(space.join(tokens).encode(), native_reader(ParseOptions(), "run"))) == expected


@pytest.mark.parametrize("value", ["true", "false", "null", '"y"', "1", "-0", "1.5", "2e3"])
def test_a_field_of_another_name_is_passed_in_c(value: str) -> None:
    text = f'[{{"x": {value}, "qid": "q", "did": "d", "score": 2}}, {{"x": {value} , "qid": "q", "did": "e", "score": 1}}]'
    assert scores_of(native_run(text.encode(), native_reader(ParseOptions(), "run"))) == {"q": {"d": 2.0, "e": 1.0}}


@pytest.mark.parametrize("number", [*NUMBERS, *DECIMALS])
def test_a_number_in_json_is_read_in_c(number: str) -> None:
    text = f'{{"q": {{"d": {number}}}}}'.encode()
    assert scores_of(native_run(text, native_reader(ParseOptions(), "run"))) == {"q": {"d": float(number)}}


@pytest.mark.parametrize(
    ("run", "places", "is_read"),
    [
        (True, (0, 1, 2, -1, -1, -1), True),
        (True, (1, 0, 2, -1, -1, -1), True),
        (True, (2, 1, 0, -1, -1, -1), True),
        (True, (0, 1, -1, 2, -1, -1), True),
        (False, (0, 1, 2, -1, -1, -1), True),
        (False, (0, 1, -1, 2, -1, -1), False),
        (True, (-1, 1, 2, -1, -1, -1), False),
        (True, (0, -1, 2, -1, -1, -1), False),
        (True, (0, 1, -1, -1, -1, -1), False),
        (True, (0, 1, 2, 3, -1, -1), False),
        (True, (0, 1, 2, -1, 3, -1), False),
        (False, (0, 1, 2, -1, -1, 3), False),
    ],
)
def test_a_table_needs_columns_of_queries_documents_and_values(run: bool, places: Any, is_read: bool) -> None:
    """The places of query, document, value, rank, tag and label; -1 is none, and there are three columns."""
    text, row = io.BytesIO(b"1,2,3\n"), io.BytesIO(b'[{"a": 1, "b": 2, "c": 3}]')
    delimited = partial(align.read_delimited, text.readinto, run, ord(","), 0, 3, places, 1 << 18)
    rows = partial(align.read_json, row.readinto, run, False, lambda names: places, 1 << 18)
    if is_read:
        assert delimited()[0] == rows()[0] == (str(places[0] + 1),)
        return
    for call in (delimited, rows):
        with pytest.raises(align.ReadError, match="not-plain"):
            call()
    assert text.tell() == 0
