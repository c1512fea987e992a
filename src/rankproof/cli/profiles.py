"""The profiles of bands that come with the package, and those of a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..analysis.bands.bands import Profile


def known_profiles() -> Mapping[str, Profile]:
    """The profiles that come with the package."""
    from ..analysis.bands import known

    return known.known_profiles()


def profiles_in(path: str) -> Mapping[str, Profile]:
    """The profiles in a TOML file."""
    from ..analysis.bands.file import profiles_of
    from ..experiment.toml.page import read_page

    return profiles_of(read_page(path))
