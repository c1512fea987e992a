"""Chunks of documents: where the cuts are, what chunks are called, and how a ranking of them becomes one of documents."""
