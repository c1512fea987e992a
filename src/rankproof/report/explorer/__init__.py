"""Every query: what the page's script needs to list, filter and take them apart."""

from .data import explorer_blocks

__all__ = ["explorer_blocks"]
