"""Significance of the differences between systems."""
