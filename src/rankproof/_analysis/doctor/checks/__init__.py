"""The checks, a file per subject; every file here is read, and `@check` registers its functions."""
