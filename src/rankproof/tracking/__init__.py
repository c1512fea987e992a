"""Tracking: results written to a store of experiments that other programs show."""
