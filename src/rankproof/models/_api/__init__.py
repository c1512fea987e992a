"""Models behind HTTP APIs other than chat: what they share, and one file for each API of embeddings."""
