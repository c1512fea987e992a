"""Bands: names for values, by profiles that say where they come from."""
