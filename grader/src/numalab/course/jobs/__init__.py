"""Gradings of a class run: on Slurm or here, kept going until all are done."""
