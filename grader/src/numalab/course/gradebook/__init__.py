"""Derive which grading of each hand-in counts, what it is worth, and why.

Imported by most packages of a course, by commands and by teaching.
"""
