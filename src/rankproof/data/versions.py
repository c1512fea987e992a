"""Which version of a library stands behind a number."""

from __future__ import annotations

from functools import cache


@cache
def installed(package: str) -> str | None:
    """The package's version, None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def version_of(package: str) -> str:
    """The package's name and its installed version, or that it is not installed."""
    return f"{package} {installed(package) or 'not installed'}"


def behind(*packages: str) -> str:
    """The versions of several libraries, as a revision names them."""
    return ", ".join(map(version_of, packages))
