"""Audit: the same runs by other tools' conventions."""
