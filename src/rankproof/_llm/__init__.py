"""Asking a language model: through a journal, within a budget, and its reply read strictly."""
