"""Laws for every tokenizer of trained encoders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankproof.errors import ExternalError, UsageError
from rankproof.models._trained.tokenizers import (
    MIN_VOCABULARY,
    TokenizerFamily,
    open_trained_tokenizer,
    parse_tokenizer_kind,
    tokenizer_files,
    train_tokenizer,
)
from rankproof.models._trained.tokenizers import TOKENIZER_KINDS as NAMES
from support.paths import TESTS
from support.trained_encoders import ENGLISH, HOSTILE, KINDS, TRAINED, tokenizer_of

THAI = HOSTILE["Thai"]
ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=40)


@pytest.mark.parametrize("kind", KINDS)
@given(text=ANY_TEXT)
def test_no_token_has_the_id_of_padding_and_none_is_beyond_the_vocabulary(kind: str, text: str) -> None:
    tokenizer = tokenizer_of(kind)
    (ids,) = tokenizer.ids([text])
    assert ids.dtype == np.int32
    assert not len(ids) or 0 < ids.min() <= ids.max() < tokenizer.vocabulary


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", HOSTILE)
def test_every_text_has_the_same_ids_alone_and_among_others(kind: str, name: str) -> None:
    tokenizer, text = tokenizer_of(kind), HOSTILE[name]
    (alone,) = tokenizer.ids([text])
    assert [alone.tolist()] * 2 == [ids.tolist() for ids in tokenizer.ids([text, ENGLISH[0], text])[::2]]
    assert not len(alone) or 0 < alone.min() <= alone.max() < tokenizer.vocabulary
    unknown, tokens = tokenizer.unknown([text, ENGLISH[0]])
    assert 0 <= unknown <= tokens == len(alone) + len(tokenizer.ids([ENGLISH[0]])[0])


@pytest.mark.parametrize("kind", KINDS)
def test_no_text_is_no_tokens(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    assert [len(ids) for ids in tokenizer.ids(["", ""])] == [0, 0]
    assert tokenizer.ids([]) == []
    assert tokenizer.unknown([]) == (0, 0)


@given(text=st.text(max_size=60))
def test_bytes_less_one_are_the_text_in_utf_8(text: str) -> None:
    (ids,) = tokenizer_of("bytes").ids([text])
    assert bytes((ids - 1).tolist()).decode() == text


@given(text=st.text(max_size=60))
def test_characters_less_one_are_the_code_points_of_the_text(text: str) -> None:
    (ids,) = tokenizer_of("characters").ids([text])
    assert "".join(map(chr, (ids - 1).tolist())) == text


@given(text=st.text(max_size=60))
def test_the_tokens_of_a_bpe_put_together_are_the_text_with_a_blank_before_it(text: str) -> None:
    from tokenizers.decoders import ByteLevel

    tokenizer = tokenizer_of("bpe-300")
    rows = {row: token for token, row in json.loads(tokenizer.files()["tokenizer.json"])["model"]["vocab"].items()}
    (ids,) = tokenizer.ids([text])
    whole = ByteLevel().decode([rows[int(row)] for row in ids])
    assert whole == (f" {text}" if text else "")


def test_a_lone_surrogate_is_read_as_the_replacement_character_by_every_tokenizer() -> None:
    for kind in KINDS:
        broken, replaced, whole, pair = tokenizer_of(kind).ids(["a\ud800b", "a\ufffdb", "\U0001f600", "\ud83d\ude00"])
        assert (broken.tolist(), whole.tolist()) == (replaced.tolist(), pair.tolist())


def test_a_wordpiece_of_english_does_not_know_thai_and_a_bpe_knows_everything() -> None:
    unknown, tokens = tokenizer_of("wordpiece-300").unknown([THAI])
    assert unknown == tokens > 0
    assert tokenizer_of("wordpiece-300").unknown(ENGLISH)[0] == 0
    for kind in ("bytes", "characters", "bpe-300"):
        unknown, tokens = tokenizer_of(kind).unknown([THAI, *ENGLISH])
        assert unknown == 0 < tokens


def test_a_wordpiece_reads_upper_and_lower_case_alike_and_a_bpe_does_not() -> None:
    lower, upper = tokenizer_of("wordpiece-300").ids(["the fox", "THE FOX"])
    assert lower.tolist() == upper.tolist()
    lower, upper = tokenizer_of("bpe-300").ids(["the fox", "THE FOX"])
    assert lower.tolist() != upper.tolist()


def test_training_joins_what_is_often_together() -> None:
    for kind in TRAINED:
        tokens, letters = len(tokenizer_of(kind).ids([ENGLISH[0]])[0]), len(tokenizer_of("bytes").ids([ENGLISH[0]])[0])
        assert tokens < 0.6 * letters


def test_few_texts_give_a_smaller_vocabulary() -> None:
    assert train_tokenizer("bpe-1000", ["aaaa"]).vocabulary < 300
    assert train_tokenizer("bpe-300", []).vocabulary == 257
    assert train_tokenizer("wordpiece-300", []).vocabulary == 2
    assert train_tokenizer("bpe-300", ENGLISH).vocabulary == 300


def test_a_wordpiece_never_exceeds_its_vocabulary_size() -> None:
    texts = [chr(letter) * 2 + " " for letter in range(0x0E01, 0x0E2F)] + [chr(letter) for letter in range(0x4E00, 0x4E00 + 2000)]
    assert train_tokenizer("wordpiece-300", texts).vocabulary <= 300


TRAINING = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
from rankproof.models._trained.tokenizers import train_tokenizer
from support.trained_encoders import ENGLISH, HOSTILE, TRAINED
for kind in (name.replace("-300", "-400") for name in TRAINED):
    texts = [*ENGLISH, *HOSTILE.values()]
    print(hashlib.sha256(b"".join(train_tokenizer(kind, texts).files().values())).hexdigest())
"""
FORKED = """
import os, sys
sys.path.insert(0, sys.argv[1])
from support.trained_encoders import ENGLISH, TRAINED, tokenizer_of
for kind in TRAINED:
    tokenizer_of(kind).ids(ENGLISH)
child = os.fork()
if not child:
    for kind in TRAINED:
        tokenizer_of(kind).ids(ENGLISH)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {name: value for name, value in os.environ.items() if name != "TOKENIZERS_PARALLELISM"} | environment
    command = [sys.executable, "-c", code, str(TESTS)]
    return subprocess.run(command, env=told, capture_output=True, text=True, check=True)


@pytest.mark.slow
def test_the_same_texts_give_the_same_bytes_in_every_process_with_any_number_of_threads() -> None:
    told = [_python(TRAINING, RAYON_NUM_THREADS=str(threads), PYTHONHASHSEED=str(threads)).stdout for threads in (1, 2, 3)]
    assert len(told[0].split()) == len(TRAINED) > 1
    assert told[0] == told[1] == told[2]


def test_the_library_says_nothing_when_the_process_forks_after_training() -> None:
    assert _python(FORKED).stderr == ""


@pytest.mark.parametrize("kind", TRAINED)
def test_training_leaves_the_environment_as_it_was(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)
    train_tokenizer(kind, ENGLISH[:1])
    assert "TOKENIZERS_PARALLELISM" not in os.environ
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "true")
    train_tokenizer(kind, ENGLISH[:1])
    assert os.environ["TOKENIZERS_PARALLELISM"] == "true"


@pytest.mark.parametrize("kind", KINDS)
def test_a_tokenizer_opened_from_its_files_is_the_one_that_was_trained(kind: str) -> None:
    trained = tokenizer_of(kind)
    assert tuple(trained.files()) == tokenizer_files(kind)
    opened = open_trained_tokenizer(kind, trained.files())
    assert opened == trained
    assert opened.kind == kind
    texts = [*ENGLISH, *HOSTILE.values()]
    assert [ids.tolist() for ids in opened.ids(texts)] == [ids.tolist() for ids in trained.ids(texts)]


@pytest.mark.parametrize(
    "kind",
    ["", "byte", "bpe", "bpe-", "bpe-299", "bpe-100001", "bpe-0300", "bpe--300", "bpe-3e3", "wordpiece-10", "BPE-300", "bpe-٣٠٠"],
)
def test_an_unknown_tokenizer_is_refused_with_the_known_ones(kind: str) -> None:
    with pytest.raises(UsageError, match=r"known: bytes, bytes-4|choose from 300 to 100,000"):
        parse_tokenizer_kind(kind)


def test_every_known_tokenizer_is_tested_here() -> None:
    assert {parse_tokenizer_kind(name.replace("-N", f"-{MIN_VOCABULARY}")) for name in NAMES} == {
        parse_tokenizer_kind(kind) for kind in KINDS
    }
    assert len(KINDS) == len(NAMES) == len(get_args(TokenizerFamily))
    assert {kind for kind in KINDS if parse_tokenizer_kind(kind).size} == set(TRAINED)


def _changed(kind: str, **parts: object) -> bytes:
    told = json.loads(tokenizer_of(kind).files()["tokenizer.json"])
    return json.dumps({**told, **parts}).encode()


BPE = json.loads(tokenizer_of("bpe-300").files()["tokenizer.json"])["model"]
WRONG_FILES = {
    "nothing": {},
    "empty": {"tokenizer.json": b""},
    "not JSON": {"tokenizer.json": b"\xff\xfe{"},
    "a list": {"tokenizer.json": b"[]"},
    "deep": {"tokenizer.json": b"[" * 100_000},
    "cut": {"tokenizer.json": tokenizer_of("bpe-300").files()["tokenizer.json"][:-20]},
    "of another kind": tokenizer_of("wordpiece-300").files(),
    "of more tokens": train_tokenizer("bpe-310", ENGLISH).files(),
    "with added tokens": {
        "tokenizer.json": _changed(
            "bpe-300",
            added_tokens=[
                {
                    "id": 0,
                    "content": "[PAD]",
                    "special": True,
                    "single_word": False,
                    "lstrip": False,
                    "rstrip": False,
                    "normalized": False,
                }
            ],
        )
    },
    "without a byte": {
        "tokenizer.json": _changed("bpe-300", model={**BPE, "merges": [], "vocab": {"[PAD]": 0, "a": 1}}),
    },
    "with a far id": {
        "tokenizer.json": _changed("bpe-300", model={**BPE, "vocab": {**BPE["vocab"], "far": 4_000_000_000}}),
    },
}


@pytest.mark.parametrize("name", WRONG_FILES)
def test_a_file_that_is_not_this_tokenizers_is_refused(name: str) -> None:
    with pytest.raises(ExternalError, match=r"^tokenizer\.json: .+; "):
        open_trained_tokenizer("bpe-300", WRONG_FILES[name])


def test_a_wordpiece_without_its_unknown_token_is_refused() -> None:
    model = {**json.loads(tokenizer_of("wordpiece-300").files()["tokenizer.json"])["model"], "vocab": {"[PAD]": 0, "a": 1}}
    with pytest.raises(ExternalError, match="ids are not those of wordpiece-300"):
        open_trained_tokenizer("wordpiece-300", {"tokenizer.json": _changed("wordpiece-300", model=model)})
