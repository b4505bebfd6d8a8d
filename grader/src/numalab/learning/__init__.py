"""For who solves the labs: progress, hints of the day, notebooks, the kit in Python.

Imported by `commands` (progress, notebook, explore), `editions` (answers to questions, sealed),
`teaching` (questions of a lab) and `numalab` itself, whose names for notebooks lie here.
"""
