"""The fusion methods, a file per family; every file here is read, and `@method` registers its functions."""
