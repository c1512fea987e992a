"""Charts as values, rendered as SVG for the report or by matplotlib for files."""
