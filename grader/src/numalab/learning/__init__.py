"""For who solves the labs: progress, hints of the day, notebooks, the kit in Python."""
