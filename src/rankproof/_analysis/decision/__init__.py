"""Which system to ship: the record of a decision, the rule that makes it, and its sentences."""
