"""Gradings of a class run: on Slurm or here, kept going until all are done.

Imported by `commands` (batch grade) and `rejudging`, which runs on the same folders.
"""
