"""How wide pictures are drawn: for a screen, and for a phone."""

from __future__ import annotations

WIDE, NARROW, PANEL = 880.0, 340.0, 340.0
