"""Grade submissions, from files to verdict, for each lab and language: gather evidence on this
machine and on virtual machines, and take times on this one.

Imported by most packages above it: a grading is what they start, show or keep.
"""
