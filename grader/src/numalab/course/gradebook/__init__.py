"""Derive which grading of each hand-in counts, what it is worth, and why."""
