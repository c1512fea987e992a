"""Laws for the network of every trained encoder."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rankproof.models._trained.checkpoint import pad_ids
from rankproof.models._trained.shape import ARCHITECTURES, Architecture, forward_flops, parameter_count, tensor_sizes
from support.trained_encoders import ENGLISH, HOSTILE, KINDS, shape_of, tokenizer_of

pytestmark = pytest.mark.torch

torch = pytest.importorskip("torch", reason="the extra torch brings it")
torch_net = pytest.importorskip("rankproof.models._trained.torch_net", reason="it imports torch")
initialise_network = torch_net.initialise_network
EVERY = pytest.mark.parametrize(("kind", "body"), [(kind, body) for kind in KINDS for body in ARCHITECTURES])
TEXTS = [text[:400] for text in (ENGLISH[0], "", "fox", *HOSTILE.values(), " ".join(ENGLISH), "dog")]


def rows_of(net: Any, kind: str, texts: list[str]) -> Any:
    with torch.no_grad():
        return net(torch.from_numpy(pad_ids(tokenizer_of(kind).ids(texts))))


@EVERY
def test_the_parameters_are_counted_exactly_and_named_as_the_table_has_them(kind: str, body: Architecture) -> None:
    shape = shape_of(kind, body, depth=4, parameters=1_000_000)
    net = initialise_network(shape, 0)
    assert parameter_count(shape) == sum(values.numel() for values in net.parameters())
    assert {name: tuple(values.shape) for name, values in net.state_dict().items()} == tensor_sizes(shape)


@pytest.mark.release
@EVERY
@pytest.mark.parametrize("length", [64, 384])
@pytest.mark.filterwarnings("ignore:TF32 acceleration:UserWarning")
def test_the_flops_equal_those_that_torch_counts(kind: str, body: Architecture, length: int) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    shape = shape_of(kind, body)
    net, ids = initialise_network(shape, 0), torch.randint(1, 50, (3, length), generator=torch.Generator().manual_seed(0))
    plain = torch.backends.mkldnn.flags(enabled=False)  # whose LSTM is one operation that torch does not look into
    with FlopCounterMode(display=False) as counter, plain, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
        net(ids)
    assert counter.get_total_flops() == pytest.approx(forward_flops(shape, np.array([length] * 3)), rel=0.02)


@EVERY
def test_padding_and_the_texts_beside_it_do_not_change_a_row(kind: str, body: Architecture) -> None:
    net = initialise_network(shape_of(kind, body), 1)
    together = rows_of(net, kind, TEXTS)
    for row, text in zip(together, TEXTS, strict=True):
        assert torch.allclose(row, rows_of(net, kind, [text])[0], atol=1e-5)


@pytest.mark.parametrize("body", ARCHITECTURES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "characters"])
def test_padding_does_not_change_the_result(kind: str, body: Architecture) -> None:
    net = initialise_network(shape_of(kind, body), 1)
    before = rows_of(net, kind, TEXTS)
    net.embedding.weight.data[0] = 5.0
    assert torch.equal(before, rows_of(net, kind, TEXTS))


@EVERY
def test_rows_are_finite_and_of_length_one_and_those_without_a_token_zeros(kind: str, body: Architecture) -> None:
    rows, lengths = (
        rows_of(initialise_network(shape_of(kind, body), 1), kind, TEXTS),
        [len(ids) for ids in tokenizer_of(kind).ids(TEXTS)],
    )
    wanted = torch.tensor([float(length > 0) for length in lengths])
    assert torch.isfinite(rows).all()
    assert torch.allclose(rows.norm(dim=1), wanted, atol=1e-5)


@EVERY
def test_the_order_of_tokens_matters(kind: str, body: Architecture) -> None:
    net, (ids,) = initialise_network(shape_of(kind, body), 1), tokenizer_of(kind).ids([ENGLISH[0]])
    with torch.no_grad():
        rows = net(torch.from_numpy(np.stack([ids, ids[::-1]]).astype(np.int64)))
    assert not torch.allclose(rows[0], rows[1], atol=1e-4)


@EVERY
def test_a_seed_gives_the_same_bits_and_another_seed_others(kind: str, body: Architecture) -> None:
    first, again, other = (initialise_network(shape_of(kind, body), seed).state_dict() for seed in (7, 7, 8))
    assert all(torch.equal(values, again[name]) for name, values in first.items())
    assert all(torch.isfinite(values).all() for values in first.values())
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


def test_initialising_a_network_does_not_change_the_random_state_of_torch() -> None:
    before = torch.get_rng_state()
    for body in ARCHITECTURES:
        initialise_network(shape_of("characters", body), 3)
    assert torch.equal(before, torch.get_rng_state())


@EVERY
def test_every_weight_learns_and_training_runs_in_bfloat16(kind: str, body: Architecture) -> None:
    net = initialise_network(shape_of(kind, body), 1)
    ids = torch.from_numpy(pad_ids(tokenizer_of(kind).ids([ENGLISH[0], "fox", ""])))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = net(ids)
    assert rows.dtype == torch.float32
    (rows @ torch.linspace(-1, 1, rows.shape[1])).sum().backward()
    for name, values in net.named_parameters():
        assert torch.isfinite(values.grad).all(), name
        assert values.grad.abs().sum() > 0, name


def test_the_local_layer_does_not_see_beyond_its_block() -> None:
    shape = shape_of("bytes-4")
    net, real = initialise_network(shape, 1), torch.ones(1, 300, dtype=torch.bool)
    states, turn = (
        torch.randn(1, 300, shape.width, generator=torch.Generator().manual_seed(0)),
        torch_net.rotary_angles(300, 16, torch.device("cpu")),
    )
    changed = states.clone()
    changed[0, 130] += 1
    with torch.no_grad():
        moved = (net.layers[0].local(states, real, turn) - net.layers[0].local(changed, real, turn)).abs().amax(-1)[0] > 0
    assert not moved[:128].any()
    assert moved[128:256].sum() > 64
    assert not moved[256:].any()


def test_no_two_code_points_fall_into_the_same_bucket_by_every_hash() -> None:
    rows = torch_net.hash_rows(torch.arange(1, 0x30000), 1024).numpy()
    assert len(np.unique(rows, axis=0)) == len(rows)
    assert rows.min() >= 0
    assert rows.max() < 8 * 1024
