"""Logs of live search: queries with the documents that were shown, and what users did, as columns."""
