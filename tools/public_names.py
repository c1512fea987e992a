"""Writes the imports that type checkers read in the packages with lazy names, from their registries: `make names`."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from rankproof._registry import LazyAttributes

PACKAGES = tuple(f"rankproof.{name}" for name in ("measures", "models", "plugins", "stages", "stores", "types"))
_START, _END = "if TYPE_CHECKING:\n", "else:\n"


def main() -> None:
    """Writes the imports of every package."""
    for package in PACKAGES:
        init_file(package).write_text(updated_init(package), encoding="utf-8")


def init_file(package: str) -> Path:
    """The `__init__.py` of the package."""
    path = importlib.import_module(package).__file__
    assert path is not None
    return Path(path)


def updated_init(package: str) -> str:
    """The content of `__init__.py` with one import for each public name."""
    before, _, rest = init_file(package).read_text(encoding="utf-8").partition(_START)
    _, _, after = rest.partition(_END)
    return f"{before}{_START}{''.join(_imports(package))}{_END}{after}"


def _is_constant(name: str) -> bool:
    """Whether linters sort the name as a constant."""
    return name.isupper() and len(name) > 1


def _by_number(name: str) -> list[tuple[int, str]]:
    """The name as linters compare it: NERR8 before NERR10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split("([0-9]+)", name.lower())]


def _imports(package: str) -> list[str]:
    attributes = vars(importlib.import_module(package))["__getattr__"]
    assert isinstance(attributes, LazyAttributes)
    found = attributes.modules.items()
    homes = {name: (home, not _is_constant(name), not name[0].isupper(), _by_number(name)) for name, home in found}
    return [f"    from {homes[name][0]} import {name} as {name}\n" for name in sorted(homes, key=lambda name: homes[name])]


if __name__ == "__main__":
    main()
