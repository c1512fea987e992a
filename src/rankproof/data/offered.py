"""What installed packages offer by entry points: only the entry that is named is ever loaded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, WorldError, shown, visible

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def offered(group: str) -> dict[str, EntryPoint]:
    """The entries of a group by name, nothing loaded."""
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=group)}


def loaded(entry: EntryPoint) -> Callable[..., Any]:
    """The class behind an entry; whatever its package raises is told with the package's name."""
    try:
        found: Callable[..., Any] = entry.load()
    except Exception as error:  # a stranger's package may raise anything
        package = entry.dist.name if entry.dist else entry.module
        reason = " ".join(str(error).split()) or type(error).__name__
        what = f"the package {shown(package)} offers {shown(entry.name)}, which cannot be loaded ({shown(reason)})"
        raise WorldError(visible(f"{what}; mend or remove the package")) from None
    return found


def name_offered(group: str, kind: type) -> str | None:
    """The name under which a class is offered, None where it is not; only entries of the class's own package are loaded."""
    root = kind.__module__.partition(".")[0]
    near = (entry for entry in offered(group).values() if entry.module.partition(".")[0] == root)
    return next((entry.name for entry in near if loaded(entry) is kind), None)


def built(what: str, name: str, make: Callable[..., Any], settings: Mapping[str, Any], *arguments: Any) -> Any:
    """The value with these settings; one that it does not have is refused with those that it has, one that it lacks is named."""
    parts: tuple[Field[Any], ...] = fields(make)[len(arguments) :] if is_dataclass(make) else ()
    known = [part.name for part in parts] if is_dataclass(make) else list(settings)
    if strange := [setting for setting in settings if setting not in known]:
        fix = f"choose among {', '.join(known)}" if known else "it has none"
        raise UsageError(f"the {what} {shown(name)} has no setting {shown(strange[0])}", fix=fix)
    for part in parts:
        if part.init and part.name not in settings and part.default is MISSING and part.default_factory is MISSING:
            raise UsageError(f"the {what} {shown(name)} lacks its {part.name}", fix=f"give it, as one of {', '.join(known)}")
    return make(*arguments, **settings)
