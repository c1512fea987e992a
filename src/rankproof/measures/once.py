"""Arrays that many measures need of one object are computed once and live as long as the object."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

_Owner = TypeVar("_Owner")
_Rest = ParamSpec("_Rest")
_Value = TypeVar("_Value")


def once(function: Callable[Concatenate[_Owner, _Rest], _Value]) -> Callable[Concatenate[_Owner, _Rest], _Value]:
    """The function, remembering its value for each first argument and each of the (hashable) others."""
    kept: WeakKeyDictionary[_Owner, dict[object, _Value]] = WeakKeyDictionary()

    @wraps(function)
    def remembered(owner: _Owner, /, *args: _Rest.args, **named: _Rest.kwargs) -> _Value:
        known = kept.setdefault(owner, {})
        key = (args, tuple(named.items()))
        if key not in known:
            known[key] = function(owner, *args, **named)
        return known[key]

    return remembered
