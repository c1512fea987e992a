"""The checks, one file per topic; every file here is imported, and `@doctor_check` registers its functions."""
