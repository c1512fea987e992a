"""Models behind small ports: text to vectors, query and passage to a score."""
