"""A whole class: submissions taken in, graded on a cluster or here, and kept in one folder.

Imported by `commands` (batch, gradebook) and by `teaching`, which makes oral questions of what a
course keeps.
"""
