"""What asking language models did not bring, in words beside the ladder."""

from __future__ import annotations

from ..experiment.rung import Climb, Rung


def losses(climb: Climb) -> list[str]:
    """A sentence for each rung with asks, its own or of what it rests on, that no reply of use came to."""
    return [_told(rung) for rung in climb.rungs if rung.total("failed") or rung.total("given_up")]


def _told(rung: Rung) -> str:
    failed, given_up = rung.total("failed"), rung.total("given_up")
    parts = ([f"{failed} without a reply"] if failed else []) + ([f"{given_up} without a reply of use"] if given_up else [])
    return f"{rung.name} rests on asks that brought nothing: {', '.join(parts)}; its notes and those below it say more."
