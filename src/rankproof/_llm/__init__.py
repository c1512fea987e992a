"""Calls language models with a response cache, a budget and retries, and parses their replies strictly."""
