"""Relevance judgements by an LLM or by keyword overlap, compared with human judgements."""
