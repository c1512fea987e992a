"""Masking of keys in the texts of servers, whatever their spelling."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof._data.text import MASK
from rankproof._io.http import ResponseFormatError, parse_response
from rankproof._io.secrets import Secret, proxy_passwords
from support.examples import sampled
from support.key_spellings import KEY, KEY_SPELLINGS, has_key

SECRET = Secret(KEY)


def test_there_are_ten_spellings_and_more() -> None:
    assert len(KEY_SPELLINGS) >= 30


@pytest.mark.parametrize("spelling", KEY_SPELLINGS)
def test_a_key_is_masked_in_every_spelling_and_the_words_around_it_stay(spelling: str) -> None:
    spelled = KEY_SPELLINGS[spelling](KEY)
    text = f"100% of <b>A&amp;B</b>: {spelled}; caf\u00e9 \\n naïve"
    assert has_key(text), "the search for a key finds this spelling"
    masked = SECRET.masked(text)
    assert not has_key(masked)
    assert masked.startswith("100% of <b>A&amp;B</b>: ")
    assert masked.endswith("; caf\u00e9 \\n naïve")
    assert MASK in masked


@pytest.mark.parametrize("spelling", KEY_SPELLINGS)
def test_a_key_is_masked_after_the_json_of_a_body_is_read(spelling: str) -> None:
    spelled = KEY_SPELLINGS[spelling](KEY)
    inner = f'{{"answer": "{spelled}"}}'
    found = parse_response(json.dumps({"text": inner, spelled: [{"deep": spelled}]}), SECRET)
    assert found.is_masked
    assert not has_key(json.dumps(found.value))


@given(st.text(), st.lists(st.sampled_from(sorted(KEY_SPELLINGS)), min_size=1, max_size=4), st.text())
def test_no_text_around_it_hides_a_key(before: str, spellings: list[str], after: str) -> None:
    text = before + " ".join(KEY_SPELLINGS[name](KEY) for name in spellings) + after
    assert not has_key(SECRET.masked(text))


@given(st.text(alphabet="CANRYcanry/key+0123456789~\\u%&#;x=\u200b "))
def test_a_text_without_the_key_stays_as_it_is(text: str) -> None:
    assert SECRET.masked(text) == text or has_key(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), st.lists))
def test_a_document_without_a_key_stays_as_it_is(document: Any) -> None:
    found = parse_response(json.dumps({"a": document}), SECRET)
    assert (found.value, found.is_masked) == ({"a": document}, False)


def test_a_key_of_digits_is_masked_as_a_number() -> None:
    found = parse_response('{"id": 1234567890123, "other": 12345678901234567, "small": 7, "yes": true}', Secret("1234567890123"))
    assert found.value == {"id": MASK, "other": MASK, "small": 7, "yes": True}


def test_a_short_key_is_masked_only_where_it_is_asked_for() -> None:
    assert Secret("EMPTY").masked("EMPTY words") == "EMPTY words"
    assert Secret("pass", min_length=4).masked("pass%20word p\\u0061ss ssap") == f"{MASK}%20word {MASK} ssap"


@pytest.mark.parametrize("key", ["PÄSSWORT-99", "пароль-ЩИТ-77", "ABCDEFGHΣ"])
@pytest.mark.parametrize("spelled", [str, str.lower, lambda key: key.encode().hex(), lambda key: json.dumps(key)[1:-1]])
def test_a_password_that_is_not_ascii_is_masked(key: str, spelled: Callable[[str], str]) -> None:
    assert Secret(key).masked(f"failed for {spelled(key)}, x") == f"failed for {MASK}, x"


def test_a_key_is_masked_before_another_that_is_part_of_it() -> None:
    assert Secret("0123456789", "0123456789abcdef").masked("0123456789abcdef 0123456789") == f"{MASK} {MASK}"


def test_the_token_of_another_is_masked_too() -> None:
    assert Secret().masked("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.e30 end") == f"Authorization: Bearer {MASK} end"
    assert Secret().masked("\\u0042earer eyJhbGciOiJIUzI1NiJ9.e30") == f"\\u0042earer {MASK}"
    assert Secret().masked("Bearer bonds with 5% interest") == "Bearer bonds with 5% interest"


def test_only_keys_are_sent_and_the_password_of_a_proxy_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://user:pass%2Fword-77@proxy.example:8080")
    monkeypatch.setenv("no_proxy", "localhost")
    secret = Secret(others=proxy_passwords())
    assert secret.masked("407 pass/word-77 pass%2Fword-77") == f"407 {MASK} {MASK}"
    assert secret.bearer() == {}
    assert not secret


@pytest.mark.parametrize(
    "unit", sampled(["\\", "\\u0041", "%41", "%25", "&#65;", "&amp;", "\u200b", "A", "=41", "bearer ", "\uff21"], 4)
)
def test_a_long_text_of_escapes_is_read_in_seconds(unit: str) -> None:
    text, start = unit * (200_000 // len(unit)), time.process_time()
    assert SECRET.masked(text) == text
    SECRET.masked(f"{text}{KEY_SPELLINGS['JSON escapes'](KEY)}")
    assert time.process_time() - start < 5


def test_a_very_long_text_that_hides_a_key_is_masked_as_a_whole() -> None:
    assert SECRET.masked("x" * (1 << 20) + KEY_SPELLINGS["JSON escapes"](KEY)) == MASK


@pytest.mark.parametrize("body", ["", " \n", "<html>", '{"a":', "[" * 100_000, "[" * 3000 + "]" * 3000, "1" * 5000])
def test_a_body_that_is_no_json_is_an_error(body: str) -> None:
    with pytest.raises(ResponseFormatError, match="the body is"):
        parse_response(body, SECRET)


@pytest.mark.parametrize("body", ['{"a": 1, "a": 1}', '[{"a": {"b": 1, "\\u0062": 2}}]'])
def test_an_object_with_a_duplicate_key_is_an_error(body: str) -> None:
    with pytest.raises(ResponseFormatError, match="a duplicate key"):
        parse_response(body, SECRET)


@pytest.mark.parametrize("spelled", ["\u200b".join("Gr\u00f6\u00dfe-\u0436\u0439-42"), "Gr\\u00f6\u00dfe-\u0436\\u0439-4\\u0032"])
def test_a_password_with_accents_is_masked_with_characters_between_and_in_escapes(spelled: str) -> None:
    assert Secret("Gr\u00f6\u00dfe-\u0436\u0439-42").masked(f"it is {spelled}.") == f"it is {MASK}."
