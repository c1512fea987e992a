"""Language models: the protocol, and one file for each kind of server."""
