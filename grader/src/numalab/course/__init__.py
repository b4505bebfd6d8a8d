"""Collect a whole class's hand-ins, have them graded on a cluster or on this machine, and keep what
came of it in one folder.

Imported by `commands` (batch, gradebook, report, viva, whose) and by `teaching`, which makes oral
questions of what a course keeps.
"""
