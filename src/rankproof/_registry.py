"""Registries: one record for each part that has a name, and the settings of each part.

A `Registry` lists classes or values, each with the module that defines it, and imports that module on first use. A `RecordTable`
holds records that a decorator registers when their module is imported. Installed packages add parts to both by entry points.
"""

from __future__ import annotations

import builtins
import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, lru_cache, reduce
from importlib import import_module
from inspect import Parameter, signature, unwrap
from operator import or_
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from rankproof._extras import extra
from rankproof.errors import ExternalError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


T = TypeVar("T")
Role = Literal["", "fields", "path", "output", "source", "secret", "function", "parameters"]
"""What a value refers to: document fields (a list), a file or folder, one that is written, a model's weights, a possible
password, `module:name`, parameters that another part declares."""


@dataclass(frozen=True, slots=True)
class Component:
    """A registered class or function with its name in files and commands; `target` is "module:attribute", imported on use."""

    name: str
    target: str
    summary: str = ""
    extra: str = ""
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class, function or value behind the name."""
        module, _, attribute = self.target.partition(":")
        with extra(self.extra) if self.extra else nullcontext():
            return getattr(import_module(module), attribute)


class Option(NamedTuple):
    """Says once what a setting or argument does: `k1: Annotated[float, Option("term-frequency saturation", least=0)] = 1.5`.

    The default is that of the dataclass field or parameter; a key of a TypedDict, which can have none, names its `default`.
    `unset` says what None stands for. `least` and `most` are bounds that are allowed, `above` and `below` bounds that are not.
    `key` is the name in files if it differs from the field, `typed` the type that a file holds if it differs. On the command
    line, `flag` is the name if it differs, `letter` its short form, `metavar` stands for the value, `file` says what a file
    contains that is passed instead of the value, and a `repeated` flag takes one value at a time. Help pages show a `rare` flag
    only with --help-all. `values` are those that a search tries,
    `choices` the names that are allowed, such as a registry. The value of an `unnamed` flag can be left out.
    """

    description: str
    key: str = ""
    least: float | None = None
    most: float | None = None
    role: Role = ""
    typed: Any = None
    above: float | None = None
    below: float | None = None
    default: Any = None
    unset: str = ""
    flag: str = ""
    letter: str = ""
    metavar: str = ""
    file: str = ""
    repeated: bool = False
    rare: bool = False
    values: tuple[Any, ...] = ()
    choices: Collection[str] = ()
    unnamed: bool = False


class Setting(NamedTuple):
    """A setting of a part: its key in files, its field, its type without None, its default (MISSING if required)."""

    key: str
    field: str
    type: Any
    optional: bool
    default: Any
    option: Option

    @property
    def typed(self) -> Any:
        """The type of the value in a file."""
        return self.option.typed or self.type

    @property
    def required(self) -> bool:
        """Whether a value must be given."""
        return self.default is MISSING

    @property
    def choices(self) -> Collection[Any]:
        """The values that are allowed; empty if others are."""
        return get_args(self.type) if get_origin(self.type) is Literal else self.option.choices


def settings_of(part: Any) -> tuple[Setting, ...]:
    """The settings of a part, in the order of its dataclass fields; none for what is not a dataclass."""
    return _settings(part)


@cache
def _settings(part: Any) -> tuple[Setting, ...]:
    if not is_dataclass(part) or not isinstance(part, type):
        return ()
    hints = _hints(part)
    # Fields that are keyword-only, such as those of a base class, follow the others, as they do in a call.
    ordered = sorted((field for field in fields(part) if field.init), key=lambda field: bool(field.kw_only))
    return tuple(_field_setting(field, hints.get(field.name, Any)) for field in ordered)


def arguments_of(function: Any) -> Mapping[str, Setting]:
    """The parameters of a function by name, with the keys of its TypedDict `**options`; or the keys of a TypedDict."""
    return _arguments(function)


@cache
def _arguments(function: Any) -> dict[str, Setting]:
    if is_typeddict(function):
        hints = get_type_hints(function, include_extras=True)
        keys = {name: setting_of(name, hint, None) for name, hint in hints.items()}
        return {name: setting._replace(default=setting.option.default) for name, setting in keys.items()}
    arguments: dict[str, Setting] = {}
    hints = get_type_hints(function, localns=_KnownNames(unwrap(function).__globals__), include_extras=True)
    for parameter in signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        if parameter.kind is Parameter.VAR_KEYWORD and get_origin(hint) is Annotated:
            arguments[parameter.name] = Setting(parameter.name, parameter.name, Mapping[str, Any], False, {}, get_args(hint)[1])
        elif parameter.kind is Parameter.VAR_KEYWORD:
            arguments |= _arguments(get_args(hint)[0])
        else:
            default = MISSING if parameter.default is Parameter.empty else parameter.default
            arguments[parameter.name] = setting_of(parameter.name, hint, default)
    return arguments


def own_parameters(function: Callable[..., Any], name: str, reserved: Collection[str]) -> tuple[Setting, ...]:
    """The parameters of a part that is a function: its keyword-only arguments, each with an Option and a default."""
    known = arguments_of(function) if unwrap(function).__kwdefaults__ else {}
    settings = tuple(known[key] for key in unwrap(function).__kwdefaults__ or ())
    for setting in settings:
        if setting.key in reserved:
            raise ValueError(f"{name}: a parameter cannot be called {setting.key}")
        if not setting.option.description:
            raise ValueError(f"{name}: the parameter {setting.key} is not described; annotate it with an Option")
    return settings


def chosen_values(settings: Iterable[Setting], values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of these settings that are set."""
    return {setting.key: values[setting.key] for setting in settings if setting.key in values}


