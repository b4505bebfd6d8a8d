"""What counts of all that was graded, and why.

Imported by most packages of a course, for which it decides which grade stands.
"""
