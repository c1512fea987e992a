"""Mutation testing: change the code in one place, run the tests of its package, and see whether one fails."""
