"""Collect a whole class's hand-ins, have them graded on a cluster or on this machine, and keep what
came of it in one folder."""
