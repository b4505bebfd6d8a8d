"""Gradings of a class run: on Slurm or here, kept going until all are done.

Imported by `commands` (batch grade), and by `rejudging` and `other_versions`, which run on the same
folders.
"""
