"""Deliveries of a class: what was handed in, by whom, for which lab.

Imported by `commands` (batch grade), `codes` and `exports`, which need lists of students.
"""
