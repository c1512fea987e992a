"""Test cases, notes and tags of queries: their files, and the JSON routes that change them."""
