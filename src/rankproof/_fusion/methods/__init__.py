"""The fusion methods, a file per family; every file here is read, and `@fusion_method` registers its functions."""
