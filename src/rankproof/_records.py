"""Parts that are functions: each is registered by a decorator, which puts a record of it into a table.

A table imports its module, or every module of its package, when it is first used, so a part of this package is one function in
one of these modules. An installed package adds a part by an entry point of the table's group: the entry has the part's name,
and its module registers the part with the same decorator. Such a module is imported only when its part, or every part, is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Protocol, TypeVar

from rankproof._registry import loaded, offered
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


class Record(Protocol):
    """Whatever has the name by which users refer to it, and says in a few words what it does."""

    @property
    def name(self) -> str:
        """As typed in files and commands."""

    @property
    def summary(self) -> str:
        """For help and docs."""


R = TypeVar("R", bound=Record)


class RecordTable(Mapping[str, R]):
    """The records of one kind by name: those of a module or package in the order of its files, then those of other packages.

    Files named in `first` come before the rest, which follow by name.
    """

    def __init__(self, kind: str, group: str, home: str, *, first: tuple[str, ...] = ()) -> None:
        self.kind, self.group = kind, group
        self._home, self._first, self._is_read = home, first, False
        self._records: dict[str, R] = {}
        self._modules: dict[str, str] = {}

    def add(self, record: R, module: str) -> None:
        """Registers a record that the module defines; two of one name are a bug of the module."""
        if record.name in self._records:
            raise ValueError(f"{module}: there is a {self.kind} called {record.name} already, of {self._modules[record.name]}")
        self._records[record.name], self._modules[record.name] = record, module

    def named(self, name: str) -> R:
        """The record of that name; an unknown name is refused with the known ones."""
        if name not in self:
            raise UsageError(f"no {self.kind} is called {for_message(str(name))}", fix=f"choose one of {', '.join(self)}")
        return self[name]

    def registered(self) -> dict[str, R]:
        """The records of this package, and those of others that were loaded already."""
        if not self._is_read:
            modules = self._read()
            self._records = dict(sorted(self._records.items(), key=lambda item: modules.index(self._modules[item[0]])))
            self._is_read = True
        return self._records

    def _read(self) -> list[str]:
        """Imports every module of the table's home; their names in the order of the table, those of other packages last."""
        found = {module.name for module in iter_modules(getattr(import_module(self._home), "__path__", ()))}
        own = [f"{self._home}.{name}" for name in (*self._first, *sorted(found.difference(self._first)))] or [self._home]
        for name in own:
            import_module(name)
        return [*own, *(name for name in self._modules.values() if name not in own)]

    def __getitem__(self, name: str) -> R:
        return self.registered()[name] if name in self.registered() else self._loaded(offered(self.group)[name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.registered() or name in offered(self.group))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.registered(), *offered(self.group))))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _loaded(self, entry: EntryPoint) -> R:
        """The record that the entry's module registers as it is imported."""
        loaded(entry)
        if entry.name not in self._records:
            package = entry.dist.name if entry.dist else entry.module
            what = f"the package {for_message(package)} offers the {self.kind} {for_message(entry.name)} and registers none of that name"
            raise ExternalError(escape_invisible(f"{what}; update or remove the package"))
        return self._records[entry.name]


def summaries(table: RecordTable[R]) -> str:
    """Every name with what it does, a line each, for a help page; a part that cannot be loaded does not hide the others."""
    width = max(map(len, table))
    return "\n".join(f"  {name:<{width}}  {_summary(table, name)}" for name in table)


def _summary(table: RecordTable[R], name: str) -> str:
    try:
        return table[name].summary
    except ExternalError as error:
        return str(error)
