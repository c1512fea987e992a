"""Shapes of trained networks; no test needs torch."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from rankproof.errors import UsageError
from rankproof.models._trained.shape import (
    ARCHITECTURES,
    Architecture,
    NetShape,
    check_parameter_minimum,
    fit_shape,
    forward_flops,
    parameter_count,
)
from support.trained_encoders import KINDS, tokenizer_of

VOCABULARIES = {
    "bytes": 257,
    "bytes-4": 257,
    "characters": 1_114_113,
    "bpe-1000": 1000,
    "bpe-8000": 8000,
    "wordpiece-30000": 30_000,
}


@pytest.mark.parametrize("kind", VOCABULARIES)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("width", [64, 128, 256])
@pytest.mark.parametrize("budget", [1_000_000, 4_000_000, 8_000_000])
def test_a_network_has_the_given_parameters_within_one_percent_or_is_refused(
    kind: str, architecture: Architecture, width: int, budget: int
) -> None:
    least = parameter_count(NetShape(kind, VOCABULARIES[kind], architecture, width, 4, 4, 8, *_hashes(kind)))
    if least > budget * 1.01:
        with pytest.raises(UsageError, match=f"raise the parameters to {least:,} or more, lower width or depth"):
            fit_shape(kind, VOCABULARIES[kind], parameters=budget, architecture=architecture, width=width)
    else:
        shape = fit_shape(kind, VOCABULARIES[kind], parameters=budget, architecture=architecture, width=width)
        assert abs(parameter_count(shape) - budget) <= 0.01 * budget


def _hashes(kind: str) -> tuple[int, ...]:
    return {"characters": (4, 8, 2048), "bytes-4": (4,)}.get(kind, ())


def test_a_smaller_vocabulary_gives_larger_layers() -> None:
    hidden = [fit_shape(kind, VOCABULARIES[kind], parameters=4_000_000).hidden for kind in ("bytes", "bpe-1000", "bpe-8000")]
    assert hidden == sorted(hidden, reverse=True)
    assert len(set(hidden)) == 3
    assert all(one % 8 == 0 for one in hidden)


def test_a_vocabulary_that_exceeds_the_parameters_is_refused_with_a_fix() -> None:
    with pytest.raises(UsageError, match=r"at least .+ parameters, not 4,000,000; raise the parameters"):
        fit_shape("wordpiece-30000", 30_000, parameters=4_000_000)


def test_more_parameters_than_any_network_of_that_width_has_are_refused() -> None:
    with pytest.raises(UsageError, match="raise width or depth"):
        fit_shape("bytes", 257, parameters=10**12)


def test_a_number_of_parameters_that_does_not_fit_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"cannot have 150,000 parameters within 1%; choose 1[0-9]{2},[0-9]{3}$") as refused:
        fit_shape("wordpiece-300", 105, parameters=150_000, architecture="lstm", width=32, heads=2)
    nearest = int(refused.value.fix.removeprefix("choose ").replace(",", ""))
    assert parameter_count(fit_shape("wordpiece-300", 105, parameters=nearest, architecture="lstm", width=32, heads=2)) == nearest


WRONG: list[dict[str, Any]] = [
    {"kind": "words"},
    {"architecture": "gru"},
    {"width": 10**9},
    {"width": 250},
    {"width": 0},
    {"width": 256.0},
    {"heads": 3},
    {"heads": True},
    {"depth": 10**6},
    {"depth": 3, "architecture": "lstm"},
    {"hidden": -8},
    {"vocabulary": 10**10},
    {"stride": 4},
    {"hashes": 8},
    {"buckets": 1024},
    {"characters": 0},
    {"characters": "512"},
    {"kind": "characters"},
    {"kind": "characters", "stride": 4, "hashes": 8, "buckets": 1000},
    {"kind": "characters", "stride": 4, "hashes": 8, "buckets": 1 << 30},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_sizes_that_no_network_has_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        NetShape(**{"kind": "bytes", "vocabulary": 257, **wrong})


@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("kind", ["bytes", "bytes-4", "characters"])
def test_the_flops_of_sequences_are_the_sum_of_each(kind: str, architecture: Architecture) -> None:
    shape, lengths = (
        fit_shape(kind, VOCABULARIES[kind], parameters=4_000_000, architecture=architecture),
        np.array([1, 5, 128, 129, 400]),
    )
    assert forward_flops(shape, lengths) == pytest.approx(
        sum(forward_flops(shape, lengths[place : place + 1]) for place in range(5))
    )
    assert forward_flops(shape, np.array([0, 0])) == forward_flops(shape, np.array([], dtype=np.int64)) == 0


def test_joining_four_positions_makes_a_pass_over_as_many_tokens_cheaper() -> None:
    lengths = np.array([512])
    whole, joined = (forward_flops(fit_shape(kind, 257, parameters=4_000_000), lengths) for kind in ("bytes", "bytes-4"))
    assert joined < 0.55 * whole


def test_a_text_is_truncated_by_characters_for_every_tokenizer() -> None:
    assert fit_shape("bytes", 257, parameters=4_000_000, characters=3).read("äöü and more") == "äöü"


@pytest.mark.parametrize("kind", KINDS)
def test_a_text_is_read_in_lower_case_by_every_tokenizer(kind: str) -> None:
    tokenizer = tokenizer_of(kind)
    shape = fit_shape(kind, tokenizer.vocabulary, parameters=4_000_000, characters=20)
    assert shape.read("The HOB hums, Ä and Ω alike") == "the hob hums, ä and "
    small, capitals = tokenizer.ids([shape.read("the hob"), shape.read("THE HOB")])
    assert small.tolist() == capitals.tolist()


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_too_few_parameters_are_refused_before_the_network_is_fitted(kind: str) -> None:
    sizes: dict[str, Any] = {"architecture": "transformer", "width": 64, "depth": 2, "heads": 4, "characters": 512}
    least = parameter_count(NetShape(kind, VOCABULARIES[kind], "transformer", 64, 2, 4, 1, *_hashes(kind)))
    check_parameter_minimum(kind, VOCABULARIES[kind], parameters=least, **sizes)
    with pytest.raises(UsageError, match="raise the parameters"):
        check_parameter_minimum(kind, VOCABULARIES[kind], parameters=int(0.98 * least), **sizes)


def test_sizes_and_names_are_known_without_torch() -> None:
    code = (
        "import sys; from rankproof.models import TrainedEncoder\n"
        "from rankproof.models._trained import checkpoint, shape, tokenizers\n"
        "print([name for name in ('torch', 'tokenizers', 'safetensors') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
