"""The profiles of bands that come with the package."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import as_file, files

from ...experiment.toml.page import read_page
from .bands import Profile
from .file import profiles_of


@lru_cache(maxsize=1)
def known_profiles() -> Mapping[str, Profile]:
    """Every profile by its name."""
    with as_file(files(__package__).joinpath("bands.toml")) as path:
        return profiles_of(read_page(str(path)))
