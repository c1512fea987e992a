"""The profiles of bands that come with the package, and those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.bands.bands import Profile


@lru_cache(maxsize=1)
def known_profiles() -> Mapping[str, Profile]:
    """The profiles that come with the package."""
    from importlib.resources import as_file, files

    with as_file(files("rankproof.analysis.bands").joinpath("bands.toml")) as path:
        return profiles_in(str(path))


def profiles_in(path: str) -> Mapping[str, Profile]:
    """The profiles in a TOML file."""
    from ..analysis.bands.file import profiles_of
    from ..experiment.toml.page import read_page

    return profiles_of(read_page(path))
