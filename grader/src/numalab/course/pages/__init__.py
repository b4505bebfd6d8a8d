"""Write pages about a class, for instructors and for students.

Imported by `commands` alone: report.
"""
