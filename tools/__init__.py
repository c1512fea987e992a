"""Programs beside the package: the documents and what else a developer runs."""
