"""Every fault of an embedding server with every embedding API: a wrong reply never gives a vector, and no key is shown."""

from __future__ import annotations

import pytest
from tools.attacks.encoders import attack_encoder

from support.embedding_faults import FAULTS
from support.embedding_server import NAMES
from support.examples import crossed


@pytest.mark.parametrize(("name", "api"), crossed({name: fault.apis or NAMES for name, fault in FAULTS.items()}))
def test_no_fault_is_silent(name: str, api: str) -> None:
    assert list(attack_encoder(FAULTS[name], api).silent_failures()) == []
