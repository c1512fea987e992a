"""A local web server to view, compare and judge results folders."""
