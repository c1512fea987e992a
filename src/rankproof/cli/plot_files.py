"""Where charts are written: one file, or a folder of them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..errors import UsageError
from .terminal import Terminal

if TYPE_CHECKING:
    from ..plots.pictures import Picture


def only(found: list[Picture], output: str) -> Picture:
    """The one picture there is; several are refused, as a file holds one."""
    if len(found) > 1:
        raise UsageError(
            f"{len(found)} charts do not go into {output}", fix="name a folder, a PDF file, or one chart with --kind"
        )
    return found[0]


def write_one(picture: Picture, output: str, terminal: Terminal) -> None:
    """A picture as that file; a note says where there was nothing to draw."""
    from ..formats.atomic import write_blocks

    write_blocks(output, [picture.content])
    if picture.missing:
        terminal.note(picture.missing)


def write_all(drawn: list[Picture], found: list[Picture], folder: str, format: str, terminal: Terminal) -> None:
    """The drawn pictures as files of the folder, each named on standard output; notes for what could not be drawn."""
    from ..formats.atomic import write_blocks

    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder} cannot be made ({error.strerror})", fix="name a folder that can be") from None
    for picture in drawn:
        path = os.path.join(folder, f"{picture.name}.{format}")
        write_blocks(path, [picture.content])
        terminal.show(f"{path}\n")
    for picture in found:
        if picture.missing:
            terminal.note(f"{picture.name}: {picture.missing}")
