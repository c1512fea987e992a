"""The registry: one record per part that has a name (stage, scorer, model, store ...), and the settings of each part.

A part is one file and one `Component` in a registry; its settings are its dataclass fields, each described by an `Option`. Other
packages add parts through entry points; their modules are imported only when one of their parts is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from functools import cache, reduce
from importlib import import_module
from operator import or_
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rankproof.errors import ExternalError, MissingExtraError, UsageError, escape_invisible, for_message

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


T = TypeVar("T")
Role = Literal["", "fields", "path", "source", "secret"]
"""What a text or list of texts refers to: document fields, a file or folder, a model's weights, or a possible password."""


@dataclass(frozen=True, slots=True)
class Component:
    """A part by its name, as typed in files and commands; `target` is "module:Class" and is imported on first use."""

    name: str
    target: str
    summary: str
    extra: str = ""
    aliases: tuple[str, ...] = ()

    def load(self) -> Any:
        """The class, function or value behind the name."""
        module, _, attribute = self.target.partition(":")
        try:
            return getattr(import_module(module), attribute)
        except ModuleNotFoundError as error:
            library = (error.name or "").partition(".")[0]
            if not self.extra or library == module.partition(".")[0]:
                raise
            raise MissingExtraError(library, self.extra) from None


@dataclass(frozen=True, slots=True)
class Option:
    """Describes a dataclass field that is a setting: `k1: Annotated[float, Option("term-frequency saturation", least=0)] = 1.5`.

    `key` is the setting's name in files where it differs from the field's, `typed` the type that a file holds where it differs
    from the field's, `least` and `most` are the bounds of a number.
    """

    description: str
    key: str = ""
    least: float | None = None
    most: float | None = None
    role: Role = ""
    typed: Any = None


@dataclass(frozen=True, slots=True)
class Setting:
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


def settings_of(part: Any) -> tuple[Setting, ...]:
    """The settings of a part, in the order of its dataclass fields; none for what is not a dataclass."""
    return _settings(part)


@cache
def _settings(part: Any) -> tuple[Setting, ...]:
    if not is_dataclass(part) or not isinstance(part, type):
        return ()
    hints = _hints(part)
    return tuple(_setting(one, hints.get(one.name, Any)) for one in fields(part) if one.init)


class Registry(Generic[T]):
    """The parts of one kind by name: those of this package first, then those that installed packages offer in `group`."""

    def __init__(self, kind: str, group: str, components: tuple[Component, ...]) -> None:
        self.kind, self.group, self.components = kind, group, components
        self._own = {name: component for component in components for name in (component.name, *component.aliases)}

    def names(self) -> list[str]:
        """Every name, without aliases."""
        return list(dict.fromkeys((*(component.name for component in self.components), *self._offered())))

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._offered()

    def load(self, name: str) -> Any:
        """The class of that name; a package that cannot be imported is reported with its name."""
        return self._own[name].load() if name in self._own else loaded(self._offered()[name])

    def summary(self, name: str) -> str:
        """What the part does, in one sentence: the record's own, or the first line of an outside class's docstring."""
        if name in self._own:
            return self._own[name].summary
        return (getattr(self.load(name), "__doc__", None) or "").strip().partition("\n")[0].rstrip(".")

    def name_of(self, part: type[Any]) -> str | None:
        """The name of a class, None if it is not registered; of outside packages only the class's own is imported."""
        target = f"{part.__module__}:{part.__qualname__}"
        own = (component.name for component in self.components if component.target == target)
        return next(own, None) or next(self._names_offered(part), None)

    def build(self, name: str, settings: Mapping[str, Any], *arguments: Any) -> T:
        """The part with these settings; unknown and missing settings are refused by name."""
        built: T = build(self.kind, name, self.load(name), settings, *arguments)
        return built

    def _offered(self) -> dict[str, EntryPoint]:
        return offered(self.group) if self.group else {}

    def _names_offered(self, part: type[Any]) -> Iterator[str]:
        package = part.__module__.partition(".")[0]
        near = (entry for entry in self._offered().values() if entry.module.partition(".")[0] == package)
        return (entry.name for entry in near if loaded(entry) is part)


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
            raise UsageError(f"the {kind} {for_message(name)} lacks its {key}", fix=f"give it, as one of {', '.join(known)}")
    return make(*arguments, **{known[key].field: value for key, value in settings.items()})


LazyNames = tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]


def lazy_names(package: str, *registries: Registry[Any], **others: str) -> LazyNames:
    """`__all__`, `__getattr__` and `__dir__` of a package with registered classes; `others` maps further names to modules."""
    targets = [component.target.partition(":") for registry in registries for component in registry.components]
    modules = {attribute: module for module, _, attribute in targets} | others

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(modules[name]), name)

    return sorted(modules), load, lambda: sorted(modules)


def _setting(part: Field[Any], hint: Any) -> Setting:
    options = [one for one in get_args(hint)[1:] if isinstance(one, Option)] if get_origin(hint) is Annotated else []
    option = options[-1] if options else Option("")
    plain = get_args(hint)[0] if get_origin(hint) is Annotated else hint
    kinds = get_args(plain) if get_origin(plain) in (Union, UnionType) else (plain,)
    some = tuple(kind for kind in kinds if kind is not NoneType)
    default = part.default if part.default_factory is MISSING else part.default_factory()
    known = plain if len(some) == len(kinds) else reduce(or_, some)
    return Setting(option.key or part.name, part.name, known, len(some) < len(kinds), default, option)


def _hints(part: type[Any]) -> dict[str, Any]:
    """The types of the fields; a class whose annotations cannot be evaluated takes anything."""
    try:
        return get_type_hints(part, include_extras=True)
    except (NameError, TypeError):
        return {}


def offered(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; nothing is imported."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def loaded(entry: EntryPoint) -> Any:
    """What an entry point refers to; whatever its package raises is reported with the package's name."""
    try:
        return entry.load()
    except Exception as error:  # another package may raise anything
        package = entry.dist.name if entry.dist else entry.module
        reason = " ".join(str(error).split()) or type(error).__name__
        what = (
            f"the package {for_message(package)} offers {for_message(entry.name)}, which cannot be loaded ({for_message(reason)})"
        )
        raise ExternalError(escape_invisible(f"{what}; update or remove the package")) from None
