"""Everything that a step reads, on the device from the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..._extras import extra
from ...data.arrays import IntArray
from .batches import Batch
from .id_table import IdTable


class Classroom:
    """The ids of queries and documents, the rows that answer each query, and a block of steps at a time."""

    def __init__(self, queries: IdTable, documents: IdTable, relevant: IntArray, device: Any) -> None:
        with extra("torch"):
            import torch

        self._queries, self._documents, self.device = queries, documents, device
        self._query_ids = torch.from_numpy(queries.ids).to(device)
        self._document_ids = torch.from_numpy(documents.ids).to(device)
        self._relevant = torch.from_numpy(np.array(relevant)).to(device)

    def blocks(self, steps: Sequence[Batch]) -> Any:
        """The rows of these steps as one table on the device: pairs, then positives, then negatives."""
        with extra("torch"):
            import torch

        rows = np.stack([np.stack([batch.pairs, batch.positives, batch.negatives]) for batch in steps])
        return torch.from_numpy(rows).to(self.device)

    def step(self, batch: Batch, rows: Any) -> tuple[Any, Any, Any]:
        """The queries' ids, the candidates' ids, and which candidates must not count against which query."""
        with extra("torch"):
            import torch

        candidates = torch.cat([rows[1], rows[2]])
        relevant = self._relevant[rows[0]]
        barred = (candidates[None, :, None] == relevant[:, None, :]).any(-1)
        longest = self._documents.longest(np.concatenate([batch.positives, batch.negatives]))
        asked = self._query_ids[rows[0], : self._queries.longest(batch.pairs)]
        return asked.long(), self._document_ids[candidates, :longest].long(), barred
