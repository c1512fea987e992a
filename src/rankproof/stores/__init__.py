"""Vector databases behind one port: memory, pgvector, Chroma."""
