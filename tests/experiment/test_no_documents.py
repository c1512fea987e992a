"""Datasets without documents: which systems they refuse."""

from __future__ import annotations

import pytest

from rankproof._data.corpus import Corpus
from rankproof._data.dataset import Dataset, Queries, Query
from rankproof._data.qrels import Qrels
from rankproof._experiment.checks import check_documents
from rankproof.errors import InputError
from rankproof.stages._bm25 import BM25
from rankproof.stages._fuse import RRF

BARE = Dataset("bare", Corpus(()), Queries([Query("q1", "cats")], source="queries.jsonl"), Qrels({"q1": {"d1": 1}}))


def test_a_stage_that_needs_documents_is_refused_by_name() -> None:
    said = r"queries\.jsonl: system both needs documents for BM25, and the dataset has none; add corpus\.jsonl to the dataset"
    with pytest.raises(InputError, match=said):
        check_documents({"both": RRF((BM25(), BM25(k1=2)))}, BARE)
