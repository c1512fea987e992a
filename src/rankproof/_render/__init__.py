"""Rendering of results and tables as text, escaped for each output format."""
