"""Derive which grading of each hand-in counts, what it is worth, and why.

Imported by most packages of a course, for which it decides which grade stands.
"""
