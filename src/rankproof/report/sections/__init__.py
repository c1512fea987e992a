"""The sections of the page, in their order; a file each."""

from __future__ import annotations

from collections.abc import Callable

from ..material import Material
from ..section import Section

SECTIONS: tuple[Callable[[Material], Section | None], ...] = ()
