"""The functions of rankproof as tools of the Model Context Protocol, for agents."""
