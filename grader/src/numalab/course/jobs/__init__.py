"""Run the gradings of a class, on Slurm or on this machine, until all are done."""
