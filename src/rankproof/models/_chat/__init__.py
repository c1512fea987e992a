"""Language models that reply to messages: the port, and a file per way to reach one."""
