"""Synthetic queries, generated from documents by rules or by a language model."""