class Registry(Mapping[str, Any], Generic[T]):
    """The parts of one kind by name: those of this package first, then those of installed packages.

    Iterating gives the names without aliases and imports nothing; looking a name up imports the part. T is what `build` returns.
    Parts of installed packages must have the attributes `needs`.
    """

    def __init__(self, kind: str, group: str, components: tuple[Component, ...], needs: tuple[str, ...] = ()) -> None:
        self.kind, self.group, self.components, self.needs = kind, group, components, needs
        self._own = {name: component for component in components for name in (component.name, *component.aliases)}

    def names(self) -> list[str]:
        """Every name, without aliases."""
        return list(self)

    def load(self, name: str) -> Any:
        """The class or value of that name; a package that cannot be imported is reported with its name."""
        return self[name]

    def __getitem__(self, name: str) -> Any:
        return self._own[name].load() if name in self._own else self._checked(self.entry_points()[name])

    def _checked(self, entry: EntryPoint) -> Any:
        part = load_entry_point(entry)
        if lacking := [name for name in self.needs if not hasattr(part, name)]:
            what = (
                f"the {self.kind} {for_message(entry.name)} of the package {_package_of(entry)} has no {' and no '.join(lacking)}"
            )
            raise ExternalError(f"{what}; update or remove the package")
        return part

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self.entry_points()

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*(component.name for component in self.components), *self.entry_points())))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def summary(self, name: str) -> str:
        """What the part does, in one sentence: the record's own, or the first line of an outside class's docstring."""
        if name in self._own:
            return self._own[name].summary
        return (getattr(self[name], "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")

    def name_of(self, part: type[Any]) -> str | None:
        """The name of a class, None if it is not registered; of outside packages only the class's own is imported."""
        target = f"{part.__module__}:{part.__qualname__}"
        own = (component.name for component in self.components if component.target == target)
        return next(own, None) or next(self._entry_point_names(part), None)

    def build(self, name: str, settings: Mapping[str, Any], *arguments: Any) -> T:
        """The part with these settings; unknown and missing settings are rejected by name."""
        built: T = build(self.kind, name, self[name], settings, *arguments)
        return built

    def entry_points(self) -> dict[str, EntryPoint]:
        """The parts of installed packages, none of them imported."""
        return entry_points_of(self.group) if self.group else {}

    def _entry_point_names(self, part: type[Any]) -> Iterator[str]:
        package = part.__module__.partition(".")[0]
        near = (entry for entry in self.entry_points().values() if entry.module.partition(".")[0] == package)
        return (entry.name for entry in near if load_entry_point(entry) is part)


def build(kind: str, name: str, make: Any, settings: Mapping[str, Any], *arguments: Any) -> Any:
    """What `make` returns for the settings by key, which follow the positional arguments."""
    has_settings = is_dataclass(make)
    if not has_settings:
        return make(*arguments, **settings)
    known = {setting.key: setting for setting in settings_of(make)[len(arguments) :]}
    if unknown := [key for key in settings if key not in known]:
        fix = f"choose among {', '.join(known)}" if known else "it has none"
        raise UsageError(f"the {kind} {for_message(name)} has no setting {for_message(unknown[0])}", fix=fix)
    for key, setting in known.items():
        if setting.required and key not in settings:
            raise UsageError(
                f"the {kind} {for_message(name)} lacks its {key}", fix=f"set {key}; the settings are {', '.join(known)}"
            )
    return make(*arguments, **{known[key].field: value for key, value in settings.items()})


@dataclass(frozen=True, slots=True)
class LazyAttributes:
    """The `__getattr__` of a package: imports a public name from the module that defines it, on first use."""

    package: str
    modules: Mapping[str, str]

    def __call__(self, name: str) -> Any:
        if name not in self.modules:
            raise AttributeError(f"module {self.package!r} has no attribute {name!r}")
        return getattr(import_module(self.modules[name]), name)


def lazy_names(
    package: str, *registries: Registry[Any], **others: str
) -> tuple[list[str], LazyAttributes, Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package with registered parts; `others` maps further names to modules."""
    targets = [component.target.partition(":") for registry in registries for component in registry.components]
    modules = {attribute: module for module, _, attribute in targets} | others
    return sorted(modules), LazyAttributes(package, modules), lambda: sorted(modules)


class _KnownNames(dict[str, Any]):
    """The names of a module. A name that is imported only for type checkers is Any, so that nothing heavy is imported."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _field_setting(part: Field[Any], hint: Any) -> Setting:
    return setting_of(part.name, hint, part.default if part.default_factory is MISSING else part.default_factory())


def setting_of(name: str, hint: Any, default: Any) -> Setting:
    """The setting of that name, with the type and Option of an annotation."""
    options = [extra for extra in get_args(hint)[1:] if isinstance(extra, Option)] if get_origin(hint) is Annotated else []
    option = options[-1] if options else Option("")
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    kinds = get_args(plain) if get_origin(plain) in (Union, UnionType) else (plain,)
    some = tuple(kind for kind in kinds if kind is not NoneType)
    known = plain if len(some) == len(kinds) else reduce(or_, some)
    return Setting(option.key or name, name, known, len(some) < len(kinds), default, option)


def _hints(part: type[Any]) -> dict[str, Any]:
    """The types of the fields; a class whose annotations cannot be evaluated accepts anything."""
    try:
        return get_type_hints(part, include_extras=True)
    except (NameError, TypeError):
        return {}


class Record(Protocol):
    """A part with a name, as typed in files and commands, and a summary for help and docs."""

    @property
    def name(self) -> str: ...

    @property
    def summary(self) -> str: ...


R = TypeVar("R", bound=Record)


class RecordTable(Mapping[str, R]):
    """The records of one kind by name: those of a module or package in the order of its files, then those of other packages.

    All modules of `home` are imported when the table is first used; files named in `first` come before the rest, which follow by
    name. The entry point of another package has the record's name, and its module registers the record with the same decorator.
    """

    def __init__(self, kind: str, group: str, home: str, *, first: tuple[str, ...] = ()) -> None:
        self.kind, self.group = kind, group
        self._home, self._first, self._is_read = home, first, False
        self._records: dict[str, R] = {}
        self._modules: dict[str, str] = {}

    def add(self, record: R, module: str) -> None:
        """Registers a record that the module defines; two records of one name are an error in the module."""
        if record.name in self._records:
            raise ValueError(f"{module}: {self._modules[record.name]} already registers a {self.kind} called {record.name}")
        self._records[record.name], self._modules[record.name] = record, module

    def named(self, name: str) -> R:
        """The record of that name; an unknown name is rejected with the known ones."""
        if name not in self:
            raise UsageError(f"no {self.kind} is called {for_message(str(name))}", fix=f"choose one of {', '.join(self)}")
        return self[name]

    def registered(self) -> dict[str, R]:
        """The records of this package, and those of other packages that are already imported."""
        if not self._is_read:
            modules = self._read()
            self._records = dict(sorted(self._records.items(), key=lambda item: modules.index(self._modules[item[0]])))
            self._is_read = True
        return self._records

    def own_modules(self) -> list[str]:
        """The modules of the table's home, in the order of the table."""
        from pkgutil import iter_modules

        names = {module.name for module in iter_modules(getattr(import_module(self._home), "__path__", ()))}
        return [f"{self._home}.{name}" for name in (*self._first, *sorted(names.difference(self._first)))] or [self._home]

    def _read(self) -> list[str]:
        """Imports every module of the table's home; their names in the order of the table, those of other packages last."""
        own = self.own_modules()
        for name in own:
            import_module(name)
        return [*own, *(name for name in self._modules.values() if name not in own)]

    def __getitem__(self, name: str) -> R:
        return self.registered()[name] if name in self.registered() else self._loaded(entry_points_of(self.group)[name])

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.registered() or name in entry_points_of(self.group))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*self.registered(), *entry_points_of(self.group))))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _loaded(self, entry: EntryPoint) -> R:
        """The record that the entry's module registers as it is imported."""
        load_entry_point(entry)
        if entry.name not in self._records:
            what = f"the package {_package_of(entry)} offers the {self.kind} {for_message(entry.name)}"
            raise ExternalError(escape_invisible(f"{what}, but does not register it; update or remove the package"))
        return self._records[entry.name]


