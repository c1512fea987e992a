"""The setting `tokens` of BM25: valid combinations, errors and experiment files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from rankproof._data.identity import identity, identity_key
from rankproof._experiment.config_read import read_experiment
from rankproof._experiment.config_write import experiment_toml
from rankproof._experiment.experiment import Experiment
from rankproof.errors import UsageError
from rankproof.stages import BM25, RM3
from support.bm25_tokens import KINDS


def test_tokens_other_than_words_have_neither_stems_nor_stop_words() -> None:
    stage = BM25(tokens="characters-4")
    assert (stage.stemming, stage.stop_words) == (False, False)
    assert stage == BM25(tokens="characters-4", stemming=False, stop_words=False)
    assert identity(stage)["tokens"] == "characters-4"
    assert "PyStemmer" not in stage.revision()
    assert "tokenizers" in BM25(tokens="bpe-8000").revision()
    assert len({identity_key(BM25(tokens=kind)) for kind in ("words", *KINDS)}) == len(KINDS) + 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tokens": "chars-4"}, "tokens is chars-4; choose words, characters-N or bytes-N with N from 1 to 8, or bpe-N with N from"),
    ({"tokens": "characters"}, "tokens is characters; choose"),
    ({"tokens": "characters-0"}, "tokens is characters-0; choose"),
    ({"tokens": "bytes-9"}, "tokens is bytes-9; choose"),
    ({"tokens": "bytes-٣"}, "tokens is bytes-٣; choose"),
    ({"tokens": "bpe-12"}, "tokens is bpe-12; choose"),
    ({"tokens": "bpe-9999999"}, "tokens is bpe-9999999; choose"),
    ({"tokens": "words\n"}, r"tokens is words\\n; choose"),
    ({"tokens": 4}, "tokens is an int; pass text"),
    (
        {"tokens": "bytes-4", "language": "german"},
        "language applies to words only, but tokens is bytes-4; leave it out, or choose",
    ),
    ({"tokens": "bpe-8000", "stop_words": ("the",)}, "stop_words applies to words only, but tokens is bpe-8000; leave it out"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_wrong_settings_are_refused_with_the_fix(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        BM25(**options)


def test_feedback_words_are_for_words_alone() -> None:
    with pytest.raises(UsageError, match=re.escape('its stage has tokens bytes-4; choose tokens = "words"')):
        RM3(BM25(tokens="bytes-4"))


@pytest.mark.parametrize("kind", ["words", *KINDS])
def test_a_file_names_the_tokens_and_reads_them_back(kind: str, tmp_path: Path) -> None:
    experiment = Experiment({"lexical": BM25(tokens=kind)})
    path = tmp_path / "experiment.toml"
    path.write_text(experiment_toml(experiment), encoding="utf-8")
    assert read_experiment(path).systems == experiment.systems
    path.write_text(f"[systems.lexical]\nstage = 'bm25'\ntokens = '{kind}'\n", encoding="utf-8")
    assert read_experiment(path).systems == experiment.systems
