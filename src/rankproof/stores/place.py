"""Where a database is, as a digest: times of another server are not its times, and no key or result holds its address."""

from __future__ import annotations

from hashlib import sha256

from .dsn import masked


def place_of(where: str) -> tuple[str, ...]:
    """A digest of a connection string, but for its password, or of a folder; nothing where none is given."""
    if not where:
        return ()
    return (f"at {sha256(f'rankproof place {masked(where, ())}'.encode()).hexdigest()[:16]}",)
