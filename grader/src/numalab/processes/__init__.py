"""Processes: how numalab starts them, which of the shell's variables each gets, and its limits.

Imported by most packages; a test refuses other ways to start a process, but for one
program's.
"""
