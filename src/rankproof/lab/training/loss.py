"""InfoNCE on cosines: each query's own document against those of the others and against hard negatives."""

from __future__ import annotations

from typing import Any

from ..._extras import extra


def contrastive_loss(queries: Any, candidates: Any, barred: Any, temperature: float) -> Any:
    """The mean cross-entropy in 32 bits; candidate i answers query i, and others that are barred for it do not count."""
    with extra("torch"):
        import torch

    logits = queries.float() @ candidates.float().T / temperature
    own = torch.arange(len(queries), device=logits.device)
    barred = barred.clone()
    barred[own, own] = False
    return torch.nn.functional.cross_entropy(logits.masked_fill(barred, float("-inf")), own)
