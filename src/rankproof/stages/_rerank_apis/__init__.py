"""Rerankers behind HTTP APIs: how each API writes requests and replies, and the scorers that send them."""
