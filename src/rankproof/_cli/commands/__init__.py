"""Command record, discovery."""
