"""Executors: tasks over partitions, in this process, in processes or on a cluster."""
