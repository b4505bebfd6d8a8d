"""Starts processes: which of the shell's variables each gets, and the one place that does it.

Imported by most packages: nothing else may start a process.
"""
