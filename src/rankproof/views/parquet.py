"""The long table as Parquet, by pyarrow: text by dictionary, and what the results are in the file's own metadata."""

from __future__ import annotations

import json

from .._extras import extra
from ..experiment.rung import Climb
from ..formats.arrow import load_pyarrow
from .long_rows import COLUMNS, long_rows

METADATA = b"rankproof"


def as_parquet(climb: Climb) -> bytes:
    """One file with every row; the columns before `value` are text, `query` is null in a system's rows."""
    pa = load_pyarrow()
    with extra("parquet"):
        import pyarrow.parquet as pq

    *texts, values = zip(*long_rows(climb), strict=True)
    columns = [pa.array(column, pa.string()).dictionary_encode() for column in texts]
    table = pa.table([*columns, pa.array(values, pa.float64())], names=list(COLUMNS))
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata({METADATA: _about(climb)}), sink, compression="zstd", write_page_checksum=True)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _about(climb: Climb) -> bytes:
    """Name, fingerprint and provenance as JSON."""
    about = {"name": climb.name, "fingerprint": climb.fingerprint, "rel": climb.rel, "provenance": dict(climb.provenance)}
    return json.dumps(about).encode()
