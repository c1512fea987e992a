"""Holes: what nobody judged, and what it could change."""
