"""Run the gradings of a class, on Slurm or on this machine, until all are done.

Imported by `commands` (batch), and by `rejudging` and `other_versions`.
"""
