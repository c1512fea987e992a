"""Stages that ask a search system outside rankproof."""
