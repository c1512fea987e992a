"""The checks, one file per topic; every file here is imported, and `@check` registers its functions."""
