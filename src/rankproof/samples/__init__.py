"""The built-in sample: a kitchen shop with 20 graded queries and three made-up systems that show what the tool shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

QRELS = "kitchen.qrels"
RUNS = ("bm25.run", "dense.run", "hybrid.run")


@contextmanager
def sample_files() -> Iterator[list[str]]:
    """The paths of the judgements and the runs, there for as long as the block runs."""
    from importlib.resources import as_file, files

    folder = files(__name__)
    with ExitStack() as stack:
        yield [str(stack.enter_context(as_file(folder / name))) for name in (QRELS, *RUNS)]
