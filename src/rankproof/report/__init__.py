"""One page that anybody can open: a climb as a self-contained HTML file."""

from .page import page_of

__all__ = ["page_of"]
