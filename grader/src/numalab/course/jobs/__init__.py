"""Run the gradings of a class, on Slurm or on this machine, until all are done.

Imported by `commands` (batch grade), and by `rejudging` and `other_versions`, which work on the
same folders.
"""
