"""Write grades as the systems of courses take them.

Imported by `commands` alone: gradebook export.
"""
