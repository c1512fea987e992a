"""claims.jsonl and contexts.jsonl: written and read back as they were, and refused with the line of what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.claims import AGAINST, VERDICTS, Claim, ClaimVerdict, Side
from rankproof._data.wording.remarks import Remark
from rankproof._formats.claims import claim_blocks, context_blocks, read_claims, read_contexts
from rankproof._io.open import open_source
from rankproof.errors import InputError
from support.hostile_strings import STRINGS

LINE: dict[str, Any] = {
    **{"query": "q1", "system": "a", "side": "answer", "n": 1, "start": 0, "end": 9, "text": "It rains."},
    **{"against": "contexts", "verdict": "supported", "evidence": [[2, 4]], "judge": "llm:m:0"},
}


def read_back(blocks: bytes, folder: Path) -> list[ClaimVerdict]:
    (folder / "claims.jsonl").write_bytes(blocks)
    return read_claims(open_source(str(folder / "claims.jsonl")))


def read_lines(folder: Path, *lines: dict[str, Any]) -> list[ClaimVerdict]:
    return read_back("".join(f"{json.dumps(line)}\n" for line in lines).encode(), folder)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
counts = st.integers(1, 9)
claims = st.builds(
    lambda side, n, text, place, reference, remark, lead_in: Claim(side, n, text, place[0], place[1], reference, remark, lead_in),
    st.sampled_from(get_args(Side)),
    counts,
    texts,
    st.just((None, None)) | st.tuples(st.integers(0, 5), st.integers(5, 9)),
    counts,
    st.none() | st.sampled_from(get_args(Remark)),
    st.just("") | texts,
)
verdicts = st.builds(
    ClaimVerdict,
    query=texts,
    system=texts,
    claim=claims,
    against=st.sampled_from([*AGAINST, "criterion:tone:0a1b2c3d"]),
    verdict=st.sampled_from(VERDICTS),
    judge=texts,
    evidence=st.lists(st.tuples(counts, counts), max_size=3).map(tuple),
    score=st.none() | st.floats(0, 1),
    reason=st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    shown=st.none() | st.lists(counts, max_size=3).map(tuple),
    importance=st.sampled_from([None, "vital", "okay"]),
)


@given(st.lists(verdicts, min_size=1, max_size=4, unique_by=lambda one: (one.query, one.system, one.claim.text)))
def test_verdicts_are_read_back_as_they_were_written(
    tmp_path_factory: pytest.TempPathFactory, written: list[ClaimVerdict]
) -> None:
    assert read_back(b"".join(claim_blocks(written)), tmp_path_factory.mktemp("claims")) == written


def test_a_line_has_the_keys_in_the_documented_order_and_leaves_out_what_is_not_set() -> None:
    claim = Claim("answer", 1, "It rains.", 0, 9)
    (line,) = claim_blocks([ClaimVerdict("q1", "a", claim, "contexts", "supported", "llm:m:0", ((2, 4),))])
    assert line.decode() == f"{json.dumps(LINE)}\n"
    full = ClaimVerdict("q1", "a", Claim("nugget", 2, "wet"), "answer", "failed", "j", (), 0.5, "cut", (1,), "okay")
    (line,) = claim_blocks([full])
    added = ["score", "reason", "shown", "importance"]
    assert list(json.loads(line)) == [*LINE, *added]


@pytest.mark.parametrize("text", STRINGS, ids=lambda text: ascii(text)[:30])
def test_hostile_text_is_one_line_without_invisible_characters(text: str, tmp_path: Path) -> None:
    written = [ClaimVerdict(text, text, Claim("answer", 1, text), "contexts", "failed", text or "j", reason=text)]
    line = b"".join(claim_blocks(written))
    assert line.count(b"\n") == 1
    assert not {"\x1b", "\u202e", "\x00"} & set(line.decode())
    assert read_back(line, tmp_path) == written


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"verdict": "maybe"}, "verdict is not one of supported, contradicted, not_stated, nothing_to_check, failed"),
        ({"side": "question"}, "side is not one of answer, reference, nugget, context"),
        ({"against": "web"}, "against is not one of contexts, reference, answer, cited, question"),
        ({"n": 0}, "n is below 1"),
        ({"n": "1"}, "n is not a whole number"),
        ({"n": True}, "n is not a whole number"),
        ({"judge": ""}, "judge is empty"),
        ({"end": None}, "start and end are no place in a text"),
        ({"start": 10}, "start and end are no place in a text"),
        ({"start": -1}, "start and end are no place in a text"),
        ({"evidence": [[1]]}, "evidence is not a list of pairs of a text and a sentence, from 1"),
        ({"evidence": [[0, 1]]}, "evidence is not a list of pairs of a text and a sentence, from 1"),
        ({"evidence": [["1", 2]]}, "evidence[0][0] is not a whole number"),
        ({"evidence": "2.4"}, "evidence is not an array"),
        ({"score": 1.5}, "score is not from 0 to 1"),
        ({"score": -0.1}, "score is not from 0 to 1"),
        ({"reference": 0}, "reference is below 1"),
        ({"shown": [0]}, "shown has a number below 1"),
        ({"importance": "high"}, "importance is not one of vital, okay"),
        ({"query": 3}, "query is not text"),
    ],
)
def test_a_wrong_value_is_refused_with_its_line(change: dict[str, Any], what: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read_lines(tmp_path, LINE, {**LINE, "query": "q2", **change})
    fix = "restore the original file, or evaluate the answers again"
    assert str(error.value) == f"{tmp_path / 'claims.jsonl'}:2: {what}; {fix}"


@pytest.mark.parametrize("key", LINE)
def test_a_missing_key_is_refused_by_name(key: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"claims.jsonl:1: {key} is missing; "):
        read_lines(tmp_path, {name: value for name, value in LINE.items() if name != key})


def test_the_same_claim_twice_is_refused_unless_the_judge_or_the_contexts_differ(tmp_path: Path) -> None:
    assert len(read_lines(tmp_path, LINE, {**LINE, "judge": "other"}, {**LINE, "shown": [1]}, {**LINE, "against": "cited"})) == 4
    with pytest.raises(InputError, match=r"claims.jsonl:3: the verdict on this claim is there twice, first on line 1; "):
        read_lines(tmp_path, LINE, {**LINE, "judge": "other"}, {**LINE, "verdict": "contradicted"})


@given(st.dictionaries(texts, st.text(st.characters(exclude_categories=["Cs"])), min_size=1))
def test_contexts_are_read_back_as_they_were_written(tmp_path_factory: pytest.TempPathFactory, contexts: dict[str, str]) -> None:
    path = tmp_path_factory.mktemp("contexts") / "contexts.jsonl"
    path.write_bytes(b"".join(context_blocks(contexts)))
    assert read_contexts(open_source(str(path))) == contexts


def test_a_context_twice_or_without_a_text_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "contexts.jsonl"
    path.write_text('{"id": "c1", "text": "a"}\n{"id": "c1", "text": "b"}\n')
    with pytest.raises(InputError, match=r"contexts.jsonl:2: .*c1.*line 1"):
        read_contexts(open_source(str(path)))
    path.write_text('{"id": "c1"}\n')
    with pytest.raises(InputError, match=r"contexts.jsonl:1: text is missing; restore the original file"):
        read_contexts(open_source(str(path)))
