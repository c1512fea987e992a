"""Audit of results: conventions of other tools, ties, unjudged documents and pool bias."""
