"""Processes: how numalab starts them, which of the shell's variables each gets, and its limits.

Imported by most packages, which start processes; a test refuses any other way.
"""
