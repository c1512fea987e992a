"""Comparing: systems that cut texts in different ways, on the same queries, spelt well or badly, in several languages."""
