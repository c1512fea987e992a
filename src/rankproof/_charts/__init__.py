"""Charts as values: built once from numbers, drawn as SVG for the page or by matplotlib for files."""
