"""Start processes: the only place that does, and the shell's variables that each process gets.

Imported by most packages, which start processes; a test refuses any other way.
"""
