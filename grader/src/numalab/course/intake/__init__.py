"""Read the hand-ins of a class: who has handed in what, for which lab.

Imported by `commands` (batch grade, gradebook codes), `codes` and `exports`.
"""
