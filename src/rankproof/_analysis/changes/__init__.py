"""Two results folders, before and after a change: what changed, for which queries, and with which settings."""
