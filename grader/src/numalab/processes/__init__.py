"""Starts processes: which of the shell's variables each gets, and the one place that does it."""
