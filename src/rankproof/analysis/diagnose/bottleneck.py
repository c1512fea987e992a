"""Which half of a RAG system holds it back: that which retrieves or that which answers."""

from __future__ import annotations

from collections.abc import Mapping

from ..bands.bands import Band, Profile, is_of_answers


def bottleneck(values: Mapping[str, float], profile: Profile) -> str | None:
    """The verdict for measures of retrieval and of answers by the profile's bands; None where one of the two is missing.

    Retrieval counts by the lowest band of its measures, and so do answers; the one with the lower band holds the other back.
    """
    answers = _lowest({name: value for name, value in values.items() if is_of_answers(name)}, profile)
    retrieval = _lowest({name: value for name, value in values.items() if not is_of_answers(name)}, profile)
    if answers is None or retrieval is None:
        return None
    said = f"retrieval is {retrieval[1].name}, answers are {answers[1].name}"
    if answers[0] < retrieval[0]:
        return f"{said}: generation is the bottleneck"
    if answers[0] > retrieval[0]:
        return f"{said}: retrieval is the bottleneck"
    return f"{said}: neither holds the other back"


def _lowest(values: Mapping[str, float], profile: Profile) -> tuple[int, Band] | None:
    """The lowest band and its place among the measure's bands."""
    found = []
    for name, value in values.items():
        band = profile.band(name, value)
        if band is not None:
            found.append(((profile.bands_of(name) or ()).index(band), band))
    return min(found, key=lambda each: each[0], default=None)
