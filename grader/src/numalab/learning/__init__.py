"""Predictions, questions, progress and notebooks for students, and numalab as a Python module.

Imported by `commands`, `editions` (answers to questions, sealed), `teaching` (questions, notebooks
and published values of a lab) and `numalab` itself, whose functions for notebooks are in it.
"""
