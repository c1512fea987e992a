"""Embeddings of a real OpenAI-compatible server, llama.cpp, through a session."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rankproof._io.retry import RetryPolicy
from rankproof._llm.budget import CallTotals
from rankproof._llm.cache import ResponseCaches
from rankproof._llm.embedding import CachedEncoder
from rankproof._llm.session import LLMSession
from rankproof.models._api.embedding_apis import OpenAIEmbeddings
from support.llama_embedding_server import llama_embeddings

TEXTS = ["bread and dough", "a sharp knife", "", "dough and bread"]


@pytest.mark.slow
def test_a_real_server_gives_vectors_tokens_and_the_same_rows_in_both_encodings(smollm2_weights: Path, tmp_path: Path) -> None:
    with llama_embeddings(smollm2_weights) as address:
        model = OpenAIEmbeddings("smollm2", address, "", max_tokens=512)
        with LLMSession(ResponseCaches(tmp_path)) as session:
            encoder, totals = CachedEncoder(model, session), CallTotals()
            rows = encoder.encode_counting(TEXTS, "passage", totals)
            spent = session.meter.spent
        packed = OpenAIEmbeddings("smollm2", address, "", max_tokens=512, encoding_format="base64").load()
        np.testing.assert_allclose(packed.encode(TEXTS), rows, atol=1e-4)
        packed.close()
    assert rows.shape[1] == 576
    np.testing.assert_allclose(np.linalg.norm(rows[[0, 1, 3]], axis=1), 1, atol=1e-5)
    assert not rows[2].any()
    assert rows[0] @ rows[3] > rows[0] @ rows[1]
    assert totals.counts["estimated"] == 0
    assert 9 <= totals.counts["tokens_in"] == spent.tokens_in <= 20
    # The server is gone: the vectors come from the cache.
    with LLMSession(ResponseCaches(tmp_path)) as session:
        again = CachedEncoder(model, session).encode(TEXTS)
        assert session.meter.spent.calls == 0
    assert np.array_equal(rows, again)


@pytest.mark.slow
def test_a_text_longer_than_the_context_of_a_real_server_is_cut_until_it_fits(smollm2_weights: Path) -> None:
    with llama_embeddings(smollm2_weights) as address, LLMSession(retry_policy=RetryPolicy(max_requests=1)) as session:
        encoder = CachedEncoder(OpenAIEmbeddings("smollm2", address, "", max_tokens=512), session)
        # Digits have one token each, so that the estimate of four bytes per token is too low.
        rows = encoder.encode(["1 2 3 4 5 6 7 8 9 " * 200, "short"])
        assert np.isfinite(rows).all()
        assert rows.any(axis=1).all()
        assert "1 of the texts were shortened" in encoder.notes()[0]
