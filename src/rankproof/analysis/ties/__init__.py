"""Ties: what each value could be under other orders of documents that share their score."""
