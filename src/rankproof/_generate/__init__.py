"""Synthetic queries: made from documents, by rules or by a language model, with the document that each was made from."""