def loadable(table: RecordTable[R]) -> Iterator[R]:
    """The records of a table but those of packages that cannot be loaded."""
    for name in table:
        with suppress(ExternalError):
            yield table[name]


def summaries(table: RecordTable[R]) -> str:
    """Every name with its summary, a line each, for a help page; a part that cannot be loaded does not hide the others."""
    width = max(map(len, table))
    return "\n".join(f"  {name:<{width}}  {_summary(table, name)}" for name in table)


def _summary(table: RecordTable[R], name: str) -> str:
    try:
        return table[name].summary
    except ExternalError as error:
        return str(error)


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported."""
    return {entry.name: entry for entry in _installed(group, tuple((path, _changed(path)) for path in sys.path))}


@lru_cache(maxsize=64)
def _installed(group: str, paths: tuple[tuple[str, int], ...]) -> EntryPoints:
    """The entry points of a group, read again when a package was installed or `sys.path` has changed."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


def _changed(path: str) -> int:
    """When the folder changed last, in nanoseconds; 0 if there is no such folder."""
    try:
        return os.stat(path or ".").st_mtime_ns
    except OSError:
        return 0


def load_entry_point(entry: EntryPoint) -> Any:
    """What an entry point refers to; whatever its package raises is reported with the package's name."""
    try:
        return entry.load()
    except (Exception, SystemExit) as error:  # another package may raise anything
        reason = " ".join(str(error).split()) or type(error).__name__
        what = (
            f"the package {_package_of(entry)} offers {for_message(entry.name)}, which cannot be loaded ({for_message(reason)})"
        )
        raise ExternalError(escape_invisible(f"{what}; update or remove the package")) from None


def _package_of(entry: EntryPoint) -> str:
    return for_message(entry.dist.name if entry.dist else entry.module)
