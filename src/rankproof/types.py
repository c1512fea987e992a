"""NEW public names of signature types."""
